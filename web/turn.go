package web

import (
	"context"
	"net/http"

	"fanline/notifier"
	"fanline/waitlist"
)

// Verdict says where a fan stands with an opening, and why.
type Verdict struct {
	ShowID    string                `json:"show_id"`
	OpeningID string                `json:"opening_id"`
	FanID     string                `json:"fan_id"`
	State     waitlist.VerdictState `json:"state" enum:"waiting,upcoming,open,claimed,over,none"`
	Reason    waitlist.Reason       `json:"reason" enum:"not_on_list,left,behind,tier_mismatch,party_too_big,busy,dormant,quiet_hours,paused,turn_upcoming,turn_open,turn_lapsed,turn_declined,claimed,confirmed,hold_released,hold_lapsed,filled,exhausted,cancelled,sales_closed,removed,unreachable"`
	OpensAt   *notifier.Stamp       `json:"opens_at,omitempty"`
	ClosesAt  *notifier.Stamp       `json:"closes_at,omitempty"`
	Ahead     *int64                `json:"ahead,omitempty" doc:"With behind: position less one."`
	ClaimID   string                `json:"claim_id,omitempty"`
}

// TurnRequest gives an entry the next turn.
type TurnRequest struct {
	FanID  string `json:"fan_id" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._:|@+-]*$"`
	Reason string `json:"reason" minLength:"1" maxLength:"500" doc:"Shows in the trace."`
}

func (s *Server) turnCalls() {
	call(s, doc("Openings", "POST", "/v1/shows/{show}/openings/{opening}/turns", "give-turn", "Staff give one entry the next turn", 400, 404, 409, 410, 413, 415), s.giveTurn)
	call(s, doc("Openings", "GET", "/v1/shows/{show}/openings/{opening}/turns/{fan}", "get-verdict", "Where a fan stands with an opening, and why", 404), s.getVerdict)
}

type giveTurn struct {
	OpeningPath
	Sent[TurnRequest, TurnRequest]
}

func (s *Server) giveTurn(ctx context.Context, in *giveTurn) (*Nothing, error) {
	r := in.Body.value
	if err := waitlist.CheckFanID("fan_id", r.FanID); err != nil {
		return nil, err
	}
	keepsNothing(ctx)
	return nil, s.cfg.Lines.GiveTurn(ctx, in.ref(), r.FanID, r.Reason)
}

type verdictPath struct {
	OpeningPath
	FanPath
}

func (s *Server) getVerdict(ctx context.Context, in *verdictPath) (*Answer[Verdict], error) {
	return s.verdict(ctx, in.ref(), in.Fan)
}

func (s *Server) verdict(ctx context.Context, ref waitlist.OpeningRef, fan string) (*Answer[Verdict], error) {
	v, err := s.cfg.Lines.Verdict(ctx, ref, fan)
	if err != nil {
		return nil, err
	}
	return answer(http.StatusOK, verdictView(&v))
}

func verdictView(v *waitlist.Verdict) Verdict {
	return Verdict{
		ShowID: v.ShowID, OpeningID: v.OpeningID, FanID: v.FanID, State: v.State, Reason: v.Reason,
		OpensAt: notifier.StampOf(v.OpensAt), ClosesAt: notifier.StampOf(v.ClosesAt), Ahead: v.Ahead, ClaimID: v.ClaimID,
	}
}
