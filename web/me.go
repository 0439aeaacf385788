package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"fanline/waitlist"
)

// OwnEntry is a fan's place in a show's line.
type OwnEntry struct {
	ShowID string `json:"show_id"`
	Entry
}

func (s *Server) meCalls() {
	call(s, doc("Fan", "GET", "/v1/me/entries", "list-own-entries", "Own places in line"), s.listOwnEntries)
	call(s, doc("Fan", "DELETE", "/v1/me/entries/{show}", "leave-own", "Leave a line", 404), s.leaveOwn)
	call(s, doc("Fan", "GET", "/v1/me/turns/{show}/{opening}", "get-own-verdict", "Own verdict", 404), s.getOwnVerdict)
	call(s, creating(doc("Fan", "POST", "/v1/me/turns/{show}/{opening}/claim", "claim-own", "Use the own turn", 404, 409, 410, 429)), s.claimOwn)
	call(s, doc("Fan", "POST", "/v1/me/turns/{show}/{opening}/decline", "decline-own", "Decline the own turn: the seat passes on at once", 404, 409, 410), s.declineOwn)
}

type listOwn struct{ PageQuery }

func (s *Server) listOwnEntries(ctx context.Context, in *listOwn) (*Answer[List[OwnEntry]], error) {
	const of = "own-entries"
	at, ok, err := parseCursor(in.Cursor, of)
	if err != nil {
		return nil, err
	}
	entries, err := s.cfg.Lines.FanEntries(ctx, fanOf(ctx))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b waitlist.FanEntry) int { return cmp.Compare(a.ShowID, b.ShowID) })
	if ok {
		entries = slices.DeleteFunc(entries, func(e waitlist.FanEntry) bool { return strings.Compare(e.ShowID, at.ID) <= 0 })
	}
	return answer(http.StatusOK, page(entries, in.Limit, func(e *waitlist.FanEntry) OwnEntry {
		return OwnEntry{e.ShowID, entryView(&e.Entry)}
	}, func(e *waitlist.FanEntry) cursor { return cursor{Of: of, ID: e.ShowID} }))
}

func (s *Server) leaveOwn(ctx context.Context, in *ShowPath) (*Nothing, error) {
	return nil, s.cfg.Lines.Leave(ctx, in.Show, fanOf(ctx))
}

func (s *Server) getOwnVerdict(ctx context.Context, in *OpeningPath) (*Answer[Verdict], error) {
	return s.verdict(ctx, in.ref(), fanOf(ctx))
}

func (s *Server) claimOwn(ctx context.Context, in *OpeningPath) (*Answer[Claim], error) {
	return s.claimFor(ctx, in.ref(), fanOf(ctx))
}

func (s *Server) declineOwn(ctx context.Context, in *OpeningPath) (*Nothing, error) {
	keepsNothing(ctx)
	return nil, s.cfg.Lines.Decline(ctx, in.ref(), fanOf(ctx))
}
