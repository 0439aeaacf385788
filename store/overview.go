package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// Liveliest are the shows where something goes on, with their figures: those with
// openings that are open, the newest opening first, then those that start next. What
// it reads does not grow with the lines.
func (s *Store) Liveliest(ctx context.Context, limit int) ([]waitlist.ShowFigures, error) {
	rows, err := s.pool.Query(ctx, `
		WITH live AS (
			SELECT o.show_no, max(o.opening_no) AS newest FROM openings o WHERE o.state = 'open'
			GROUP BY 1 ORDER BY 2 DESC LIMIT $1),
		next AS (
			SELECT show_no FROM shows WHERE NOT cancelled AND starts_at > now() - interval '12 hours'
			ORDER BY starts_at, show_no LIMIT $1)
		SELECT `+showColumns+` FROM shows
		JOIN (SELECT show_no, newest FROM live UNION ALL SELECT show_no, NULL FROM next WHERE show_no NOT IN (SELECT show_no FROM live)) l USING (show_no)
		ORDER BY newest DESC NULLS LAST, starts_at, show_no LIMIT $1`, limit)
	shows, err := all(rows, err, scanShow)
	if err != nil {
		return nil, err
	}
	if err := s.fillShows(ctx, s.pool, shows); err != nil {
		return nil, err
	}
	figures := make([]waitlist.ShowFigures, len(shows))
	for i := range shows {
		figures[i].Show = shows[i]
	}
	return figures, s.fillFigures(ctx, figures)
}

// fillFigures adds what happened at the shows today and in the last hour.
func (s *Store) fillFigures(ctx context.Context, figures []waitlist.ShowFigures) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	nos, days := make([]int32, len(figures)), make([]time.Time, len(figures))
	for i := range figures {
		nos[i], days[i] = figures[i].No, figures[i].Midnight(now)
	}
	rows, err := s.pool.Query(ctx, `
		SELECT i, coalesce((SELECT sum(w.size) FROM waves w WHERE w.show_no = k.no AND w.decided_at >= k.day), 0)::bigint,
			(SELECT count(*) FROM (SELECT FROM claims c WHERE c.show_no = k.no AND c.claimed_at >= k.day LIMIT $3) c)
		FROM unnest($1::int[], $2::timestamptz[]) WITH ORDINALITY k (no, day, i)`, nos, days, waitlist.DayMost)
	if err != nil {
		return err
	}
	var i int
	var told, claimed int64
	if _, err = pgx.ForEachRow(rows, []any{&i, &told, &claimed}, func() error {
		figures[i-1].Told, figures[i-1].Claimed = told, claimed
		return nil
	}); err != nil {
		return err
	}
	return s.fillPulse(ctx, figures, nos, now)
}

// fillPulse adds the last hour. Its steps are whole ones of the clock, the last of
// which is still running.
func (s *Store) fillPulse(ctx context.Context, figures []waitlist.ShowFigures, nos []int32, now time.Time) error {
	start := now.Truncate(waitlist.PulseEvery).Add(-(waitlist.PulseSteps - 1) * waitlist.PulseEvery)
	rows, err := s.pool.Query(ctx, `
		SELECT i, floor(extract(epoch FROM x.at - $2) / $3)::int, sum(x.told)::bigint, sum(x.claimed)::bigint
		FROM unnest($1::int[]) WITH ORDINALITY k (no, i) CROSS JOIN LATERAL (
			SELECT decided_at AS at, size AS told, 0 AS claimed FROM waves WHERE show_no = k.no AND decided_at >= $2
			UNION ALL
			(SELECT claimed_at, 0, 1 FROM claims WHERE show_no = k.no AND claimed_at >= $2 ORDER BY claimed_at DESC LIMIT $4)) x
		GROUP BY 1, 2`, nos, start, waitlist.PulseEvery.Seconds(), waitlist.DayMost)
	if err != nil {
		return err
	}
	var i, step int
	var p waitlist.PulseStep
	_, err = pgx.ForEachRow(rows, []any{&i, &step, &p.Told, &p.Claimed}, func() error {
		figures[i-1].Pulse[min(max(step, 0), waitlist.PulseSteps-1)] = p
		return nil
	})
	return err
}
