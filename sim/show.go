package sim

import (
	"context"
	"net/http"
	"time"
)

// Policy holds what is to be set, or what is in force. In a request nil leaves a
// field as it is.
type Policy struct {
	Mode         *string     `json:"mode,omitempty"` // "turns" or "everyone"
	FansPerSeat  *float64    `json:"fans_per_seat,omitempty"`
	ClaimWindowS *int        `json:"claim_window_s,omitempty"`
	HoldS        *int        `json:"hold_s,omitempty"`
	ReleasePerS  *float64    `json:"release_per_s,omitempty"`
	MaxMissed    *int        `json:"max_missed,omitempty"`
	Strategy     *string     `json:"strategy,omitempty"` // "auto", "write" or "read"
	QuietHours   *QuietHours `json:"quiet_hours,omitempty"`
}

// QuietHours are times of day such as "22:00"; equal ends are never quiet.
type QuietHours struct {
	From     string `json:"from"`
	To       string `json:"to"`
	TimeZone string `json:"time_zone,omitempty"`
}

// Template is the text of one kind of message in one language.
type Template struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// PutShow is what can be set of a show; a zero field is left out.
type PutShow struct {
	Name         string    `json:"name,omitempty"`
	Venue        string    `json:"venue,omitempty"`
	StartsAt     time.Time `json:"starts_at,omitzero"`
	SalesCloseAt time.Time `json:"sales_close_at,omitzero"`
	TimeZone     string    `json:"time_zone,omitempty"`
	URL          string    `json:"url,omitempty"`
	Paused       *bool     `json:"paused,omitempty"`
	Policy       *Policy   `json:"policy,omitempty"`
	// Templates are texts by kind and locale.
	Templates map[string]map[string]Template `json:"templates,omitempty"`
}

// Show is a show as it stands.
type Show struct {
	ID            string    `json:"id"`
	Name          string    `json:"name"`
	Venue         string    `json:"venue"`
	StartsAt      time.Time `json:"starts_at"`
	SalesCloseAt  time.Time `json:"sales_close_at"`
	TimeZone      string    `json:"time_zone"`
	URL           string    `json:"url"`
	Paused        bool      `json:"paused"`
	PausedByStaff bool      `json:"paused_by_staff"`
	Cancelled     bool      `json:"cancelled"`
	Policy        Policy    `json:"policy"`
	Waiting       int       `json:"waiting"`
	Strategy      string    `json:"strategy"`
	OpeningsOpen  int       `json:"openings_open"`

	Created bool `json:"-"` // the answer was 201
}

// PutShow creates or changes a show.
func (a *App) PutShow(ctx context.Context, show string, put PutShow) (Show, error) {
	var out Show
	status, err := a.c.call(ctx, http.MethodPut, path("v1", "shows", show), put, &out)
	out.Created = status == http.StatusCreated
	return out, err
}

// GetShow reads a show.
func (a *App) GetShow(ctx context.Context, show string) (Show, error) {
	var out Show
	_, err := a.c.call(ctx, http.MethodGet, path("v1", "shows", show), nil, &out)
	return out, err
}

// DeleteShow cancels a show for good.
func (a *App) DeleteShow(ctx context.Context, show string) error {
	_, err := a.c.call(ctx, http.MethodDelete, path("v1", "shows", show), nil, nil)
	return err
}
