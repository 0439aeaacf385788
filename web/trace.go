package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"fanline/notifier"
	"fanline/waitlist"
)

// Trace is a page of a fan's trace.
type Trace struct {
	List[TraceItem]
	Entry *Entry        `json:"entry" doc:"The fan's entry; null where they never were in this line."`
	Log   []EntryChange `json:"log" nullable:"false" doc:"What happened to the entry, newest first, on every page."`
}

// TransformSchema says that entry may be null, which tags cannot.
func (Trace) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema { return orNull(s, "entry") }

// TraceItem is an opening's verdict.
type TraceItem struct {
	Verdict
	RecordedAt notifier.Stamp `json:"recorded_at" doc:"When the opening was recorded."`
}

// EntryChange is a change of an entry.
type EntryChange struct {
	At        notifier.Stamp `json:"at"`
	What      string         `json:"what" enum:"rejoined,moved,restored,given,changed,claimed,released,hold_lapsed,bought,left,removed,dormant,woke" doc:"moved: to the front; given: the next turn of an opening."`
	Reason    string         `json:"reason,omitempty" example:"stood in the wrong line" doc:"What staff wrote."`
	OpeningID string         `json:"opening_id,omitempty" example:"freed-7" doc:"With given."`
	FromPlace int64          `json:"from_place" example:"7"`
	ToPlace   int64          `json:"to_place" example:"-3"`
	PartySize int            `json:"party_size" minimum:"1" maximum:"20" example:"2" doc:"From then on, as are tier, state and dormant."`
	Tier      string         `json:"tier" example:"floor"`
	State     waitlist.State `json:"state" enum:"waiting,holding,bought,left,removed"`
	Dormant   bool           `json:"dormant"`
}

func (s *Server) traceCalls() {
	call(s, doc("Openings", "GET", "/v1/shows/{show}/trace/{fan}", "get-trace", "Why a fan was or was not told of each opening, newest first", 404), s.getTrace)
}

type tracePath struct {
	ShowPath
	FanPath
	PageQuery
}

func (s *Server) getTrace(ctx context.Context, in *tracePath) (*Answer[Trace], error) {
	of := fmt.Sprintf("trace:%s:%s", in.Show, in.Fan)
	at, _, err := parseCursor(in.Cursor, of)
	if err != nil {
		return nil, err
	}
	t, err := s.cfg.Lines.Trace(ctx, in.Show, in.Fan, at.No, in.Limit+1)
	if err != nil {
		return nil, err
	}
	v := Trace{
		List: page(t.Items, in.Limit, func(i *waitlist.Traced) TraceItem {
			return TraceItem{verdictView(&i.Verdict), notifier.Stamp(i.RecordedAt)}
		}, func(i *waitlist.Traced) cursor { return cursor{Of: of, No: i.OpeningNo} }),
		Log: make([]EntryChange, len(t.Log)),
	}
	if t.Entry != nil {
		e := entryView(t.Entry)
		v.Entry = &e
	}
	for i := range t.Log {
		v.Log[i] = changeView(&t.Log[i])
	}
	return answer(http.StatusOK, v)
}

func changeView(c *waitlist.LoggedChange) EntryChange {
	return EntryChange{
		At: notifier.Stamp(c.At), What: strings.ReplaceAll(c.What, " ", "_"), Reason: c.Reason, OpeningID: c.OpeningID,
		FromPlace: c.Before.Place, ToPlace: c.After.Place, PartySize: c.After.Party, Tier: c.After.Tier,
		State: c.After.State, Dormant: c.After.Dormant,
	}
}
