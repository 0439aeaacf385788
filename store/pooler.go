package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrPooler is that the database's URL leads through a pooler as Fanline cannot use
// it. Its text says what to set.
var ErrPooler = errors.New("DATABASE_URL leads through a pooler as it cannot be used here")

// checkSessions refuses a pooler in transaction mode, where a connection is another
// session each time: waits for notifications, prepared statements and the lock of
// migrations live in sessions. There, of two connections that are open at once and
// idle, both are the same session, or one does not stay the same.
func checkSessions(ctx context.Context, cfg *pgx.ConnConfig) error {
	var conns [2]*pgconn.PgConn
	for i := range conns {
		conn, err := pgconn.ConnectConfig(ctx, &cfg.Config)
		if err != nil {
			return connectFault(err)
		}
		defer conn.Close(context.WithoutCancel(ctx))
		conns[i] = conn
	}
	var sessions [3]string
	for i := range sessions {
		results, err := conns[i%2].Exec(ctx, `SELECT pg_backend_pid()`).ReadAll()
		if err != nil || len(results) != 1 || len(results[0].Rows) != 1 {
			return fmt.Errorf("ask the database for its session: %w", err)
		}
		sessions[i] = string(results[0].Rows[0][0])
	}
	if sessions[0] == sessions[1] || sessions[0] != sessions[2] {
		return fmt.Errorf("%w: it is in transaction mode; in PgBouncer set pool_mode = session for this database, or connect to Postgres itself", ErrPooler)
	}
	return nil
}

// connectFault explains what a pooler in between says at the start of a session.
func connectFault(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && strings.Contains(pg.Message, "unsupported startup parameter") {
		return fmt.Errorf("%w: it says %q; name it in PgBouncer's ignore_startup_parameters and set it for the role, "+
			"as docs/operating.md shows, or connect to Postgres itself", ErrPooler, pg.Message)
	}
	return fmt.Errorf("reach the database: %w", err)
}
