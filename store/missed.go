package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// uncountedWave is a wave of which turns may have closed that were not counted yet.
type uncountedWave struct {
	waitlist.Wave
	mode    waitlist.Mode
	finalAt *time.Time
}

// uncountedWaves reads them.
func (d *decision) uncountedWaves(ctx context.Context) ([]uncountedWave, error) {
	rows, err := d.tx.Query(ctx, `
		SELECT `+waveColumns+`, o.mode, o.final_at FROM waves w JOIN openings o USING (opening_no)
		WHERE w.show_no = $1 AND w.last_closes IS NOT NULL AND w.misses_done < w.size
			AND (w.opens_at <= $2 OR o.state <> 'open')`,
		d.made.ShowNo, d.sit.Now)
	return all(rows, err, func(row pgx.CollectableRow) (w uncountedWave, err error) {
		var window int
		err = row.Scan(append(waveFields(&w.Wave, &window), &w.mode, &w.finalAt)...)
		w.Window = time.Duration(window) * time.Second
		return w, err
	})
}

// countMisses looks at the turns that closed since the last decision: one without
// an act, of mode turns, that closed before its opening ended, is a miss. With a
// final opening it is done after that.
func (d *decision) countMisses(ctx context.Context) error {
	waves, err := d.uncountedWaves(ctx)
	if err != nil {
		return err
	}
	var openings []int64
	var ns, to []int32
	var look []closedTurns
	for i := range waves {
		w := &waves[i]
		closed := w.Closed(d.sit.Now)
		done := closed
		if w.finalAt != nil {
			closed, done = w.Closed(*w.finalAt), w.Size
		}
		if done == w.MissesDone {
			continue
		}
		openings, ns, to = append(openings, w.OpeningNo), append(ns, int32(w.N)), append(to, int32(done))
		if closed > w.MissesDone {
			look = append(look, closedTurns{w.Wave, w.mode, closed})
		}
	}
	if len(openings) == 0 {
		return nil
	}
	if _, err := d.tx.Exec(ctx, `
		UPDATE waves w SET misses_done = t.done FROM unnest($1::bigint[], $2::int[], $3::int[]) t (opening_no, n, done)
		WHERE w.opening_no = t.opening_no AND w.n = t.n`, openings, ns, to); err != nil {
		return err
	}
	missed, err := d.missedIn(ctx, look)
	if err != nil {
		return err
	}
	return d.miss(ctx, missed)
}

// closedTurns are the turns of a wave from those last looked at up to closed.
type closedTurns struct {
	waitlist.Wave
	mode   waitlist.Mode
	closed int
}

// missedIn are the entries with a miss for each turn of mode turns that closed
// without an act, though a channel took it.
func (d *decision) missedIn(ctx context.Context, look []closedTurns) ([]int64, error) {
	lapsed, err := d.lapsedIn(ctx, look)
	if err != nil {
		return nil, err
	}
	if err := d.tellLapsed(ctx, lapsed); err != nil {
		return nil, err
	}
	unreached, err := noteUnreached(ctx, d.tx, lapsed)
	if err != nil {
		return nil, err
	}
	var missed []int64
	for _, l := range lapsed {
		if l.mode == waitlist.ModeTurns && !unreached[l.turnKey] {
			missed = append(missed, l.eno)
		}
	}
	return missed, nil
}

// lapsedIn are the turns that closed without an act.
func (d *decision) lapsedIn(ctx context.Context, look []closedTurns) ([]lapsedTurn, error) {
	waves := make([]waitlist.Wave, len(look))
	for i := range look {
		waves[i] = look[i].Wave
	}
	members, err := membersOf(ctx, d.tx, waves)
	if err != nil {
		return nil, err
	}
	var closed []lapsedTurn
	var openings, enos []int64
	for i := range look {
		w := &look[i]
		for _, m := range members[w.Ref()][w.MissesDone:w.closed] {
			if opens := w.Opens(m.K); opens.Before(w.CloseCap) {
				closed = append(closed, lapsedTurn{turnKey{w.OpeningNo, m.EntryNo}, m.FanNo, opens, w.mode})
				openings, enos = append(openings, w.OpeningNo), append(enos, m.EntryNo)
			}
		}
	}
	rows, err := d.tx.Query(ctx, `
		SELECT c.i FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY c (opening_no, eno, i)
		WHERE NOT EXISTS (SELECT FROM turns t WHERE t.opening_no = c.opening_no AND t.eno = c.eno) ORDER BY c.i`, openings, enos)
	at, err := all(rows, err, pgx.RowTo[int64])
	lapsed := make([]lapsedTurn, len(at))
	for k, i := range at {
		lapsed[k] = closed[i-1]
	}
	return lapsed, err
}

// miss adds a missed turn to entries, once for each time they are named, and makes
// those dormant that missed too many in a row.
func (d *decision) miss(ctx context.Context, enos []int64) error {
	if len(enos) == 0 {
		return nil
	}
	most := d.sit.Show.Policy.MaxMissed
	rows, err := d.tx.Query(ctx, `
		WITH missed AS (SELECT eno, count(*) AS n FROM unnest($2::bigint[]) eno GROUP BY 1),
		counted AS (
			UPDATE entries e SET missed = least(e.missed + m.n, 30000) FROM missed m
			WHERE e.show_no = $1 AND e.eno = m.eno AND e.state = 'waiting' RETURNING e.eno, e.missed, e.dormant)
		SELECT eno FROM counted WHERE $3 > 0 AND missed >= $3 AND NOT dormant ORDER BY eno`, d.made.ShowNo, enos, most)
	asleep, err := all(rows, err, pgx.RowTo[int64])
	if err != nil || len(asleep) == 0 {
		return err
	}
	if err := logEntries(ctx, d.tx, d.made.ShowNo, asleep, d.before, "dormant", ""); err != nil {
		return err
	}
	rows, err = d.tx.Query(ctx, `
		UPDATE entries SET dormant = true WHERE show_no = $1 AND eno = ANY($2) RETURNING fan_no`, d.made.ShowNo, asleep)
	fans, err := all(rows, err, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	return d.s.record(ctx, d.tx, event{
		Type: notifier.EntryDormant, At: d.sit.Now, ShowNo: d.made.ShowNo,
		Data: map[string]any{"fans": fans, "entries": asleep},
	})
}
