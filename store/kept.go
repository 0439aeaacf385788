package store

// How long what is kept is kept (docs/operating.md). The tables of deliveries and
// events go by days, see partitionedTables.
const (
	// itemsKept is how long items are shown, and their rows kept.
	itemsKept = `interval '90 days'`
	// tracesKept is how long the line of a show that ended can be explained. It is
	// not shorter than itemsKept: an item's turn is worked out from the line.
	tracesKept = `interval '90 days'`
	// acksKept is that of the deliveries which they are about.
	acksKept = `interval '30 days'`
	// answersKept is how long an answer is repeated to who asks with its key again.
	answersKept = `interval '24 hours'`
)

// oldItems are rows of inboxes, read marks, and announcements with how far each had
// been sent. A mark is not older than its item, so that it goes at that time or later.
// Announcements are as old as their numbers say, about: an index on their age would
// mislead the server when it looks for those of a show.
var oldItems = removal{what: "remove old items", most: 5000, sql: []string{
	`
	DELETE FROM inbox WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM inbox WHERE visible_at <= (SELECT clock_timestamp() - ` + itemsKept + `)
		ORDER BY visible_at LIMIT $1 FOR UPDATE SKIP LOCKED))`, `
	DELETE FROM inbox_reads WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM inbox_reads WHERE read_at <= (SELECT clock_timestamp() - ` + itemsKept + `)
		ORDER BY read_at LIMIT $1 FOR UPDATE SKIP LOCKED))`, `
	WITH old AS (
		DELETE FROM announcements WHERE announcement_no = ANY(ARRAY(
			SELECT announcement_no FROM (SELECT announcement_no, at FROM announcements ORDER BY announcement_no LIMIT $1) a
			WHERE at <= (SELECT clock_timestamp() - ` + itemsKept + `)))
		RETURNING announcement_no)
	, unsent AS (DELETE FROM blasts b USING old o WHERE b.announcement_no = o.announcement_no)
	SELECT FROM old`,
}}
