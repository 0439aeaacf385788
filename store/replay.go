package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/delivery"
	"fanline/notifier"
)

// changedMost is how many turns that changed are replayed.
const changedMost = 1000

// Replay returns a page of what a fan missed. It asks once, whatever the page.
//
// All of it is read of one snapshot: a turn that was committed between two of the
// statements would be known as one whose item the fan has, and its item, which was
// not found, would be taken for one that was sent when it comes live.
func (f *Feed) Replay(ctx context.Context, fan int64, s delivery.Span) (m delivery.Missed, err error) {
	batch := &pgx.Batch{}
	batch.Queue(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
	// To plan these anew each time takes longer than to run them.
	batch.Queue(`SET LOCAL plan_cache_mode = force_generic_plan`)
	queueMissed(batch, fan, s)
	if s.Page == nil {
		queueTurns(batch, fan, s)
	}
	batch.Queue(`COMMIT`) // after an error the pool closes the connection
	results := f.s.pool.SendBatch(ctx, batch)
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
	}()
	for range 2 {
		if _, err := results.Exec(); err != nil {
			return m, err
		}
	}
	rows, err := results.Query()
	items, err := all(rows, err, func(row pgx.CollectableRow) (i item, err error) {
		err = i.scan(row, &m.Total)
		return i, err
	})
	if err != nil {
		return m, err
	}
	for i := range items {
		m.Items = append(m.Items, items[i].notice())
	}
	if s.Page == nil {
		m.Turns, m.Many, err = readTurns(results, s)
	}
	return m, err
}

// queueMissed asks for the items in order of time and id, of whatever row they come.
func queueMissed(b *pgx.Batch, fan int64, s delivery.Span) {
	at, id := s.Since, ""
	if s.Page != nil {
		at, id = s.Page.At, s.Page.ID
	}
	b.Queue(`
		SELECT x.*, count(*) OVER () FROM (`+itemsSQL+`) x
		WHERE at > $3 AND (at, kind || ':' || show_id || ':' || opening_id) > ($4, $5)
		ORDER BY at, kind || ':' || show_id || ':' || opening_id LIMIT $6`,
		[]int64{fan}, s.Until, s.Since, at, id, s.Limit)
}

// queueTurns asks for the turns that changed, for those that still may, and for
// those that have not opened.
//
// A turn changes with an act, with its opening's end, by time, and with the end of
// the claim on it, which is when somebody wrote it down: until then a hold past its
// expiry is just over.
func queueTurns(b *pgx.Batch, fan int64, s delivery.Span) {
	b.Queue(`
		SELECT * FROM (
			SELECT x.*, CASE
				WHEN x.state = 'claimed' THEN t.at
				WHEN x.state = 'over' AND t.state = 'claimed' THEN coalesce(c.ended_at, $2)
				WHEN x.state = 'over' THEN coalesce(t.at, least(o.final_at, x.closes)) END AS since,
				x.state = 'open' OR x.state = 'claimed' AND c.state = 'held' AS live
			FROM (`+itemsSQL+`) x JOIN openings o USING (opening_no)
			LEFT JOIN turns t ON t.opening_no = x.opening_no AND t.eno = x.eno
			LEFT JOIN claims c ON c.opening_no = x.opening_no AND c.eno = x.eno
			WHERE x.kind = 'turn') x
		WHERE since > $3 OR live ORDER BY since, opening_no LIMIT $4`,
		[]int64{fan}, s.Until, s.Since, changedMost+1)
	b.Queue(upcomingSQL, []int64{fan}, s.Until.Add(planned), s.Until)
}

func readTurns(results pgx.BatchResults, s delivery.Span) (turns []delivery.Notice, many bool, err error) {
	type turn struct {
		item
		since *time.Time
		live  bool
	}
	rows, err := results.Query()
	known, err := all(rows, err, func(row pgx.CollectableRow) (t turn, err error) {
		err = t.scan(row, &t.since, &t.live)
		return t, err
	})
	if err != nil {
		return nil, false, err
	}
	rows, err = results.Query()
	upcoming, err := all(rows, err, scanItem)
	if err != nil {
		return nil, false, err
	}
	for i := range known {
		t := &known[i]
		n := t.notice()
		if t.since != nil && t.since.After(s.Since) {
			turns = append(turns, delivery.Notice{
				FanNo: t.fan, At: n.At, Closes: n.Closes, Turn: n.Turn,
				Update: &notifier.Update{ID: n.Item.ID, State: t.state},
			})
		}
		if t.live {
			n.Silent = true
			turns = append(turns, n)
		}
	}
	for i := range upcoming {
		upcoming[i].state = notifier.StateOpen
		turns = append(turns, upcoming[i].notice())
	}
	return turns, len(known) > changedMost, nil
}
