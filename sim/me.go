package sim

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Me is a fan's REST calls, without a socket.
type Me struct {
	c *client
}

// NewMe calls the instances at baseURLs in turn, with a fan's token.
func NewMe(baseURLs []string, token string, opts ...Option) *Me {
	return &Me{c: newClient(baseURLs, token, opts)}
}

// InboxFilter narrows an inbox; its zero value is all of it.
type InboxFilter struct {
	Unread bool
	Kind   string
}

func (f InboxFilter) query() url.Values {
	q := url.Values{}
	if f.Unread {
		q.Set("unread", "true")
	}
	if f.Kind != "" {
		q.Set("kind", f.Kind)
	}
	return q
}

// Close drops the idle connections.
func (m *Me) Close() { m.c.close() }

// Call makes any other call of the fan API, as App.Call does.
func (m *Me) Call(ctx context.Context, method, path string, in, out any) (int, error) {
	return m.c.call(ctx, method, path, in, out)
}

// Inbox pages through the fan's items, newest first. It stops after its first error.
func (m *Me) Inbox(ctx context.Context, filter InboxFilter) iter.Seq2[Item, error] {
	return pages[Item](ctx, m.c, "/v1/me/inbox", filter.query())
}

// Unread is the number of unread items.
func (m *Me) Unread(ctx context.Context) (int, error) {
	var out unread
	_, err := m.c.call(ctx, http.MethodGet, "/v1/me/inbox?limit=1", nil, &out)
	return out.Unread, err
}

type unread struct {
	Unread int `json:"unread"`
}

// MarkRead marks items as read and returns the number left unread.
func (m *Me) MarkRead(ctx context.Context, ids ...string) (int, error) {
	var out unread
	in := map[string][]string{"ids": ids}
	_, err := m.c.call(ctx, http.MethodPost, "/v1/me/inbox/read", in, &out)
	return out.Unread, err
}

// MarkAllRead marks what is older than before as read.
func (m *Me) MarkAllRead(ctx context.Context, before time.Time) (int, error) {
	var out unread
	in := map[string]time.Time{"all_before": before}
	_, err := m.c.call(ctx, http.MethodPost, "/v1/me/inbox/read", in, &out)
	return out.Unread, err
}

func turnPath(show, opening string, rest ...string) string {
	return path(append([]string{"v1", "me", "turns", show, opening}, rest...)...)
}

// Verdict is the fan's own verdict.
func (m *Me) Verdict(ctx context.Context, show, opening string) (Verdict, error) {
	var out Verdict
	_, err := m.c.call(ctx, http.MethodGet, turnPath(show, opening), nil, &out)
	return out, err
}

// Claim takes the seat.
func (m *Me) Claim(ctx context.Context, show, opening string) (Claim, error) {
	var out Claim
	status, err := m.c.call(ctx, http.MethodPost, turnPath(show, opening, "claim"), nil, &out)
	out.Created = status == http.StatusCreated
	return out, err
}

// Decline passes the seat on.
func (m *Me) Decline(ctx context.Context, show, opening string) error {
	_, err := m.c.call(ctx, http.MethodPost, turnPath(show, opening, "decline"), nil, nil)
	return err
}

// Entries are the fan's own places in line, whether the server pages them or not.
func (m *Me) Entries(ctx context.Context) ([]Entry, error) {
	var all []Entry
	for e, err := range pages[Entry](ctx, m.c, "/v1/me/entries", nil) {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}

// Leave takes the fan out of a show's line.
func (m *Me) Leave(ctx context.Context, show string) error {
	_, err := m.c.call(ctx, http.MethodDelete, path("v1", "me", "entries", show), nil, nil)
	return err
}

// Preferences reads the fan's preferences as JSON; SetPreferences writes them.
func (m *Me) Preferences(ctx context.Context) (json.RawMessage, error) {
	var out json.RawMessage
	_, err := m.c.call(ctx, http.MethodGet, "/v1/me/preferences", nil, &out)
	return out, err
}

// SetPreferences puts anything that marshals to the fields to change.
func (m *Me) SetPreferences(ctx context.Context, prefs any) error {
	_, err := m.c.call(ctx, http.MethodPut, "/v1/me/preferences", prefs, nil)
	return err
}
