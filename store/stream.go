package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

const (
	// streamDays is for how many days the stream is kept.
	streamDays = 14
	// streamLook is how many rows one page looks at, for a reader of rare types.
	streamLook = 5000
)

// place is where an event stands in the stream: by transaction, by row, and in a
// row that is about several fans by fan.
type place struct {
	xid uint64
	id  int64
	i   int
}

// whole is the place behind all of a row.
const whole = 1 << 30

// String is the place as readers know it.
func (p place) String() string { return fmt.Sprintf("evt_%x.%x.%x", p.xid, p.id, p.i) }

// parsePlace reads a place; "" is before the first.
func parsePlace(s string) (p place, err error) {
	if s == "" {
		return p, nil
	}
	wrong := waitlist.Wrong("after", "after is not the id of an event of this stream; start again without it")
	parts := strings.Split(strings.TrimPrefix(s, "evt_"), ".")
	if len(parts) != 3 {
		return p, wrong
	}
	var n [3]uint64
	for i, part := range parts {
		if n[i], err = strconv.ParseUint(part, 16, 63); err != nil {
			return p, wrong
		}
	}
	p = place{n[0], int64(n[1]), int(n[2])}
	if p.i > whole || p.String() != s {
		return p, wrong
	}
	return p, nil
}

// streamRow is a row of events.
type streamRow struct {
	place
	event notifier.StreamEvent
	n     int
	data  []byte
}

// Stream returns a page of the event stream. Only what lies below every transaction
// in progress is read, in the order of transactions: what commits later lies behind
// it.
func (s *Store) Stream(ctx context.Context, q notifier.StreamQuery) (page notifier.StreamPage, err error) {
	after, err := parsePlace(q.After)
	if err != nil {
		return page, err
	}
	page.Next = q.After
	if err := s.readStream(ctx, q, after, &page); err != nil {
		return page, err
	}
	// Afterwards: what was dropped before the page was read is known by now.
	if err := s.checkPlace(ctx, after, q.After == ""); err != nil {
		return notifier.StreamPage{}, err
	}
	if !q.WithoutFanID {
		err = s.nameFans(ctx, page.Events)
	}
	return page, err
}

// checkPlace refuses a place that lies before what is kept, or that this database
// never gave out: it is another's, or of a time that a restored one has not had, and
// who went on there would miss events. Places are those of rows, or, with id 0, of the
// beginning of a transaction.
func (s *Store) checkPlace(ctx context.Context, p place, first bool) error {
	var old, known bool
	err := s.pool.QueryRow(ctx, `
		SELECT ($1::text::xid8, $2::bigint) < (xid, id),
			CASE $2::bigint WHEN 0 THEN $1::text::xid8 < pg_snapshot_xmax(pg_current_snapshot())
			ELSE (xid, id) = ($1::text::xid8, $2::bigint)
				OR EXISTS (SELECT FROM events e WHERE e.xid = $1::text::xid8 AND e.id = $2::bigint) END
		FROM stream_floor`,
		strconv.FormatUint(p.xid, 10), p.id).Scan(&old, &known)
	switch {
	case err != nil || first:
		return err
	case old:
		return errors.Join(notifier.ErrTooOld, waitlist.Refuse(waitlist.Closed,
			"what followed this event is kept no more (%d days); start again without after", streamDays))
	case !known:
		return waitlist.Wrong("after", "after is not the id of an event of this stream; start again without it")
	}
	return nil
}

// readStream fills a page from a place on. The row at the place itself is read
// again when it may not have been read to its end.
func (s *Store) readStream(ctx context.Context, q notifier.StreamQuery, after place, page *notifier.StreamPage) error {
	types, look, from := q.Types, streamLook, after.id
	if len(types) == 0 {
		types, look = notifier.StreamTypes, q.Limit
	}
	if after.i < whole {
		from--
	}
	rows, err := s.pool.Query(ctx, `
		SELECT e.xid::text::bigint, e.id, e.at, e.type, coalesce(s.show_id, ''), coalesce(o.opening_id, ''), coalesce(e.fan_no, 0),
			coalesce(e.n, 0), CASE WHEN w.wanted THEN e.data END, w.wanted
		FROM (
			SELECT * FROM events
			WHERE (xid, id) > ($1::text::xid8, $2::bigint) AND xid < pg_snapshot_xmin(pg_current_snapshot())
			ORDER BY xid, id LIMIT $3) e
		CROSS JOIN LATERAL (SELECT e.type = ANY($4)) w (wanted)
		LEFT JOIN shows s ON s.show_no = e.show_no LEFT JOIN openings o ON o.opening_no = e.opening_no
		ORDER BY e.xid, e.id`, strconv.FormatUint(after.xid, 10), from, look, types)
	if err != nil {
		return err
	}
	defer rows.Close()
	for len(page.Events) < q.Limit && rows.Next() {
		var r streamRow
		var wanted bool
		var at time.Time
		e := &r.event
		if err := rows.Scan(&r.xid, &r.id, &at, &e.Type, &e.ShowID, &e.OpeningID, &e.Fan, &r.n, &r.data, &wanted); err != nil {
			return err
		}
		e.At = notifier.Stamp(at)
		page.Next = place{r.xid, r.id, whole}.String()
		if !wanted {
			continue
		}
		if err := r.addTo(page, after, q.Limit); err != nil {
			return err
		}
		if n := len(page.Events); n == q.Limit {
			page.Next = page.Events[n-1].ID
		}
	}
	return rows.Err()
}

