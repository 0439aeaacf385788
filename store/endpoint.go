package store

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

const (
	// endpointsMost is how many endpoints there may be.
	endpointsMost = 100
	// secretSize is the length of a secret that is made here, in bytes.
	secretSize = 32
)

const endpointColumns = `id, url, types, secret, created_at, attempts, failing_since, last_error, disabled_at`

func scanEndpoint(row pgx.CollectableRow) (e notifier.Endpoint, err error) {
	err = row.Scan(&e.ID, &e.URL, &e.Types, &e.Secret, &e.CreatedAt, &e.Attempts, &e.FailingSince, &e.LastError, &e.DisabledAt)
	return e, err
}

// PutEndpoint makes or changes an endpoint. A new one follows the stream from its
// present end.
func (s *Store) PutEndpoint(ctx context.Context, id string, c notifier.EndpointChange) (e notifier.Endpoint, created bool, err error) {
	err = s.inTx(ctx, "put a webhook endpoint", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, 0)`, lockEndpoints); err != nil {
			return err
		}
		var there bool
		var n int
		if err := tx.QueryRow(ctx, `SELECT coalesce(bool_or(id = $1), false), count(*) FROM webhook_endpoints`, id).Scan(&there, &n); err != nil {
			return err
		}
		if created = !there; created {
			if err := newEndpoint(ctx, tx, id, n, &c); err != nil {
				return err
			}
		}
		rows, err := tx.Query(ctx, `
			UPDATE webhook_endpoints SET url = coalesce($2, url), types = coalesce($3, types), secret = coalesce($4, secret),
				attempts = 0, next_at = '-infinity', failing_since = NULL, last_error = '', disabled_at = NULL
			WHERE id = $1 RETURNING `+endpointColumns, id, c.URL, c.Types, c.Secret)
		if err != nil {
			return err
		}
		if e, err = pgx.CollectExactlyOneRow(rows, scanEndpoint); err != nil {
			return err
		}
		// Whoever sends to it as it was stops.
		_, err = tx.Exec(ctx, `UPDATE followers SET owner = '', lease_until = '-infinity' WHERE name = $1`, e.Follower())
		return err
	})
	return e, created, err
}

func newEndpoint(ctx context.Context, tx pgx.Tx, id string, n int, c *notifier.EndpointChange) error {
	switch {
	case c.URL == nil:
		return waitlist.Wrong("url", "url is required for a new endpoint")
	case n >= endpointsMost:
		return waitlist.Refuse(waitlist.Conflict, "there are %d endpoints already; delete one first", n)
	}
	if c.Secret == nil {
		c.Secret = make([]byte, secretSize)
		_, _ = rand.Read(c.Secret) // never fails
	}
	e := notifier.Endpoint{ID: id}
	// What is committed from now on lies at or above the oldest transaction in
	// progress.
	if _, err := tx.Exec(ctx, `
		INSERT INTO followers (name, after)
		SELECT $1, 'evt_' || to_hex(pg_snapshot_xmin(pg_current_snapshot())::text::bigint) || '.0.0'
		ON CONFLICT (name) DO UPDATE SET after = excluded.after, owner = '', lease_until = '-infinity'`, e.Follower()); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO webhook_endpoints (id, url, types, secret) VALUES ($1, $2, '{}', $3)`, id, *c.URL, c.Secret)
	return err
}

// Endpoint returns an endpoint.
func (s *Store) Endpoint(ctx context.Context, id string) (notifier.Endpoint, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+endpointColumns+` FROM webhook_endpoints WHERE id = $1`, id)
	if err != nil {
		return notifier.Endpoint{}, err
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanEndpoint)
	return e, notFound(err, "webhook endpoint", id)
}

// DeleteEndpoint removes an endpoint; what is being sent to it is not recorded.
func (s *Store) DeleteEndpoint(ctx context.Context, id string) error {
	e := notifier.Endpoint{ID: id}
	return s.inTx(ctx, "delete a webhook endpoint", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM webhook_endpoints WHERE id = $1`, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM followers WHERE name = $1`, e.Follower())
		return err
	})
}

// EndpointsDue are those that may be called now and that no process has.
func (s *Store) EndpointsDue(ctx context.Context) ([]notifier.Endpoint, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+endpointColumns+` FROM webhook_endpoints e
		WHERE disabled_at IS NULL AND next_at <= clock_timestamp() AND EXISTS (
			SELECT FROM followers f WHERE f.name = 'webhook:' || e.id AND f.lease_until <= clock_timestamp())
		ORDER BY id`)
	return all(rows, err, scanEndpoint)
}

// EndpointTook notes that an endpoint that failed works again.
func (s *Store) EndpointTook(ctx context.Context, id string) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE webhook_endpoints SET attempts = 0, failing_since = NULL, last_error = '' WHERE id = $1 AND attempts > 0`, id)
	return err
}

// EndpointFailed notes an attempt of owner that failed and when the next one may be;
// with disable there is none. It is nobody's, and not noted, once the endpoint was put
// anew, since that was called as it had been.
func (s *Store) EndpointFailed(ctx context.Context, id, owner, reason string, again time.Duration, disable bool) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE webhook_endpoints e SET attempts = attempts + 1, last_error = $2, next_at = clock_timestamp() + $3,
			failing_since = coalesce(failing_since, clock_timestamp()), disabled_at = CASE WHEN $4 THEN clock_timestamp() END
		WHERE id = $1 AND EXISTS (SELECT FROM followers f WHERE f.name = 'webhook:' || e.id AND f.owner = $5)`,
		id, reason, again, disable, owner)
	return err
}
