package web

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"fanline/waitlist"
)

const cursorVersion = 1

// cursor is where a list goes on. Callers get it as one opaque word.
type cursor struct {
	V int `json:"v"`
	// Of names the list it belongs to, with what it is filtered by.
	Of string    `json:"of"`
	No int64     `json:"no,omitempty"`
	ID string    `json:"id,omitempty"`
	At time.Time `json:"at,omitzero"`
}

// String is the cursor as callers get it.
func (c cursor) String() string {
	c.V = cursorVersion
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // only for years that no row has
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor reads a cursor of the list of; "" is its beginning, and not ok.
func parseCursor(s, of string) (c cursor, ok bool, err error) {
	if s == "" {
		return cursor{}, false, nil
	}
	bad := waitlist.Wrong("cursor", "cursor is not one of this list; start again without it")
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return cursor{}, false, bad
	}
	if p := decode(b, &c, "cursor"); p != nil || c.Of != of || c.V != cursorVersion || c.odd() || c.String() != s {
		return cursor{}, false, bad
	}
	return c, true, nil
}

// odd is true for what this program never writes and a database may not take.
func (c cursor) odd() bool {
	year := c.At.Year()
	return year < 1 || year > 9999 || waitlist.CheckText("cursor", c.ID, false, 300) != nil
}

// PageQuery selects a page of a list.
type PageQuery struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many items at most."`
	Cursor string `query:"cursor" maxLength:"1000" doc:"The next_cursor of the page before; none starts at the beginning."`
}

// List is a page of a list.
type List[T any] struct {
	Items      []T     `json:"items" nullable:"false"`
	NextCursor *string `json:"next_cursor" doc:"Where the next page begins; null on the last one."`
}

// page makes a List of up to limit of the rows; one row more than that says that
// there is another page, which begins after the last row shown.
func page[R, T any](rows []R, limit int, view func(*R) T, after func(*R) cursor) List[T] {
	l := List[T]{Items: make([]T, 0, min(len(rows), limit))}
	for i := range rows[:min(len(rows), limit)] {
		l.Items = append(l.Items, view(&rows[i]))
	}
	if len(rows) > limit {
		next := after(&rows[limit-1]).String()
		l.NextCursor = &next
	}
	return l
}
