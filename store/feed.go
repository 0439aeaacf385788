package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/delivery/live"
	"fanline/notifier"
	"fanline/waitlist"
)

// Feed is what one hub reads. News is called from one goroutine; the rest may be
// called concurrently.
//
// Events are read by transaction: all that News did not see in an earlier call
// belongs to a transaction that was not complete then, whose number is therefore
// not below that call's oldest one in progress. A late commit is never passed by.
type Feed struct {
	s *Store
	// seen are events read already that lie above the cursor.
	seen map[int64]uint64
}

// Feed returns a new Feed.
func (s *Store) Feed() *Feed { return &Feed{s: s, seen: map[int64]uint64{}} }

// FanNo returns the number of a fan.
func (f *Feed) FanNo(ctx context.Context, fan string) (int64, error) { return f.s.FanNo(ctx, fan) }

// Start is the cursor of now, and the moment.
func (f *Feed) Start(ctx context.Context) (live.Cursor, live.Moment, error) {
	var c string
	var r momentRow
	err := f.s.pool.QueryRow(ctx, `SELECT pg_snapshot_xmin(pg_current_snapshot())::text, m.* FROM (`+momentSQL+`) m`).
		Scan(append([]any{&c}, r.fields()...)...)
	return live.Cursor(c), r.moment(), err
}

// liveEvent is an event that may concern connected fans.
type liveEvent struct {
	id           int64
	xid          uint64
	at           time.Time
	kind         notifier.EventType
	opening, fan int64
	ref          int64 // an announcement
	accepted     *acceptedMessages
	n            int
}

// News returns what was committed since after for the fans who are here.
func (f *Feed) News(ctx context.Context, after live.Cursor, here live.Here) (live.News, error) {
	var news live.News
	var err error
	// Before the events, so that none of a transaction in progress is passed.
	if news.Next, news.Moment, err = f.Start(ctx); err != nil {
		return news, err
	}
	events, err := f.read(ctx, after)
	if err != nil || len(events) == 0 {
		return news, err
	}
	news.SignedOut = signedOut(events)
	if news.Notices, err = f.notices(ctx, events, here.Has); err != nil {
		return news, err
	}
	var announcements []int64
	for _, e := range events {
		if e.kind == notifier.AnnouncementSent {
			announcements = append(announcements, e.ref)
		}
	}
	if news.Shared, err = f.announced(ctx, announcements, here); err != nil {
		return news, err
	}
	for _, e := range events {
		f.seen[e.id] = e.xid
	}
	return news, nil
}

func signedOut(events []liveEvent) (outs []live.SignOut) {
	for _, e := range events {
		if e.kind == notifier.FanSignedOut || e.kind == notifier.FanErased {
			outs = append(outs, live.SignOut{FanNo: e.fan, At: e.at})
		}
	}
	return outs
}

// notices are what events mean for the fans who are here.
func (f *Feed) notices(ctx context.Context, events []liveEvent, here func(int64) bool) ([]live.Notice, error) {
	var waves, capped []waitlist.WaveRef
	var ended, messages []int64
	fans := map[int64]time.Time{} // with the earliest event about them
	for _, e := range events {
		switch e.kind {
		case notifier.OpeningWave:
			waves = append(waves, waitlist.WaveRef{OpeningNo: e.opening, N: e.n})
		case notifier.WaveCapped:
			capped = append(capped, waitlist.WaveRef{OpeningNo: e.opening, N: e.n})
		case notifier.OpeningFilled, notifier.OpeningCancelled:
			ended = append(ended, e.opening)
		case notifier.FanSignedOut, notifier.FanErased, notifier.AnnouncementSent: // see News
		case notifier.MessageAccepted:
			messages = append(messages, e.messagesFor(here)...)
		default:
			if since, ok := fans[e.fan]; here(e.fan) && (!ok || e.at.Before(since)) {
				fans[e.fan] = e.at
			}
		}
	}
	now, err := f.s.now(ctx)
	if err != nil {
		return nil, err
	}
	notices, err := f.waves(ctx, waves, now, here)
	if err != nil {
		return nil, err
	}
	earlier, err := f.waves(ctx, capped, now, here)
	if err != nil {
		return nil, err
	}
	for _, n := range earlier {
		if n.Silent = true; !n.At.After(now) { // those to open are asked about when they do
			notices = append(notices, n)
		}
	}
	if err := f.cutShort(ctx, ended, here, fans); err != nil {
		return nil, err
	}
	changes, err := f.changes(ctx, fans, now)
	if err != nil {
		return nil, err
	}
	told, err := f.messages(ctx, messages, now)
	return append(append(notices, changes...), told...), err
}

// read returns the unseen events from the cursor on.
func (f *Feed) read(ctx context.Context, after live.Cursor) ([]liveEvent, error) {
	from, err := strconv.ParseUint(string(after), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("feed cursor %q: %w", after, err)
	}
	rows, err := f.s.pool.Query(ctx, `
		SELECT id, xid::text::bigint, at, type, coalesce(opening_no, 0), coalesce(fan_no, 0), coalesce(ref, 0), coalesce(n, 0),
			CASE type WHEN 'message.accepted' THEN data END
		FROM events WHERE live AND xid >= $1::text::xid8 ORDER BY xid, id`, strconv.FormatUint(from, 10))
	events, err := all(rows, err, func(row pgx.CollectableRow) (e liveEvent, err error) {
		err = row.Scan(&e.id, &e.xid, &e.at, &e.kind, &e.opening, &e.fan, &e.ref, &e.n, &e.accepted)
		return e, err
	})
	if err != nil {
		return nil, err
	}
	for id, xid := range f.seen {
		if xid < from {
			delete(f.seen, id)
		}
	}
	return slices.DeleteFunc(events, func(e liveEvent) bool { _, ok := f.seen[e.id]; return ok }), nil
}

