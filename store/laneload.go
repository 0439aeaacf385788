package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// QueueLoad is how busy one of the lanes' queues is.
type QueueLoad struct {
	Queue string
	// Waiting can run now, Later are put off, Running under way.
	Waiting, Later, Running int
	// Oldest is for how long the oldest of those that can run has waited.
	Oldest time.Duration
	// DoneLastMinute were done in the last minute, as far as they are kept.
	DoneLastMinute int
}

// QueueLoads are those of the queues with something to do or just done.
func (s *Store) QueueLoads(ctx context.Context) ([]QueueLoad, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT queue,
			count(*) FILTER (WHERE state = 'available' AND scheduled_at <= now()),
			count(*) FILTER (WHERE state IN ('scheduled', 'retryable') OR state = 'available' AND scheduled_at > now()),
			count(*) FILTER (WHERE state = 'running'),
			coalesce(now() - min(scheduled_at) FILTER (WHERE state = 'available' AND scheduled_at <= now()), interval '0'),
			count(*) FILTER (WHERE state = 'completed')
		FROM river_job
		WHERE state IN ('available', 'scheduled', 'retryable', 'running') OR state = 'completed' AND finalized_at > now() - interval '1 minute'
		GROUP BY queue ORDER BY queue`)
	return all(rows, err, func(row pgx.CollectableRow) (q QueueLoad, err error) {
		err = row.Scan(&q.Queue, &q.Waiting, &q.Later, &q.Running, &q.Oldest, &q.DoneLastMinute)
		return q, err
	})
}
