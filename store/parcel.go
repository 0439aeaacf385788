package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

var _ delivery.Outbox = (*Store)(nil)

// announcementLife is how long an announcement is brought to those who are not
// looking.
const announcementLife = 24 * time.Hour

// Members are the fans with the turns from to to-1 of a wave.
func (s *Store) Members(ctx context.Context, opening int64, n, from, to int) ([]int64, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT x.fan FROM wave_members m CROSS JOIN LATERAL unnest(m.fans, m.ks) x (fan, k)
		WHERE m.opening_no = $1 AND m.n = $2 AND x.k >= $3 AND x.k < $4 ORDER BY x.k`, opening, n, from, to)
	return all(rows, err, pgx.RowTo[int64])
}

// Parcels reads parcels as they are now: one statement for them and one for what
// was tried.
func (s *Store) Parcels(ctx context.Context, b delivery.Batch, tried bool) ([]delivery.Parcel, error) {
	var list []delivery.Parcel
	var err error
	switch {
	case b.Opening != 0:
		list, err = s.turnParcels(ctx, b.Opening, b.Fans)
	case b.Digests != nil:
		list, err = s.digestParcels(ctx, b.Digests)
	case b.Announcement != 0:
		list, err = s.announcementParcels(ctx, b)
	default:
		list, err = s.messageParcels(ctx, b.Messages)
	}
	if err != nil || !tried {
		return list, err
	}
	return list, s.readTried(ctx, list)
}

// seenSQL is whether a fan f saw an item: acked or opened it, or read it.
func seenSQL(kind, ref, at string) string {
	return `(coalesce(` + at + ` < f.read_before, false)
		OR EXISTS (SELECT FROM acks k WHERE k.fan_no = f.fan_no AND k.kind = ` + kind + ` AND k.ref = ` + ref + `)
		OR EXISTS (SELECT FROM inbox_reads r WHERE r.fan_no = f.fan_no AND r.kind = ` + kind + ` AND r.ref = ` + ref + `))`
}

// turnRow is a fan's turn, with what decides whether they are told of it.
type turnRow struct {
	item
	now        time.Time
	closes     time.Time
	act        string
	actedAt    *time.Time
	endedAs    waitlist.OpeningState
	finalAt    *time.Time
	salesClose time.Time
	seen       bool
}

func (s *Store) turnParcels(ctx context.Context, opening int64, fans []int64) ([]delivery.Parcel, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT clock_timestamp(), f.fan_no, e.eno, m.parties[p.i]::int, `+turnOpens("m.ks[p.i]")+`, `+turnCloses("m.ks[p.i]")+`, w.window_s,
			coalesce(t.state, ''), t.at, o.opening_id, o.state, o.final_at,
			s.show_id, s.name, s.venue, s.time_zone, s.url, s.templates, s.cancelled, coalesce(s.sales_close_at, s.starts_at),
			`+seenSQL(`'turn'`, "o.opening_no", turnOpens("m.ks[p.i]"))+`
		FROM unnest($2::bigint[]) ask (fan_no) JOIN fans f USING (fan_no)
		JOIN openings o ON o.opening_no = $1 JOIN shows s ON s.show_no = o.show_no
		CROSS JOIN LATERAL (SELECT * FROM entries WHERE show_no = o.show_no AND fan_no = f.fan_no LIMIT 1) e
		JOIN wave_members m ON m.show_no = o.show_no AND m.chunk = `+chunkOf("e.eno")+` AND m.opening_no = o.opening_no
		CROSS JOIN LATERAL (SELECT array_position(m.enos, e.eno) AS i) p
		JOIN waves w ON w.opening_no = m.opening_no AND w.n = m.n
		LEFT JOIN turns t ON t.opening_no = o.opening_no AND t.eno = e.eno
		WHERE p.i IS NOT NULL`, opening, fans)
	list, err := all(rows, err, scanTurnRow)
	parcels := make([]delivery.Parcel, 0, len(list))
	for i := range list {
		list[i].kind, list[i].ref = notifier.KindTurn, opening
		if x, ok := list[i].parcel(); ok {
			parcels = append(parcels, x)
		}
	}
	return parcels, err
}

