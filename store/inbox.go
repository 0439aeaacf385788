package store

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// itemID is the SQL of an item's id, as item.id makes it.
const itemID = `kind || ':' || show_id || ':' || opening_id`

// item is a row of a fan's inbox before it has its texts.
type item struct {
	fan, opening, eno int64
	kind              notifier.Kind
	show              waitlist.Show
	openingID         string
	seats             int
	state             notifier.TurnState
	at                time.Time
	opens, closes     *time.Time // of a turn
	window            time.Duration
	readAt            *time.Time
	// changed is when an act, the end of its claim or the opening's end last
	// changed a turn's state.
	changed *time.Time
}

// The items of fans $1 (a list of numbers) as of the moment $2, whatever row they
// come from. A turn of strategy write is an inbox row; one of strategy read is
// found by entry number among the members of the waves. A result of a claim is a
// row; that an opening was filled or cancelled over an open turn follows from the
// opening's end. The conditions are those of waitlist.Telling.
var itemsSQL = itemsTo("$2")

// itemsTo is itemsSQL with the turns that open until another moment, as they are
// at $2: those still to open are open ones.
func itemsTo(until string) string {
	return `
	WITH told AS (
		SELECT i.fan_no, i.ref AS opening_no, i.eno, i.n, i.k, i.seats::int
		FROM inbox i WHERE i.fan_no = ANY($1) AND i.kind = 'turn'
		UNION ALL
		SELECT e.fan_no, m.opening_no, e.eno, m.n, m.ks[m.i], m.parties[m.i]::int
		FROM (SELECT fan_no, show_no, eno FROM entries WHERE fan_no = ANY($1) OFFSET 0) e
		CROSS JOIN LATERAL (
			SELECT m.*, array_position(m.enos, e.eno) AS i FROM wave_members m
			WHERE m.show_no = e.show_no AND m.chunk = ` + chunkOf("e.eno") + ` OFFSET 0) m
		JOIN openings o ON o.opening_no = m.opening_no AND o.strategy = 'read'
		WHERE m.i IS NOT NULL),
	turn AS (
		SELECT t.*, o.show_no, o.state AS ended_as, o.final_at, a.at AS acted_at,
			` + turnOpens("t.k") + ` AS opens, ` + turnCloses("t.k") + ` AS closes, w.window_s,
			a.state AS act, c.ended_at AS claim_ended_at,
			a.state = 'claimed' AND (c.state = 'confirmed' OR c.state = 'held' AND c.expires_at > $2) AS claimed
		FROM told t JOIN waves w USING (opening_no, n) JOIN openings o USING (opening_no)
		LEFT JOIN turns a ON a.opening_no = t.opening_no AND a.eno = t.eno
		LEFT JOIN claims c ON c.opening_no = t.opening_no AND c.eno = t.eno),
	shown AS (
		SELECT * FROM turn WHERE opens <= ` + until + ` AND opens < closes AND (final_at IS NULL OR opens < final_at)
			AND (acted_at IS NULL OR acted_at >= opens)),
	item AS (
		SELECT fan_no, opening_no, eno, show_no, 'turn' AS kind, seats, opens AS at, opens, closes, window_s,
			CASE WHEN claimed THEN 'claimed'
				WHEN act IS NOT NULL OR final_at <= $2 OR closes <= $2 THEN 'over' ELSE 'open' END AS state,
			greatest(acted_at, claim_ended_at, final_at) AS changed
		FROM shown
		UNION ALL
		SELECT fan_no, opening_no, eno, show_no, 'result', seats, date_trunc('milliseconds', final_at), NULL, NULL, 0,
			ended_as, final_at
		FROM shown WHERE act IS NULL AND final_at < closes AND final_at <= $2 AND ended_as IN ('filled', 'cancelled')
		UNION ALL
		SELECT fan_no, ref, eno, show_no, 'result', seats, visible_at, NULL, NULL, 0, state, visible_at
		FROM inbox WHERE fan_no = ANY($1) AND kind = 'result')
	SELECT i.fan_no, i.opening_no, i.eno, i.kind, i.seats, i.at, i.opens, i.closes, i.window_s, i.state, i.changed,
		o.opening_id, s.show_id, s.name, s.venue, s.time_zone, s.url, s.templates,
		coalesce(r.read_at, CASE WHEN i.at < f.read_before THEN f.read_before END) AS read_at
	FROM item i JOIN openings o USING (opening_no) JOIN shows s ON s.show_no = i.show_no JOIN fans f ON f.fan_no = i.fan_no
	LEFT JOIN inbox_reads r ON r.fan_no = i.fan_no AND r.kind = i.kind AND r.ref = i.opening_no`
}

func scanItem(row pgx.CollectableRow) (i item, err error) {
	err = i.scan(row)
	return i, err
}

// scan reads a row of itemsSQL, and what columns more there are.
func (i *item) scan(row pgx.CollectableRow, more ...any) error {
	var window int
	err := row.Scan(append([]any{
		&i.fan, &i.opening, &i.eno, &i.kind, &i.seats, &i.at, &i.opens, &i.closes, &window, &i.state, &i.changed,
		&i.openingID, &i.show.ID, &i.show.Name, &i.show.Venue, &i.show.TimeZone, &i.show.URL, &i.show.Templates, &i.readAt,
	}, more...)...)
	i.window = time.Duration(window) * time.Second
	return err
}

