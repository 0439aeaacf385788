package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// eventFans is how many fans one row of the stream is about at most.
const eventFans = 1000

// TellOpened tells the stream of turns that opened since it was told last: a row for
// many of strategy write, which readers get as an event each, and one a wave, with a
// count, of strategy read. It is a transaction a show, under its shared lock, so that
// an opening's end lies before it or behind.
func (s *Store) TellOpened(ctx context.Context) error {
	rows, err := s.pool.Query(ctx, `
		SELECT DISTINCT show_no FROM waves WHERE opened_done < size AND opens_at <= clock_timestamp() ORDER BY 1 LIMIT 100`)
	shows, err := all(rows, err, pgx.RowTo[int32])
	for _, show := range shows {
		if err == nil {
			err = s.inTx(ctx, "tell of opened turns", func(tx pgx.Tx) error { return s.tellOpened(ctx, tx, show) })
		}
	}
	return err
}

// openedWave is a wave with turns that the stream was not told of.
type openedWave struct {
	waitlist.Wave
	strategy waitlist.Strategy
	finalAt  *time.Time
	told     int
}

func (s *Store) tellOpened(ctx context.Context, tx pgx.Tx, show int32) error {
	var mine bool
	if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, $2)`, lockOpened, show).Scan(&mine); err != nil || !mine {
		return err
	}
	if err := lockShared(ctx, tx, show); err != nil {
		return err
	}
	m, err := look(ctx, tx, show)
	if err != nil {
		return err
	}
	rows, err := tx.Query(ctx, `
		SELECT `+waveColumns+`, o.strategy, o.final_at, w.opened_done FROM waves w JOIN openings o USING (opening_no)
		WHERE w.show_no = $1 AND w.opened_done < w.size AND w.opens_at <= $2 ORDER BY w.opens_at LIMIT 200`, show, m.now)
	waves, err := all(rows, err, func(row pgx.CollectableRow) (w openedWave, err error) {
		var window int
		err = row.Scan(append(waveFields(&w.Wave, &window), &w.strategy, &w.finalAt, &w.told)...)
		w.Window = time.Duration(window) * time.Second
		return w, err
	})
	if err != nil || len(waves) == 0 {
		return err
	}
	return s.tellWaves(ctx, tx, show, waves, m.now)
}

func (s *Store) tellWaves(ctx context.Context, tx pgx.Tx, show int32, list []openedWave, now time.Time) error {
	waves, nos := make([]waitlist.Wave, len(list)), make([]int64, len(list))
	ns, done := make([]int32, len(list)), make([]int32, len(list))
	for i := range list {
		waves[i], nos[i], ns[i] = list[i].Wave, list[i].OpeningNo, int32(list[i].N)
	}
	members, err := membersOf(ctx, tx, waves)
	if err != nil {
		return err
	}
	early, err := endedEarly(ctx, tx, nos)
	if err != nil {
		return err
	}
	var events []event
	for i := range list {
		w := &list[i]
		opened, to := w.opened(members[w.Ref()], early, now)
		if w.strategy == waitlist.Read && to < w.Size {
			to, opened = w.told, nil // one event, when the whole wave has opened
		}
		done[i] = int32(to)
		events = append(events, w.events(show, opened)...)
	}
	if _, err := tx.Exec(ctx, `
		UPDATE waves w SET opened_done = t.done FROM unnest($1::bigint[], $2::int[], $3::int[]) t (opening_no, n, done)
		WHERE w.opening_no = t.opening_no AND w.n = t.n AND w.opened_done < t.done`, nos, ns, done); err != nil {
		return err
	}
	return s.record(ctx, tx, events...)
}

// opened are the turns that opened since the stream was told, and up to which turn
// it knows all then.
func (w *openedWave) opened(members []waitlist.Member, early map[turnKey]time.Time, now time.Time) (opened []waitlist.Member, to int) {
	until := w.Opened(now)
	to = until
	if w.finalAt != nil {
		to = w.Size
	}
	for _, m := range members[w.told:until] {
		t := waitlist.Telling{Opens: w.Opens(m.K), Closes: w.Closes(m.K), FinalAt: w.finalAt}
		if at, acted := early[turnKey{w.OpeningNo, m.EntryNo}]; acted {
			t.Act = &waitlist.Act{At: at}
		}
		if t.Shown(now) {
			opened = append(opened, m)
		}
	}
	return opened, to
}

// events are the rows for the stream.
func (w *openedWave) events(show int32, opened []waitlist.Member) []event {
	e := event{Type: notifier.TurnOpened, ShowNo: show, OpeningNo: w.OpeningNo}
	if len(opened) == 0 {
		return nil
	}
	if e.At = w.Opens(opened[0].K); w.strategy == waitlist.Read {
		e.N, e.Data = w.N, map[string]any{"count": len(opened)}
		return []event{e}
	}
	var events []event
	for some := range slices.Chunk(opened, eventFans) {
		var data severalFans
		for _, m := range some {
			data.Fans, data.Entries = append(data.Fans, m.FanNo), append(data.Entries, m.EntryNo)
			data.Ats = append(data.Ats, w.Opens(m.K).UnixMilli())
		}
		e.Data = data
		events = append(events, e)
	}
	return events
}

// endedEarly is when acts ended turns of openings.
func endedEarly(ctx context.Context, q querier, openings []int64) (map[turnKey]time.Time, error) {
	rows, err := q.Query(ctx, `SELECT opening_no, eno, at FROM turns WHERE opening_no = ANY($1)`, openings)
	if err != nil {
		return nil, err
	}
	acts := map[turnKey]time.Time{}
	var k turnKey
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&k.opening, &k.eno, &at}, func() error { acts[k] = at; return nil })
	return acts, err
}

// tellLapsed tells the stream of turns that closed without an act.
func (d *decision) tellLapsed(ctx context.Context, lapsed []lapsedTurn) error {
	byOpening := map[int64][]lapsedTurn{}
	var order []int64
	for _, l := range lapsed {
		if byOpening[l.opening] == nil {
			order = append(order, l.opening)
		}
		byOpening[l.opening] = append(byOpening[l.opening], l)
	}
	var events []event
	for _, opening := range order {
		for some := range slices.Chunk(byOpening[opening], eventFans) {
			var data severalFans
			for _, l := range some {
				data.Fans, data.Entries = append(data.Fans, l.fan), append(data.Entries, l.eno)
			}
			events = append(events, event{Type: notifier.TurnLapsed, At: d.sit.Now, ShowNo: d.made.ShowNo, OpeningNo: opening, Data: data})
		}
	}
	return d.s.record(ctx, d.tx, events...)
}