// severalFans is the data of a row that is about several fans, in parallel lists.
type severalFans struct {
	Fans    []int64 `json:"fans"`
	Entries []int64 `json:"entries,omitempty"`
	Ats     []int64 `json:"ats,omitempty"` // Unix milliseconds; absent: all at the row's time
}

// addTo adds the events of a row that lie behind after, up to limit in all.
func (r *streamRow) addTo(page *notifier.StreamPage, after place, limit int) error {
	if r.data == nil {
		r.data = []byte("{}")
	}
	skip := 0
	if r.xid == after.xid && r.id == after.id {
		skip = after.i + 1
	}
	var several severalFans
	if err := json.Unmarshal(r.data, &several); err != nil || several.Fans == nil {
		if skip > 0 {
			return nil
		}
		return r.addOne(page)
	}
	for i := skip; i < len(several.Fans) && len(page.Events) < limit; i++ {
		e := r.event
		e.ID, e.Fan, e.Data = place{r.xid, r.id, i}.String(), several.Fans[i], []byte("{}")
		if i < len(several.Entries) {
			e.Data = jsonOf(map[string]any{"entry": several.Entries[i]})
		}
		if i < len(several.Ats) {
			e.At = notifier.Stamp(time.UnixMilli(several.Ats[i]))
		}
		page.Events = append(page.Events, e)
	}
	return nil
}

// addOne adds a row that is one event.
func (r *streamRow) addOne(page *notifier.StreamPage) error {
	e := r.event
	e.ID, e.Data = r.String(), r.data
	if r.n > 0 {
		var data map[string]any
		if err := json.Unmarshal(r.data, &data); err != nil {
			return fmt.Errorf("data of event %d: %w", r.id, err)
		}
		data["number"] = r.n
		e.Data = jsonOf(data)
	}
	page.Events = append(page.Events, e)
	return nil
}

// nameFans says who the fans are, but for those who were erased.
func (s *Store) nameFans(ctx context.Context, events []notifier.StreamEvent) error {
	var nos []int64
	for i := range events {
		if events[i].Fan != 0 {
			nos = append(nos, events[i].Fan)
		}
	}
	if len(nos) == 0 {
		return nil
	}
	rows, err := s.pool.Query(ctx, `SELECT fan_no, fan_id FROM fans WHERE fan_no = ANY($1)`, nos)
	if err != nil {
		return err
	}
	names := make(map[int64]string, len(nos))
	var no int64
	var id string
	if _, err := pgx.ForEachRow(rows, []any{&no, &id}, func() error { names[no] = id; return nil }); err != nil {
		return err
	}
	for i := range events {
		events[i].FanID = names[events[i].Fan]
	}
	return nil
}

// StreamHead is the place of the last event that can be read.
func (s *Store) StreamHead(ctx context.Context) (string, error) {
	p := place{i: whole}
	err := s.pool.QueryRow(ctx, `
		SELECT xid::text::bigint, id FROM events WHERE xid < pg_snapshot_xmin(pg_current_snapshot())
		ORDER BY xid DESC, id DESC LIMIT 1`).Scan(&p.xid, &p.id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return p.String(), err
}

// raiseFloor notes where the stream begins when a partition of it goes.
func raiseFloor(ctx context.Context, tx pgx.Tx, partition string) error {
	_, err := tx.Exec(ctx, `
		UPDATE stream_floor f SET xid = e.xid, id = e.id
		FROM (SELECT xid, id FROM `+pgx.Identifier{partition}.Sanitize()+` ORDER BY xid DESC, id DESC LIMIT 1) e
		WHERE (f.xid, f.id) < (e.xid, e.id)`)
	return err
}