// item gives a row its id and texts.
func (i *item) item() notifier.Item {
	it := notifier.Item{
		ID: i.id(), Kind: i.kind, Lane: notifier.Turns, ShowID: i.show.ID, OpeningID: i.openingID,
		Seats: i.seats, State: i.state, CreatedAt: notifier.Stamp(i.at), ReadAt: notifier.StampOf(i.readAt),
	}
	text := i.text()
	vars := notifier.Vars{
		Show: i.show.Name, Venue: i.show.Venue, Seats: i.seats, Window: i.window,
		URL: strings.NewReplacer("{show}", i.show.ID, "{opening}", i.openingID).Replace(i.show.URL),
	}
	if zone, err := waitlist.LoadZone(i.show.TimeZone); err == nil {
		vars.Zone = zone
	}
	if i.kind == notifier.KindTurn {
		it.OpensAt, it.ClosesAt = notifier.StampOf(i.opens), notifier.StampOf(i.closes)
		vars.ClosesAt = *i.closes
	}
	text = text.Fill(vars)
	it.Title, it.Body = text.Title, text.Body
	return it
}

// text is the show's own text for the item, or the built-in one.
func (i *item) text() notifier.Text {
	name := string(i.kind)
	if i.kind == notifier.KindResult {
		name += "." + string(i.state)
	}
	for _, name := range []string{name, string(i.kind)} {
		if t, ok := i.show.Templates[name]["en"]; ok {
			return notifier.Text{Title: t.Title, Body: t.Body}
		}
	}
	return notifier.TextFor(name)
}

func (i *item) id() string {
	if i.kind == notifier.KindTurn {
		return notifier.TurnID(i.show.ID, i.openingID)
	}
	return notifier.ResultID(i.show.ID, i.openingID)
}

// Items returns a page of a fan's inbox, newest first.
func (s *Store) Items(ctx context.Context, fan string, q notifier.InboxQuery) (items []notifier.Item, unread int, err error) {
	no, err := s.FanNo(ctx, fan)
	if err != nil {
		return nil, 0, err
	}
	now, err := s.now(ctx)
	if err != nil {
		return nil, 0, err
	}
	rows, err := s.items(ctx, no, now, q)
	if err != nil {
		return nil, 0, err
	}
	items = make([]notifier.Item, len(rows))
	for i := range rows {
		items[i] = rows[i].item()
	}
	unread, err = unreadOf(ctx, s.pool, no, now)
	return items, unread, err
}

func (s *Store) items(ctx context.Context, fan int64, now time.Time, q notifier.InboxQuery) ([]item, error) {
	var at *time.Time
	var id string
	if q.After != nil {
		at, id = &q.After.At, q.After.ID
	}
	rows, err := s.pool.Query(ctx, `
		SELECT * FROM (`+itemsSQL+`) x
		WHERE (NOT $3 OR read_at IS NULL) AND ($4 = '' OR kind = $4)
			AND ($5::timestamptz IS NULL OR (at, `+itemID+`) < ($5, $6))
		ORDER BY at DESC, `+itemID+` DESC LIMIT $7`,
		[]int64{fan}, now, q.Unread, string(q.Kind), at, id, q.Limit)
	return all(rows, err, scanItem)
}

func unreadOf(ctx context.Context, q querier, fan int64, now time.Time) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM (`+itemsSQL+`) x WHERE read_at IS NULL`, []int64{fan}, now).Scan(&n)
	return n, err
}

// MarkRead marks items of the fan that exist as read.
func (s *Store) MarkRead(ctx context.Context, fan string, ids []string) (unread int, err error) {
	no, err := s.FanNo(ctx, fan)
	if err != nil {
		return 0, err
	}
	err = s.inTxOnce(ctx, "mark items read", func(tx pgx.Tx) (any, int64, error) {
		now, err := nowIn(ctx, tx)
		if err != nil {
			return nil, 0, err
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO inbox_reads (fan_no, kind, ref, read_at)
			SELECT fan_no, kind, opening_no, $2 FROM (`+itemsSQL+`) x
			WHERE `+itemID+` = ANY($3) AND read_at IS NULL
			ON CONFLICT DO NOTHING`, []int64{no}, now, ids); err != nil {
			return nil, 0, err
		}
		unread, err = unreadOf(ctx, tx, no, now)
		return unread, 0, err
	})
	return unread, err
}

// MarkAllRead marks what existed before t as read, but nothing that is still to
// come.
func (s *Store) MarkAllRead(ctx context.Context, fan string, t time.Time) (unread int, err error) {
	no, err := s.FanNo(ctx, fan)
	if err != nil {
		return 0, err
	}
	err = s.inTxOnce(ctx, "mark all items read", func(tx pgx.Tx) (any, int64, error) {
		if _, err := tx.Exec(ctx, `
			UPDATE fans SET read_before = greatest(read_before, least($2, clock_timestamp())) WHERE fan_no = $1`, no, t); err != nil {
			return nil, 0, err
		}
		now, err := nowIn(ctx, tx)
		if err != nil {
			return nil, 0, err
		}
		unread, err = unreadOf(ctx, tx, no, now)
		return unread, 0, err
	})
	return unread, err
}