func scanTurnRow(row pgx.CollectableRow) (t turnRow, err error) {
	var opens time.Time
	var window int
	sh := &t.show
	err = row.Scan(&t.now, &t.fan, &t.eno, &t.seats, &opens, &t.closes, &window,
		&t.act, &t.actedAt, &t.openingID, &t.endedAs, &t.finalAt,
		&sh.ID, &sh.Name, &sh.Venue, &sh.TimeZone, &sh.URL, &sh.Templates, &sh.Cancelled, &t.salesClose, &t.seen)
	t.at, t.opens, t.item.closes = opens, &opens, &t.closes
	t.window, t.state, t.lane = time.Duration(window)*time.Second, notifier.StateOpen, notifier.Turns
	t.id = notifier.TurnID(sh.ID, t.openingID)
	return t, err
}

// parcel is the turn as one; not ok for a turn that never was.
func (t *turnRow) parcel() (delivery.Parcel, bool) {
	opens := *t.opens
	told := waitlist.Telling{Opens: opens, Closes: t.closes, FinalAt: t.finalAt}
	if t.actedAt != nil {
		told.Act = &waitlist.Act{State: waitlist.ActState(t.act), At: *t.actedAt}
	}
	if !told.Live(t.now) && !told.Shown(t.now) {
		return delivery.Parcel{}, false
	}
	closes := t.closes // the row is scanned into no more
	row := t.item
	row.opens, row.closes = &opens, &closes
	window := closes.Sub(opens)
	return delivery.Parcel{
		FanNo: t.fan, Item: notifier.ItemRef{Kind: notifier.KindTurn, Ref: t.ref}, ItemID: t.id, Lane: notifier.Turns,
		// An alert of several turns comes by the half of the first one's window.
		Moment: opens, Latest: opens.Add(window/2 - window/alertSpans), Expires: closes,
		Zone: row.zone(), URL: row.url(), Seen: t.seen || t.act != "", Over: t.over(), Render: row.render,
	}, true
}

// over is why the turn is not to be told of any more.
func (t *turnRow) over() string {
	switch {
	case t.show.Cancelled:
		return "cancelled"
	case t.endedAs != waitlist.OpeningOpen && t.finalAt != nil && t.finalAt.Before(t.closes):
		return string(t.endedAs)
	case !t.now.Before(t.salesClose):
		return "sales_closed"
	case !t.now.Before(t.closes):
		return "turn_over"
	}
	return ""
}

// render makes the item with its texts for a fan who reads a locale.
func (i item) render(locale string) notifier.Item {
	i.locale = locale
	return i.item()
}

