package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// due asks for a decision at a moment.
func due(ctx context.Context, tx pgx.Tx, showNo int32, at ...time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO due (show_no, at) SELECT $1, unnest($2::timestamptz[])`, showNo, at)
	return err
}

// dueIfOpen asks for a decision now where an opening waits for one: joins to a
// show without openings need none. An opening that is being recorded right now
// asks for its own, which waits for this transaction.
func dueIfOpen(ctx context.Context, tx pgx.Tx, showNo int32, at time.Time) error {
	_, err := askedIfOpen(ctx, tx, showNo, at)
	return err
}

// askedIfOpen is dueIfOpen that says whether it asked.
func askedIfOpen(ctx context.Context, tx pgx.Tx, showNo int32, at time.Time) (bool, error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO due (show_no, at)
		SELECT $1, $2 WHERE EXISTS (SELECT FROM openings WHERE show_no = $1 AND state = 'open')`, showNo, at)
	return tag.RowsAffected() > 0, err
}

// DueSoon are the shows with something due now or within a time, the soonest first.
// The moment is asked for once: no index finds what is compared with a function that
// may answer anew for each row, and this runs each 100 ms, whatever is due later.
func (s *Store) DueSoon(ctx context.Context, within time.Duration) ([]waitlist.Due, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT show_no, min(at), clock_timestamp()
		FROM (SELECT * FROM due WHERE at <= (SELECT clock_timestamp() + $1) ORDER BY at LIMIT 10000) d
		GROUP BY show_no ORDER BY min(at) LIMIT 1000`, within)
	return all(rows, err, func(row pgx.CollectableRow) (d waitlist.Due, err error) {
		var at, now time.Time
		err = row.Scan(&d.ShowNo, &at, &now)
		d.In = at.Sub(now)
		return d, err
	})
}

// Sweep makes due every show that has an open opening, seats not handed back or a
// held claim, and nothing due at all.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	tag, err := s.pool.Exec(ctx, `
		INSERT INTO due (show_no, at)
		SELECT show_no, clock_timestamp() FROM (
			SELECT show_no FROM openings WHERE state = 'open' OR NOT handed_back
			UNION SELECT show_no FROM claims WHERE state = 'held') u
		WHERE NOT EXISTS (SELECT FROM due d WHERE d.show_no = u.show_no)`)
	if err != nil {
		return 0, err
	}
	return int(tag.RowsAffected()), s.noteClock(ctx)
}

// clockStep is how far the database's clock may seem behind a decision: commits of
// several decisions within one tick are no step.
const clockStep = time.Second

// noteClock says when the database's clock was set back: time never runs back in a
// line, so that one decided before then waits for as long as the step.
func (s *Store) noteClock(ctx context.Context) error {
	var behind time.Duration
	if err := s.pool.QueryRow(ctx,
		`SELECT greatest(max(last_decided_at) - clock_timestamp(), interval '0') FROM lines`).Scan(&behind); err != nil {
		return err
	}
	was := time.Duration(s.clockBehind.Swap(int64(behind)))
	switch {
	case behind > clockStep && was <= clockStep:
		s.log.Error("the database's clock was set back; lines wait until it is where it was", "behind", behind)
	case behind <= clockStep && was > clockStep:
		s.log.Info("the database's clock has caught up")
	}
	return nil
}

// ClockBehind is how far the database's clock is behind the last decision: more
// than a second says that it was set back.
func (s *Store) ClockBehind() time.Duration { return time.Duration(s.clockBehind.Load()) }
