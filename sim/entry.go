package sim

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Join puts a fan in line; it is also a line of an import.
type Join struct {
	FanID     string    `json:"fan_id"`
	PartySize int       `json:"party_size,omitempty"` // 0 is one
	Tier      string    `json:"tier,omitempty"`
	JoinedAt  time.Time `json:"joined_at,omitzero"`
}

// Entry is one fan in one show's line. ShowID is given in a fan's own entries.
type Entry struct {
	ShowID    string    `json:"show_id"`
	FanID     string    `json:"fan_id"`
	Entry     int64     `json:"entry"`
	Place     int64     `json:"place"`
	Position  int       `json:"position"`
	PartySize int       `json:"party_size"`
	Tier      string    `json:"tier"`
	State     string    `json:"state"`
	Dormant   bool      `json:"dormant"`
	JoinedAt  time.Time `json:"joined_at"`

	Created bool `json:"-"` // the answer was 201
}

// EntryFilter narrows Entries; its zero value is the whole line.
type EntryFilter struct {
	State      string
	AfterPlace int64
	Limit      int // rows a page; 0 is 500
}

// EntryPatch changes an entry; a zero field is left as it is.
type EntryPatch struct {
	PartySize int     `json:"party_size,omitempty"`
	Tier      *string `json:"tier,omitempty"`
	Move      string  `json:"move,omitempty"` // "front" or "restore", with a Reason
	Reason    string  `json:"reason,omitempty"`
}

func entryPath(show string, rest ...string) string {
	return path(append([]string{"v1", "shows", show, "entries"}, rest...)...)
}

// Join puts a fan at the tail, or returns the entry that stands.
func (a *App) Join(ctx context.Context, show string, join Join) (Entry, error) {
	var out Entry
	status, err := a.c.call(ctx, http.MethodPost, entryPath(show), join, &out)
	out.Created = status == http.StatusCreated
	return out, err
}

// Entry reads one fan's entry.
func (a *App) Entry(ctx context.Context, show, fan string) (Entry, error) {
	var out Entry
	_, err := a.c.call(ctx, http.MethodGet, entryPath(show, fan), nil, &out)
	return out, err
}

// Entries pages through the line in order. It stops after its first error.
func (a *App) Entries(ctx context.Context, show string, filter EntryFilter) iter.Seq2[Entry, error] {
	q := url.Values{}
	if filter.State != "" {
		q.Set("state", filter.State)
	}
	if filter.AfterPlace != 0 {
		q.Set("after_place", strconv.FormatInt(filter.AfterPlace, 10))
	}
	if filter.Limit != 0 {
		q.Set("limit", strconv.Itoa(filter.Limit))
	}
	return pages[Entry](ctx, a.c, entryPath(show), q)
}

// Patch changes or moves an entry.
func (a *App) Patch(ctx context.Context, show, fan string, patch EntryPatch) (Entry, error) {
	var out Entry
	_, err := a.c.call(ctx, http.MethodPatch, entryPath(show, fan), patch, &out)
	return out, err
}

// Leave takes a fan out of line, as the fan's own wish.
func (a *App) Leave(ctx context.Context, show, fan string) error {
	_, err := a.c.call(ctx, http.MethodDelete, entryPath(show, fan), nil, nil)
	return err
}

// Remove takes a fan out of line, as an act of staff.
func (a *App) Remove(ctx context.Context, show, fan, reason string) error {
	q := url.Values{"removed": {"true"}, "reason": {reason}}
	_, err := a.c.call(ctx, http.MethodDelete, entryPath(show, fan)+"?"+q.Encode(), nil, nil)
	return err
}
