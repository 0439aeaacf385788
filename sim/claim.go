package sim

import (
	"context"
	"net/http"
	"time"
)

// Claim is a fan using a turn.
type Claim struct {
	ID        string    `json:"id"`
	ShowID    string    `json:"show_id"`
	OpeningID string    `json:"opening_id"`
	FanID     string    `json:"fan_id"`
	Seats     int       `json:"seats"`
	Labels    []string  `json:"labels"`
	State     string    `json:"state"` // "held", "confirmed", "released" or "lapsed"
	ClaimedAt time.Time `json:"claimed_at"`
	ExpiresAt time.Time `json:"expires_at"`

	Created bool `json:"-"` // the answer was 201
}

// Claim takes the seat in a fan's name.
func (a *App) Claim(ctx context.Context, show, opening, fan string) (Claim, error) {
	var out Claim
	in := map[string]string{"fan_id": fan}
	status, err := a.c.call(ctx, http.MethodPost, openingPath(show, opening, "claims"), in, &out)
	out.Created = status == http.StatusCreated
	return out, err
}

// GetClaim reads a claim.
func (a *App) GetClaim(ctx context.Context, claim string) (Claim, error) {
	var out Claim
	_, err := a.c.call(ctx, http.MethodGet, path("v1", "claims", claim), nil, &out)
	return out, err
}

// Confirm says that the claim was paid.
func (a *App) Confirm(ctx context.Context, claim string) (Claim, error) {
	var out Claim
	_, err := a.c.call(ctx, http.MethodPost, path("v1", "claims", claim, "confirm"), nil, &out)
	return out, err
}

// Release gives the claimed seats back. The reason may be empty.
func (a *App) Release(ctx context.Context, claim, reason string) (Claim, error) {
	var out Claim
	in := map[string]string{}
	if reason != "" {
		in["reason"] = reason
	}
	_, err := a.c.call(ctx, http.MethodPost, path("v1", "claims", claim, "release"), in, &out)
	return out, err
}

// Extend prolongs a hold by whole seconds.
func (a *App) Extend(ctx context.Context, claim string, by time.Duration) (Claim, error) {
	var out Claim
	in := map[string]int{"by_s": int(by / time.Second)}
	_, err := a.c.once(ctx, path("v1", "claims", claim, "extend"), in, &out)
	return out, err
}
