package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// removal is what goes row by row when its time is over: what a look-up finds by
// another key than time would have to try each partition for
// (docs/decisions/0021-what-is-kept.md).
type removal struct {
	what string
	// sql are statements that each remove up to $1 rows, the oldest first. They pass
	// by rows that somebody holds, and so wait for nobody.
	sql []string
	// most bounds one call.
	most int
}

// removals are all of them. Each has an index by which it finds what is over.
var removals = []*removal{&oldAnswers, &oldMessages, &oldAcks, &oldItems, &oldFeedback, &oldDigests}

// remove removes up to a bound, in one transaction of its own and in one process at
// a time. It says whether there may be more.
func (s *Store) remove(ctx context.Context, r *removal) (more bool, err error) {
	err = s.owned(ctx, r.what, func(tx pgx.Tx) error {
		more = false
		for _, sql := range r.sql {
			tag, err := tx.Exec(ctx, sql, r.most)
			if err != nil {
				return err
			}
			more = more || tag.RowsAffected() >= int64(r.most)
		}
		return nil
	})
	return more, err
}

// owned runs f in a transaction, unless another process is at the same work.
func (s *Store) owned(ctx context.Context, what string, f func(tx pgx.Tx) error) error {
	return s.inTx(ctx, what, func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, hashtext($2))`, lockRemove, what).Scan(&mine); err != nil || !mine {
			return err
		}
		return f(tx)
	})
}
