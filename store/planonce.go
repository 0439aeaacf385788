package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// planOnce reads the rows of a query by the plan that its connection made for it the
// first time, whatever the arguments: to plan one over all that an inbox may hold
// takes ten times as long as to run it.
func planOnce[T any](ctx context.Context, s *Store, scan func(row pgx.CollectableRow) (T, error), sql string, args ...any) (list []T, err error) {
	batch := &pgx.Batch{}
	batch.Queue(`BEGIN READ ONLY`)
	batch.Queue(`SET LOCAL plan_cache_mode = force_generic_plan`)
	batch.Queue(sql, args...)
	batch.Queue(`COMMIT`) // after an error the pool closes the connection
	results := s.pool.SendBatch(ctx, batch)
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
	}()
	for range 2 {
		if _, err := results.Exec(); err != nil {
			return nil, err
		}
	}
	rows, err := results.Query()
	return all(rows, err, scan)
}
