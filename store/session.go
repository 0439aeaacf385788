package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// TryLogin counts a try to log in under the hashes of a name and an address, unless
// a limit is used up; then it returns how long to wait. Tries at the same time cannot
// pass a limit together. What succeeds is taken back by StartSession.
func (s *Store) TryLogin(ctx context.Context, name, address []byte, l waitlist.LoginLimits) (wait time.Duration, err error) {
	err = s.inTx(ctx, "count a login", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, 0)`, lockLogin); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM staff_attempts WHERE at <= clock_timestamp() - $1::interval`, l.Window); err != nil {
			return err
		}
		if wait, err = loginWait(ctx, tx, name, address, l); wait > 0 || err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO staff_attempts (name, address, at) VALUES ($1, $2, clock_timestamp())`, name, address)
		return err
	})
	return wait, err
}

// loginWait is how long until there is room for a try: when the oldest of those that
// count falls out of the window.
func loginWait(ctx context.Context, tx pgx.Tx, name, address []byte, l waitlist.LoginLimits) (wait time.Duration, err error) {
	var free *time.Time
	err = tx.QueryRow(ctx, `
		WITH known AS MATERIALIZED (SELECT name, address FROM staff_places WHERE at > clock_timestamp() - $3::interval),
		other AS MATERIALIZED (
			SELECT a.* FROM staff_attempts a WHERE NOT EXISTS (SELECT FROM known k WHERE k.name = a.name AND k.address = a.address)),
		limits (at) AS (
			SELECT (SELECT at FROM staff_attempts WHERE name = $1 AND address = $2 ORDER BY at DESC OFFSET $4 - 1 LIMIT 1)
			UNION ALL
			SELECT o.at FROM (VALUES
				((SELECT at FROM other WHERE address = $2 ORDER BY at DESC OFFSET $5 - 1 LIMIT 1)),
				((SELECT at FROM other WHERE name = $1 ORDER BY at DESC OFFSET $6 - 1 LIMIT 1)),
				((SELECT at FROM other ORDER BY at DESC OFFSET $7 - 1 LIMIT 1))) o (at)
			WHERE NOT EXISTS (SELECT FROM known WHERE name = $1 AND address = $2))
		SELECT max(at) + $8::interval FROM limits`,
		name, address, l.FamiliarFor, l.PerPair, l.PerAddress, l.PerName, l.InAll, l.Window).Scan(&free)
	if err != nil || free == nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `SELECT greatest($1 - clock_timestamp(), interval '1 second')`, *free).Scan(&wait)
	return wait, err
}

// StartSession stores a session under its key. The pair of the hashes is familiar
// from then on, and its tries that came before are forgotten.
func (s *Store) StartSession(ctx context.Context, name, address, key []byte, who string, life time.Duration) error {
	return s.inTx(ctx, "start a session", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO staff_sessions (key, who, started_at, expires_at)
			VALUES ($1, $2, clock_timestamp(), clock_timestamp() + $3::interval)`, key, who, life)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO staff_places (name, address, at) VALUES ($1, $2, clock_timestamp())
			ON CONFLICT (name, address) DO UPDATE SET at = excluded.at`, name, address); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM staff_attempts WHERE name = $1 AND address = $2`, name, address); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM staff_places WHERE at < clock_timestamp() - interval '90 days'`); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM staff_sessions WHERE expires_at <= clock_timestamp()`)
		return err
	})
}

// sessionStep is how exactly a session's last use is known: it is not written with
// every page.
const sessionStep = time.Minute

// Session returns whose session has one of the keys, and lets it last for life
// from now on; "" when there is none.
func (s *Store) Session(ctx context.Context, keys [][]byte, life time.Duration) (who string, err error) {
	var stale bool
	err = s.pool.QueryRow(ctx, `
		SELECT who, expires_at < clock_timestamp() + $2::interval FROM staff_sessions
		WHERE key = ANY($1) AND expires_at > clock_timestamp()`, keys, life-sessionStep).Scan(&who, &stale)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil || !stale {
		return who, err
	}
	_, err = s.pool.Exec(ctx, `
		UPDATE staff_sessions SET expires_at = clock_timestamp() + $2::interval WHERE key = ANY($1)`, keys, life)
	return who, err
}

// EndSession deletes the session that has one of the keys.
func (s *Store) EndSession(ctx context.Context, keys [][]byte) error {
	return s.inTx(ctx, "end a session", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM staff_sessions WHERE key = ANY($1)`, keys)
		return err
	})
}
