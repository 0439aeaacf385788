package store

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// item is a row of a fan's inbox before it has its texts.
type item struct {
	id       string
	fan, eno int64
	kind     notifier.Kind
	// ref is the number of what it is about: an opening, or an announcement. With
	// fan and kind it is the item's key.
	ref           int64
	show          waitlist.Show
	openingID     string
	seats         int
	state         notifier.TurnState
	at            time.Time
	opens, closes *time.Time // of a turn
	window        time.Duration
	readAt        *time.Time
	// changed is when an act, the end of its claim or the opening's end last
	// changed a turn's state.
	changed *time.Time
	lane    notifier.Lane
	own     ownText
	locale  string // of the fan
}

// ownText is what an item says that brings its own words. Those of turns and
// results follow from kind, state and show.
type ownText struct {
	kind        string // the caller's word
	title, body string
	data        json.RawMessage
}

// The items of fans $1 (a list of numbers) as of the moment $2, whatever row they
// come from. A turn of strategy write is an inbox row; one of strategy read is
// found by entry number among the members of the waves. A result of a claim is a
// row; that an opening was filled or cancelled over an open turn follows from the
// opening's end. The conditions are those of waitlist.Telling. An announcement of
// strategy write is a row, and one of strategy read is found in the fan's shows. A
// message is a row; a transactional one goes with its time. All are gone after
// itemsKept, whether their rows are or not; a result that is worked out goes with its
// turn.
var itemsSQL = itemsTo("$2")

// itemsTo is itemsSQL with the turns that open until another moment, as they are
// at $2: those still to open are open ones.
func itemsTo(until string) string {
	return `
	WITH mine AS (
		SELECT fan_no, show_no, eno, state, joined_decision FROM entries WHERE fan_no = ANY($1)),
	told AS (
		SELECT i.fan_no, i.ref AS opening_no, i.eno, i.n, i.k, i.seats::int
		FROM inbox i WHERE i.fan_no = ANY($1) AND i.kind = 'turn'
		UNION ALL
		SELECT e.fan_no, m.opening_no, e.eno, m.n, m.ks[m.i], m.parties[m.i]::int
		FROM mine e
		CROSS JOIN LATERAL (
			SELECT m.*, array_position(m.enos, e.eno) AS i FROM wave_members m
			WHERE m.show_no = e.show_no AND m.chunk = ` + chunkOf("e.eno") + ` OFFSET 0) m
		JOIN openings o ON o.opening_no = m.opening_no AND o.strategy = 'read'
		WHERE m.i IS NOT NULL),
	turn AS (
		SELECT t.*, o.show_no, o.state AS ended_as, w.window_s, c.ended_at AS claim_ended_at, ` + turnFacts("t.k", "$2") + `
		FROM told t JOIN waves w USING (opening_no, n) JOIN openings o USING (opening_no)
		` + turnActs("t.opening_no", "t.eno") + `),
	shown AS (
		SELECT * FROM turn WHERE opens <= ` + until + ` AND opens > $2 - ` + itemsKept + ` AND ` + turnWas + `),
	item AS (
		SELECT fan_no, 'turn' AS kind, opening_no AS ref, eno, show_no, seats, opens AS at, opens, closes, window_s,
			` + turnState("$2") + ` AS state,
			greatest(acted_at, claim_ended_at, final_at) AS changed
		FROM shown
		UNION ALL
		SELECT fan_no, 'result', opening_no, eno, show_no, seats, date_trunc('milliseconds', final_at), NULL, NULL, 0,
			ended_as, final_at
		FROM shown WHERE ` + turnCut + ` AND final_at <= $2 AND ended_as IN ('filled', 'cancelled')
		UNION ALL
		SELECT fan_no, 'result', ref, eno, show_no, seats, visible_at, NULL, NULL, 0, state, visible_at
		FROM inbox WHERE fan_no = ANY($1) AND kind = 'result' AND visible_at > $2 - ` + itemsKept + `
		UNION ALL
		SELECT fan_no, 'announcement', ref, eno, show_no, 0, visible_at, NULL, NULL, 0, '', NULL
		FROM inbox WHERE fan_no = ANY($1) AND kind = 'announcement' AND visible_at > $2 - ` + itemsKept + `
		UNION ALL
		SELECT e.fan_no, 'announcement', a.announcement_no, e.eno, e.show_no, 0, a.at, NULL, NULL, 0, '', NULL
		FROM mine e
		CROSS JOIN LATERAL (
			SELECT announcement_no, decision, at FROM announcements
			WHERE show_no = e.show_no AND strategy = 'read' AND at > $2 - ` + itemsKept + ` AND at <= $2 OFFSET 0) a
		WHERE ` + inLineAt("a.decision") + `
		UNION ALL
		SELECT i.fan_no, 'message', i.ref, 0, 0, 0, i.visible_at, NULL, NULL, 0, '', NULL
		FROM inbox i JOIN messages m ON m.msg_no = i.ref
		WHERE i.fan_no = ANY($1) AND i.kind = 'message' AND i.visible_at > $2 - ` + itemsKept + `
			AND NOT m.erased AND (m.lane = 'bulk' OR m.expires_at > $2))
	SELECT i.fan_no, i.kind, i.ref, i.eno, i.seats, i.at, i.opens, i.closes, i.window_s, i.state, i.changed,
		CASE i.kind WHEN 'announcement' THEN 'ann:' || s.show_id || ':' || a.announcement_id WHEN 'message' THEN 'msg:' || m.id
			ELSE i.kind || ':' || s.show_id || ':' || o.opening_id END AS id,
		coalesce(o.opening_id, '') AS opening_id, coalesce(s.show_id, '') AS show_id,
		coalesce(s.name, '') AS name, coalesce(s.venue, '') AS venue, coalesce(s.time_zone, '') AS time_zone,
		coalesce(s.url, '') AS url, s.templates,
		CASE i.kind WHEN 'announcement' THEN 'bulk' WHEN 'message' THEN m.lane ELSE 'turns' END AS lane, coalesce(m.type, '') AS type,
		coalesce(a.title, m.title, '') AS title, coalesce(a.body, m.body, '') AS body, coalesce(a.data, m.data) AS data,
		f.locale, coalesce(r.read_at, CASE WHEN i.at < f.read_before THEN f.read_before END) AS read_at
	FROM item i JOIN fans f ON f.fan_no = i.fan_no
	LEFT JOIN shows s ON s.show_no = i.show_no
	LEFT JOIN openings o ON o.opening_no = i.ref AND i.kind IN ('turn', 'result')
	LEFT JOIN announcements a ON a.announcement_no = i.ref AND i.kind = 'announcement'
	LEFT JOIN messages m ON m.msg_no = i.ref AND i.kind = 'message'
	LEFT JOIN inbox_reads r ON r.fan_no = i.fan_no AND r.kind = i.kind AND r.ref = i.ref`
}

