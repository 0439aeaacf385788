package web

import (
	"context"
	"net/http"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

// ClaimPath names a claim.
type ClaimPath struct {
	Claim string `path:"claim" maxLength:"64" doc:"The id that the claim was answered with."`
}

// Claim is a fan using a turn.
type Claim struct {
	ID        string              `json:"id"`
	ShowID    string              `json:"show_id"`
	OpeningID string              `json:"opening_id"`
	FanID     string              `json:"fan_id"`
	Seats     int                 `json:"seats" doc:"The party's size: all of it or none."`
	Labels    []string            `json:"labels" nullable:"false" doc:"Of labelled seats; empty otherwise."`
	State     waitlist.ClaimState `json:"state" enum:"held,confirmed,released,lapsed"`
	ClaimedAt notifier.Stamp      `json:"claimed_at"`
	ExpiresAt notifier.Stamp      `json:"expires_at" doc:"Confirm before."`
}

// ClaimRequest uses a fan's turn.
type ClaimRequest struct {
	FanID string `json:"fan_id" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._:|@+-]*$"`
}

// ReleaseRequest gives a hold back.
type ReleaseRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"500"`
}

// ExtendRequest lets a hold last longer.
type ExtendRequest struct {
	ByS int `json:"by_s" minimum:"1" maximum:"86400"`
}

func (s *Server) claimCalls() {
	call(s, creating(doc("Claims", "POST", "/v1/shows/{show}/openings/{opening}/claims", "claim", "Hold the party's seats, all or none", 400, 404, 409, 410, 413, 415, 429)), s.claim)
	call(s, doc("Claims", "GET", "/v1/claims/{claim}", "get-claim", "A claim", 404), s.getClaim)
	call(s, doc("Claims", "POST", "/v1/claims/{claim}/confirm", "confirm-claim", "The seats are bought", 404, 409, 410), s.confirmClaim)
	call(s, doc("Claims", "POST", "/v1/claims/{claim}/release", "release-claim", "The seats go on to the next fan", 400, 404, 409, 410, 413, 415), s.releaseClaim)
	call(s, doc("Claims", "POST", "/v1/claims/{claim}/extend", "extend-claim", "Let the hold last longer, at most twice hold_s in all", 400, 404, 409, 410, 413, 415), s.extendClaim)
}

type claim struct {
	OpeningPath
	Sent[ClaimRequest, ClaimRequest]
}

func (s *Server) claim(ctx context.Context, in *claim) (*Answer[Claim], error) {
	return s.claimFor(ctx, in.ref(), in.Body.value.FanID)
}

func (s *Server) claimFor(ctx context.Context, ref waitlist.OpeningRef, fan string) (*Answer[Claim], error) {
	if err := s.admitClaim(ctx, ref.ShowID, fan); err != nil {
		return nil, err
	}
	view := func(c waitlist.Claimed) (*Answer[Claim], error) {
		if c.Err != nil {
			return nil, c.Err
		}
		return made(c.New, claimView(&c.Claim))
	}
	keeps(ctx, view)
	c, created, err := s.cfg.Lines.Claim(ctx, ref, fan)
	return view(waitlist.Claimed{Claim: c, New: created, Err: err})
}

// on calls do for a claim whose id is one that can exist.
func (p *ClaimPath) on(ctx context.Context, do func(id string) (waitlist.Claim, error)) (*Answer[Claim], error) {
	if waitlist.CheckFanID("claim", p.Claim) != nil {
		return nil, waitlist.Refuse(waitlist.NotFound, "there is no such claim")
	}
	view := func(c waitlist.Claim) (*Answer[Claim], error) { return answer(http.StatusOK, claimView(&c)) }
	keeps(ctx, view)
	c, err := do(p.Claim)
	if err != nil {
		return nil, err
	}
	return view(c)
}

func (s *Server) getClaim(ctx context.Context, in *ClaimPath) (*Answer[Claim], error) {
	return in.on(ctx, func(id string) (waitlist.Claim, error) { return s.cfg.Lines.ClaimByID(ctx, id) })
}

func (s *Server) confirmClaim(ctx context.Context, in *ClaimPath) (*Answer[Claim], error) {
	return in.on(ctx, func(id string) (waitlist.Claim, error) { return s.cfg.Lines.Confirm(ctx, id) })
}

type releaseClaim struct {
	ClaimPath
	MaybeSent[ReleaseRequest, ReleaseRequest]
}

func (s *Server) releaseClaim(ctx context.Context, in *releaseClaim) (*Answer[Claim], error) {
	return in.on(ctx, func(id string) (waitlist.Claim, error) {
		return s.cfg.Lines.Release(ctx, id, in.Body.value.Reason)
	})
}

type extendClaim struct {
	ClaimPath
	Sent[ExtendRequest, ExtendRequest]
}

func (s *Server) extendClaim(ctx context.Context, in *extendClaim) (*Answer[Claim], error) {
	by := in.Body.value.ByS
	return in.on(ctx, func(id string) (waitlist.Claim, error) {
		return s.cfg.Lines.Extend(ctx, id, time.Duration(min(max(by, 0), 1<<30))*time.Second)
	})
}

func claimView(c *waitlist.Claim) Claim {
	v := Claim{
		ID: c.ID, ShowID: c.ShowID, OpeningID: c.OpeningID, FanID: c.FanID, Seats: c.Seats, Labels: c.Labels, State: c.State,
		ClaimedAt: notifier.Stamp(c.ClaimedAt), ExpiresAt: notifier.Stamp(c.ExpiresAt),
	}
	if v.Labels == nil {
		v.Labels = []string{}
	}
	return v
}
