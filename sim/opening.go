package sim

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// Free reports freed seats: a quantity or labels.
type Free struct {
	Quantity int      `json:"quantity,omitempty"`
	Seats    []string `json:"seats,omitempty"`
	Tier     string   `json:"tier,omitempty"`
	Reason   string   `json:"reason"` // "card_declined", "hold_timeout", "returned" or "new_inventory"
	Adjacent bool     `json:"adjacent,omitempty"`
	Policy   *Policy  `json:"policy,omitempty"`
}

// Opening is one report of freed seats as it stands.
type Opening struct {
	ID         string    `json:"id"`
	ShowID     string    `json:"show_id"`
	Tier       string    `json:"tier"`
	Reason     string    `json:"reason"`
	State      string    `json:"state"` // "open", "filled", "exhausted" or "cancelled"
	Strategy   string    `json:"strategy"`
	Mode       string    `json:"mode"`
	Quantity   int       `json:"quantity"`
	Seats      []string  `json:"seats"`
	SeatsLeft  int       `json:"seats_left"`
	SeatsFree  int       `json:"seats_free"`
	SeatsHeld  int       `json:"seats_held"`
	Told       int       `json:"told"`
	Adjacent   bool      `json:"adjacent"`
	RecordedAt time.Time `json:"recorded_at"`
	FinalAt    time.Time `json:"final_at"`
	Waves      []Wave    `json:"waves"`

	Created bool `json:"-"` // the answer was 201
}

// Wave is one decision of an opening.
type Wave struct {
	Number    int            `json:"number"`
	Fans      int            `json:"fans"`
	FromPlace int64          `json:"from_place"`
	ToPlace   int64          `json:"to_place"`
	OpensAt   time.Time      `json:"opens_at"`
	ClosesAt  time.Time      `json:"closes_at"`
	Skipped   map[string]int `json:"skipped"`
}

// FreeOne is one opening of a batch.
type FreeOne struct {
	ID string `json:"id"`
	Free
}

// FreeResult is the answer to one opening of a batch: an HTTP status with the
// opening, or with code and detail.
type FreeResult struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Opening
}

// Verdict says whether it is a fan's turn, and why.
type Verdict struct {
	ShowID    string    `json:"show_id"`
	OpeningID string    `json:"opening_id"`
	FanID     string    `json:"fan_id"`
	State     string    `json:"state"`
	Reason    string    `json:"reason"`
	OpensAt   time.Time `json:"opens_at"`
	ClosesAt  time.Time `json:"closes_at"`
	Ahead     *int      `json:"ahead"`
	ClaimID   string    `json:"claim_id"`
}

func openingPath(show, opening string, rest ...string) string {
	return path(append([]string{"v1", "shows", show, "openings", opening}, rest...)...)
}

// Free records a freed seat. The same opening again answers with the present state.
func (a *App) Free(ctx context.Context, show, opening string, free Free) (Opening, error) {
	var out Opening
	status, err := a.c.call(ctx, http.MethodPut, openingPath(show, opening), free, &out)
	out.Created = status == http.StatusCreated
	return out, err
}

// FreeBatch records up to 1,000 openings; each has its own result, in this order.
func (a *App) FreeBatch(ctx context.Context, show string, openings []FreeOne) ([]FreeResult, error) {
	in := map[string]any{"openings": openings}
	var out struct {
		Results []FreeResult `json:"results"`
	}
	_, err := a.c.call(ctx, http.MethodPost, path("v1", "shows", show)+"/openings:batch", in, &out)
	return out.Results, err
}

// Opening reads one opening.
func (a *App) Opening(ctx context.Context, show, opening string) (Opening, error) {
	var out Opening
	_, err := a.c.call(ctx, http.MethodGet, openingPath(show, opening), nil, &out)
	return out, err
}

// Openings pages through a show's openings. It stops after its first error.
func (a *App) Openings(ctx context.Context, show string) iter.Seq2[Opening, error] {
	return pages[Opening](ctx, a.c, path("v1", "shows", show, "openings"), nil)
}

// Waves pages through all waves of an opening. It stops after its first error.
func (a *App) Waves(ctx context.Context, show, opening string) iter.Seq2[Wave, error] {
	return pages[Wave](ctx, a.c, openingPath(show, opening, "waves"), nil)
}

// CancelOpening ends an opening with a notice to those whose turn was open.
func (a *App) CancelOpening(ctx context.Context, show, opening string) error {
	_, err := a.c.call(ctx, http.MethodDelete, openingPath(show, opening), nil, nil)
	return err
}

// GiveTurn gives one fan the next turn of an open opening.
func (a *App) GiveTurn(ctx context.Context, show, opening, fan, reason string) error {
	in := map[string]string{"fan_id": fan, "reason": reason}
	_, err := a.c.once(ctx, openingPath(show, opening, "turns"), in, nil)
	return err
}

// Verdict reads the verdict on one fan and one opening.
func (a *App) Verdict(ctx context.Context, show, opening, fan string) (Verdict, error) {
	var out Verdict
	_, err := a.c.call(ctx, http.MethodGet, openingPath(show, opening, "turns", fan), nil, &out)
	return out, err
}
