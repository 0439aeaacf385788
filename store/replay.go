package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/delivery/live"
	"fanline/notifier"
)

// turnsMost is how many turns that changed, or may still, are replayed.
const turnsMost = 1000

// Replay returns a page of what a fan missed. It asks once, whatever the page.
func (f *Feed) Replay(ctx context.Context, fan int64, s live.Span) (live.Missed, error) {
	if s.Page != nil {
		return f.nextPage(ctx, fan, s)
	}
	return f.firstPage(ctx, fan, s)
}

// nextPage returns items in order of time and id, whatever row they come from.
func (f *Feed) nextPage(ctx context.Context, fan int64, s live.Span) (m live.Missed, err error) {
	items, err := planOnce(ctx, f.s, func(row pgx.CollectableRow) (i item, err error) {
		err = i.scan(row, &m.Total)
		return i, err
	}, `
		SELECT x.*, count(*) OVER () FROM (`+itemsSQL+`) x
		WHERE at > $3 AND (at, id) > ($4, $5)
		ORDER BY at, id LIMIT $6`,
		[]int64{fan}, s.Until, s.Since, s.Page.At, s.Page.ID, s.Limit)
	for i := range items {
		m.Items = append(m.Items, items[i].notice())
	}
	return m, err
}

// firstSQL are a fan's items of the span from $3 to $2, of which the first $4, and
// beside them the turns that changed within it, those that still may, and those that
// have not opened, in one pass: a turn that was committed between two statements
// would be known as one whose item the fan has, and its item, which was not found,
// would be taken for one that was sent when it comes live.
//
// A turn changes with an act, with its opening's end, by time, and with the end of
// the claim on it, which is when somebody wrote it down: until then a hold past its
// expiry is just over.
var firstSQL = `
	SELECT * FROM (
		SELECT x.*, missed, count(*) OVER (PARTITION BY missed) AS of,
			row_number() OVER (PARTITION BY missed ORDER BY x.at, x.id) AS nth,
			CASE WHEN x.kind <> 'turn' THEN NULL
				WHEN x.state = 'claimed' THEN t.at
				WHEN x.state = 'over' AND t.state = 'claimed' THEN coalesce(c.ended_at, $2)
				WHEN x.state = 'over' THEN coalesce(t.at, least(o.final_at, x.closes)) END AS since,
			x.kind = 'turn' AND (x.state = 'open' OR x.state = 'claimed' AND c.state = 'held') AS live
		FROM (` + itemsTo("$2 + "+plannedSQL) + `) x
		LEFT JOIN openings o ON x.kind = 'turn' AND o.opening_no = x.ref
		LEFT JOIN turns t ON t.opening_no = o.opening_no AND t.eno = x.eno
		LEFT JOIN claims c ON c.opening_no = o.opening_no AND c.eno = x.eno
		CROSS JOIN LATERAL (SELECT x.at > $3 AND x.at <= $2) m (missed)) x
	WHERE missed AND nth <= $4 OR since > $3 OR live
	ORDER BY at, id LIMIT $5`

// missedItem is a row of firstSQL.
type missedItem struct {
	item
	missed  bool
	of, nth int
	since   *time.Time
	live    bool
}

func (f *Feed) firstPage(ctx context.Context, fan int64, s live.Span) (m live.Missed, err error) {
	most := s.Limit + turnsMost
	found, err := planOnce(ctx, f.s, func(row pgx.CollectableRow) (i missedItem, err error) {
		err = i.scan(row, &i.missed, &i.of, &i.nth, &i.since, &i.live)
		return i, err
	}, firstSQL, []int64{fan}, s.Until, s.Since, s.Limit, most+1)
	m.Many = len(found) > most
	for i := range found {
		found[i].addTo(&m, s)
	}
	return m, err
}

// addTo adds what the row is: a missed item, a turn that changed, one that still
// may, one to come.
func (i *missedItem) addTo(m *live.Missed, s live.Span) {
	n := i.notice()
	if i.missed {
		m.Total = i.of
		if i.nth <= s.Limit {
			m.Items = append(m.Items, n)
		}
	}
	if i.since != nil && i.since.After(s.Since) {
		m.Turns = append(m.Turns, live.Notice{
			FanNo: i.fan, At: n.At, Closes: n.Closes, Turn: n.Turn,
			Update: &notifier.Update{ID: n.Item.ID, State: i.state},
		})
	}
	if i.live {
		n.Silent = !n.At.After(s.Until)
		m.Turns = append(m.Turns, n)
	}
}
