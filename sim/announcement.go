package sim

import (
	"context"
	"net/http"
)

// Announce is a message to everyone in a show's line.
type Announce struct {
	ID       string         `json:"id,omitempty"` // empty: the server makes one
	Title    string         `json:"title"`
	Body     string         `json:"body"`
	Data     map[string]any `json:"data,omitempty"`
	Channels []string       `json:"channels,omitempty"`
}

// Announcement is one that was taken.
type Announcement struct {
	ID       string `json:"id"`
	Strategy string `json:"strategy"` // "write" or "read"

	Created bool `json:"-"` // the answer was 202
}

// Announce tells everyone who is in a show's line now. The same id again is the
// same announcement.
func (a *App) Announce(ctx context.Context, show string, in Announce) (Announcement, error) {
	var out Announcement
	status, err := a.c.once(ctx, path("v1", "shows", show, "announcements"), in, &out)
	out.Created = status == http.StatusAccepted
	return out, err
}