func (s *Store) messageParcels(ctx context.Context, nos []int64) ([]delivery.Parcel, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT clock_timestamp(), m.msg_no, m.id, f.fan_no, m.lane, m.type, m.title, m.body, m.data, m.channels,
			m.created_at, m.expires_at, m.erased, `+seenSQL(`'message'`, "m.msg_no", "m.created_at")+`
		FROM unnest($1::bigint[]) ask (msg_no) JOIN messages m USING (msg_no) JOIN fans f USING (fan_no)`, nos)
	return all(rows, err, func(row pgx.CollectableRow) (x delivery.Parcel, err error) {
		var now time.Time
		var id string
		var erased bool
		it := item{kind: notifier.KindMessage}
		err = row.Scan(&now, &it.ref, &id, &it.fan, &it.lane, &it.own.kind, &it.own.title, &it.own.body, &it.own.data, &x.Channels,
			&it.at, &x.Expires, &erased, &x.Seen)
		it.id = "msg:" + id
		x.FanNo, x.Item, x.ItemID, x.Lane = it.fan, notifier.ItemRef{Kind: it.kind, Ref: it.ref}, it.id, it.lane
		x.Moment, x.Latest, x.Render = it.at, x.Expires, it.render
		if erased || !now.Before(x.Expires) {
			x.Over = "expired"
		}
		return x, err
	})
}

// announcementParcels are those of a chunk of the line who were in it at the
// announcement's moment and have an address of the channel.
func (s *Store) announcementParcels(ctx context.Context, b delivery.Batch) ([]delivery.Parcel, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT clock_timestamp(), f.fan_no, a.announcement_id, a.title, a.body, a.data, a.channels, a.at,
			s.show_id, s.name, s.venue, s.time_zone, s.url, s.cancelled, `+seenSQL(`'announcement'`, "a.announcement_no", "a.at")+`
		FROM announcements a JOIN shows s USING (show_no)
		JOIN entries e ON e.show_no = a.show_no AND e.eno > $2 AND e.eno <= $3 JOIN fans f ON f.fan_no = e.fan_no
		WHERE a.announcement_no = $1 AND `+inLineAt("a.decision")+` AND EXISTS (`+addressedSQL(b.Channel, "f.fan_no", "$4")+`)`,
		b.Announcement, b.From, b.To, b.Channel)
	return all(rows, err, func(row pgx.CollectableRow) (x delivery.Parcel, err error) {
		var now time.Time
		var id string
		it := item{kind: notifier.KindAnnouncement, ref: b.Announcement, lane: notifier.Bulk}
		sh := &it.show
		err = row.Scan(&now, &it.fan, &id, &it.own.title, &it.own.body, &it.own.data, &x.Channels, &it.at,
			&sh.ID, &sh.Name, &sh.Venue, &sh.TimeZone, &sh.URL, &sh.Cancelled, &x.Seen)
		it.id = notifier.AnnouncementID(sh.ID, id)
		x.FanNo, x.Item, x.ItemID, x.Lane = it.fan, notifier.ItemRef{Kind: it.kind, Ref: it.ref}, it.id, it.lane
		x.Moment, x.Expires = it.at, it.at.Add(announcementLife)
		x.Latest, x.Zone, x.URL, x.Render = x.Expires, it.zone(), it.url(), it.render
		switch {
		case sh.Cancelled:
			x.Over = "cancelled"
		case !now.Before(x.Expires):
			x.Over = "expired"
		}
		return x, err
	})
}

// readTried adds the deliveries that were begun.
func (s *Store) readTried(ctx context.Context, list []delivery.Parcel) error {
	if len(list) == 0 {
		return nil
	}
	at := map[notifier.ItemRef]map[int64]*delivery.Parcel{}
	var refs, fans []int64
	var days []time.Time
	for i := range list {
		x := &list[i]
		if at[x.Item] == nil {
			at[x.Item], refs = map[int64]*delivery.Parcel{}, append(refs, x.Item.Ref)
		}
		at[x.Item][x.FanNo] = x
		fans = append(fans, x.FanNo)
		if d := dayOf(x.Moment); !slices.Contains(days, d) {
			days = append(days, d)
		}
	}
	rows, err := s.pool.Query(ctx, `
		SELECT kind, ref, fan_no, channel, address_ref, state, next_at FROM deliveries
		WHERE day = ANY($1) AND ref = ANY($2) AND kind = $3 AND fan_no = ANY($4)`, days, refs, list[0].Item.Kind, fans)
	if err != nil {
		return err
	}
	var item notifier.ItemRef
	var fan int64
	var t delivery.Tried
	_, err = pgx.ForEachRow(rows, []any{&item.Kind, &item.Ref, &fan, &t.Channel, &t.AddressRef, &t.State, &t.NextAt}, func() error {
		if x := at[item][fan]; x != nil {
			x.Tried = append(x.Tried, t)
		}
		return nil
	})
	return err
}

// dayOf is the day of an item whose moment it is, in UTC.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
