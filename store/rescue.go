package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// rescueAfter is how long a job may be under way before another worker gets it.
	// A job begins no call after its fourth second, so that one which takes this long
	// has lost its process or waits for a provider that does not answer; then the
	// leases, which it renews, keep the second run from doing anything twice.
	rescueAfter = 10 * time.Second
	// rescueMost is how many jobs are given back at once.
	rescueMost = 500
)

// RescueJobs gives back to their queues the jobs that have been under way for longer
// than rescueAfter: those of a process that was killed go on. The queue itself does so
// after 60 to 90 s, for those that this may not try again too. It reads what is under
// way, which the workers bound, and of two processes each takes others.
func (s *Store) RescueJobs(ctx context.Context) error {
	rows, err := s.pool.Query(ctx, `
		WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at)
		UPDATE river_job j SET state = 'available', scheduled_at = now.at, errors = array_append(j.errors, jsonb_build_object(
			'at', now.at, 'attempt', j.attempt, 'error', 'under way for too long; given to another worker', 'trace', ''))
		FROM now WHERE j.id = ANY(ARRAY(
			SELECT id FROM river_job WHERE state = 'running' AND attempted_at < now.at - $1::interval AND attempt < max_attempts
			LIMIT $2 FOR UPDATE SKIP LOCKED))
		RETURNING j.kind`, rescueAfter, rescueMost)
	kinds, err := all(rows, err, pgx.RowTo[string])
	if len(kinds) > 0 {
		s.log.Warn("jobs were under way for too long and are given to other workers", "jobs", len(kinds), "first", kinds[0])
	}
	return err
}