// inLineAt is the SQL of whether an entry e was in line as the decision saw it: as
// its log says, or else as it is. It is what waitlist.Entry.AsOf does.
func inLineAt(decision string) string {
	return `e.joined_decision < ` + decision + ` AND coalesce((
			SELECT l.state FROM entry_log l WHERE l.show_no = e.show_no AND l.eno = e.eno AND l.decision >= ` + decision + `
			ORDER BY l.id LIMIT 1), e.state) IN ('waiting', 'holding')`
}

func scanItem(row pgx.CollectableRow) (i item, err error) {
	err = i.scan(row)
	return i, err
}

// scan reads a row of itemsSQL, and what columns more there are.
func (i *item) scan(row pgx.CollectableRow, more ...any) error {
	var window int
	err := row.Scan(append([]any{
		&i.fan, &i.kind, &i.ref, &i.eno, &i.seats, &i.at, &i.opens, &i.closes, &window, &i.state, &i.changed,
		&i.id, &i.openingID, &i.show.ID, &i.show.Name, &i.show.Venue, &i.show.TimeZone, &i.show.URL, &i.show.Templates,
		&i.lane, &i.own.kind, &i.own.title, &i.own.body, &i.own.data, &i.locale, &i.readAt,
	}, more...)...)
	i.window = time.Duration(window) * time.Second
	return err
}

// item gives a row its texts.
func (i *item) item() notifier.Item {
	it := notifier.Item{
		ID: i.id, Kind: i.kind, Type: i.own.kind, Lane: i.lane, ShowID: i.show.ID, OpeningID: i.openingID, Data: i.own.data,
		Seats: i.seats, State: i.state, CreatedAt: notifier.Stamp(i.at), ReadAt: notifier.StampOf(i.readAt),
	}
	if i.kind == notifier.KindTurn {
		it.OpensAt, it.ClosesAt = notifier.StampOf(i.opens), notifier.StampOf(i.closes)
	}
	text := i.text()
	it.Title, it.Body = text.Title, text.Body
	return it
}

// text is the item's own, or else the show's or the built-in one, filled in.
func (i *item) text() notifier.Text {
	if i.kind != notifier.KindTurn && i.kind != notifier.KindResult {
		return notifier.Text{Title: i.own.title, Body: i.own.body}
	}
	vars := notifier.Vars{
		Show: i.show.Name, Venue: i.show.Venue, Seats: i.seats, Window: i.window, URL: i.url(), Zone: i.zone(),
	}
	if i.kind == notifier.KindTurn {
		vars.ClosesAt = *i.closes
	}
	return i.template().Fill(vars)
}

// template is the show's own text for the item, in the fan's language where there
// is one, or the built-in one.
func (i *item) template() notifier.Text {
	name := string(i.kind)
	if i.kind == notifier.KindResult {
		name += "." + string(i.state)
	}
	if t, ok := i.show.Templates.For(i.locale, name, string(i.kind)); ok {
		return notifier.Text{Title: t.Title, Body: t.Body}
	}
	return notifier.TextFor(name)
}

// url opens what the item is about, as the show says; "" where it does not.
func (i *item) url() string {
	return strings.NewReplacer("{show}", i.show.ID, "{opening}", i.openingID).Replace(i.show.URL)
}

// zone is the show's; nil where this machine does not know it.
func (i *item) zone() *time.Location {
	zone, err := waitlist.LoadZone(i.show.TimeZone)
	if err != nil {
		return nil
	}
	return zone
}