// toldWave is a wave with all that its items say.
type toldWave struct {
	waitlist.Wave
	item
}

// toldWaves reads waves.
func (f *Feed) toldWaves(ctx context.Context, keys []waitlist.WaveRef) ([]toldWave, error) {
	var openings []int64
	var ns []int32
	for _, k := range keys {
		openings, ns = append(openings, k.OpeningNo), append(ns, int32(k.N))
	}
	rows, err := f.s.pool.Query(ctx, `
		SELECT `+waveColumns+`, o.opening_id, s.show_id, s.name, s.venue, s.time_zone, s.url, s.templates
		FROM unnest($1::bigint[], $2::int[]) k (opening_no, n) JOIN waves w USING (opening_no, n)
		JOIN openings o USING (opening_no) JOIN shows s ON s.show_no = o.show_no`, openings, ns)
	return all(rows, err, func(row pgx.CollectableRow) (t toldWave, err error) {
		var window int
		s := &t.show
		err = row.Scan(append(waveFields(&t.Wave, &window), &t.openingID, &s.ID, &s.Name, &s.Venue, &s.TimeZone, &s.URL, &s.Templates)...)
		t.Window = time.Duration(window) * time.Second
		return t, err
	})
}

// waves returns the turns of new waves for the fans who are here, whichever
// strategy: the members are read once a wave and matched with the sockets.
func (f *Feed) waves(ctx context.Context, keys []waitlist.WaveRef, now time.Time, here func(int64) bool) ([]live.Notice, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	told, err := f.toldWaves(ctx, keys)
	if err != nil {
		return nil, err
	}
	waves := make([]waitlist.Wave, len(told))
	for i := range told {
		waves[i] = told[i].Wave
	}
	members, err := membersOf(ctx, f.s.pool, waves)
	if err != nil {
		return nil, err
	}
	var rows []item
	for i := range told {
		w := &told[i].Wave
		for _, m := range members[w.Ref()] {
			if !here(m.FanNo) || !w.Opens(m.K).Before(w.Closes(m.K)) {
				continue
			}
			row := told[i].item
			row.turn(w, m)
			rows = append(rows, row)
		}
	}
	if err := f.s.readLocales(ctx, rows); err != nil {
		return nil, err
	}
	notices := make([]live.Notice, len(rows))
	for i := range rows {
		notices[i] = rows[i].notice()
	}
	return f.standing(ctx, notices, now)
}

// turn makes the row the open turn of a member.
func (i *item) turn(w *waitlist.Wave, m waitlist.Member) {
	opens, closes := w.Opens(m.K), w.Closes(m.K)
	i.id, i.kind, i.lane = notifier.TurnID(i.show.ID, i.openingID), notifier.KindTurn, notifier.Turns
	i.fan, i.ref, i.eno, i.seats = m.FanNo, w.OpeningNo, m.EntryNo, m.Party
	i.state, i.at, i.opens, i.closes, i.window = notifier.StateOpen, opens, &opens, &closes, w.Window
}

func (i *item) notice() live.Notice {
	it := i.item()
	n := live.Notice{FanNo: i.fan, At: i.at, Item: &it}
	if i.kind == notifier.KindTurn {
		n.Turn = live.TurnKey{OpeningNo: i.ref, EntryNo: i.eno}
		n.Closes = *i.closes
	}
	return n
}

// cutShort adds the fans who are here and were told of openings that ended.
func (f *Feed) cutShort(ctx context.Context, openings []int64, here func(int64) bool, fans map[int64]time.Time) error {
	if len(openings) == 0 {
		return nil
	}
	rows, err := f.s.pool.Query(ctx, `
		SELECT m.fans, o.final_at FROM openings o JOIN waves w USING (opening_no) JOIN wave_members m USING (opening_no, n)
		WHERE o.opening_no = ANY($1) AND w.last_closes > o.final_at`, openings)
	if err != nil {
		return err
	}
	var members []int64
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&members, &at}, func() error {
		for _, fan := range members {
			if since, ok := fans[fan]; here(fan) && (!ok || at.Before(since)) {
				fans[fan] = at
			}
		}
		return nil
	})
	return err
}

// changes returns, for fans with the time since when something happened to them,
// the results that came and the turns that changed.
func (f *Feed) changes(ctx context.Context, fans map[int64]time.Time, now time.Time) ([]live.Notice, error) {
	if len(fans) == 0 {
		return nil, nil
	}
	var nos []int64
	first := now
	for no, since := range fans {
		nos = append(nos, no)
		if since.Before(first) {
			first = since
		}
	}
	slices.Sort(nos)
	// Moments are cut to milliseconds, and an act's event may carry a later one.
	first = first.Add(-time.Second)
	items, err := planOnce(ctx, f.s, scanItem, `
		SELECT * FROM (`+itemsSQL+`) x WHERE changed >= $3 ORDER BY at, kind`, nos, now, first)
	if err != nil {
		return nil, err
	}
	var notices []live.Notice
	for i := range items {
		it := &items[i]
		if it.changed.Before(fans[it.fan].Add(-time.Second)) {
			continue
		}
		if it.kind == notifier.KindTurn {
			notices = append(notices, live.Notice{
				FanNo: it.fan, At: now, Update: &notifier.Update{ID: it.id, State: it.state},
				Turn: live.TurnKey{OpeningNo: it.ref, EntryNo: it.eno},
			})
			continue
		}
		notices = append(notices, it.notice())
	}
	return notices, nil
}
