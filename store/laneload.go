package store

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
)

// What the rates are taken from: the jobs done last, so many at most and no older
// than that.
const (
	doneMost = 5000
	doneFor  = "10 seconds"
)

// loadCount is SQL for the number of a queue's jobs in a state, up to the most.
func loadCount(state string) string {
	return `(SELECT count(*) FROM (SELECT FROM river_job j WHERE j.state = '` + state + `' AND j.queue = q.name LIMIT ` +
		strconv.Itoa(notifier.QueueLoadMost) + `) c)`
}

// QueueLoads are those of the queues that were worked in the last day or that have
// jobs which could run. It reads by index, and a bounded number of jobs however many
// there are.
func (s *Store) QueueLoads(ctx context.Context) ([]notifier.QueueLoad, error) {
	rows, err := s.pool.Query(ctx, `
		WITH RECURSIVE done AS MATERIALIZED (
			SELECT queue, finalized_at FROM river_job WHERE state = 'completed' AND finalized_at > now() - interval '`+doneFor+`'
			ORDER BY finalized_at DESC LIMIT $1),
		-- When there were more than are looked at, these took less than all of that time.
		span AS (
			SELECT CASE WHEN count(*) = $1 THEN greatest(extract(epoch FROM now() - min(finalized_at)), 0.1)
				ELSE extract(epoch FROM interval '`+doneFor+`') END AS s FROM done),
		-- From one queue's name to the next, not over the jobs.
		ready AS (
			(SELECT queue FROM river_job WHERE state = 'available' ORDER BY queue LIMIT 1)
			UNION ALL
			SELECT (SELECT j.queue FROM river_job j WHERE j.state = 'available' AND j.queue > r.queue ORDER BY j.queue LIMIT 1)
			FROM ready r WHERE r.queue IS NOT NULL),
		q AS (
			SELECT n.name, (SELECT v.paused_at FROM river_queue v WHERE v.name = n.name) IS NOT NULL AS paused FROM (
				SELECT name FROM river_queue WHERE updated_at > now() - interval '1 day'
				UNION SELECT queue FROM ready WHERE queue IS NOT NULL) n)
		SELECT q.name, `+loadCount("available")+`, `+loadCount("scheduled")+` + `+loadCount("retryable")+`, `+loadCount("running")+`,
			coalesce(now() - (SELECT min(o.scheduled_at) FROM generate_series(1, 4) p CROSS JOIN LATERAL (
				SELECT j.scheduled_at FROM river_job j WHERE j.state = 'available' AND j.queue = q.name AND j.priority = p
				ORDER BY j.scheduled_at LIMIT 1) o WHERE o.scheduled_at < now()), interval '0'),
			((SELECT count(*) FROM done WHERE done.queue = q.name) / span.s)::float8, q.paused
		FROM span, q ORDER BY q.name`, doneMost)
	return all(rows, err, func(row pgx.CollectableRow) (q notifier.QueueLoad, err error) {
		err = row.Scan(&q.Queue, &q.Waiting, &q.Later, &q.Running, &q.Oldest, &q.PerSecond, &q.Paused)
		return q, err
	})
}
