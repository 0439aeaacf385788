package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// TryLogin counts a try to log in under a name's hash, unless there were perName
// with that name or inAll with any in the last window; then it returns how long
// to wait. Tries at the same time cannot pass a limit together. What succeeds is
// taken back by StartSession.
func (s *Store) TryLogin(ctx context.Context, name []byte, perName, inAll int, window time.Duration) (wait time.Duration, err error) {
	err = s.inTx(ctx, "count a login", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, 0)`, lockLogin); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM staff_attempts WHERE at <= clock_timestamp() - $1::interval`, window); err != nil {
			return err
		}
		// Room comes when the oldest that count fall out of the window.
		var free *time.Time
		if err := tx.QueryRow(ctx, `
			SELECT greatest(
				(SELECT at FROM staff_attempts WHERE name = $1 ORDER BY at DESC OFFSET $2 - 1 LIMIT 1),
				(SELECT at FROM staff_attempts ORDER BY at DESC OFFSET $3 - 1 LIMIT 1)) + $4::interval`,
			name, perName, inAll, window).Scan(&free); err != nil {
			return err
		}
		if free != nil {
			return tx.QueryRow(ctx, `SELECT greatest($1 - clock_timestamp(), interval '1 second')`, *free).Scan(&wait)
		}
		_, err := tx.Exec(ctx, `INSERT INTO staff_attempts (name, at) VALUES ($1, clock_timestamp())`, name)
		return err
	})
	return wait, err
}

// StartSession stores a session under its key and forgets the tries of the name's
// hash that came before it.
func (s *Store) StartSession(ctx context.Context, name, key []byte, who string, life time.Duration) error {
	return s.inTx(ctx, "start a session", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO staff_sessions (key, who, started_at, expires_at)
			VALUES ($1, $2, clock_timestamp(), clock_timestamp() + $3::interval)`, key, who, life)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM staff_attempts WHERE name = $1`, name); err != nil {
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
