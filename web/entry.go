package web

import (
	"context"
	"fmt"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

// FanPath names a fan.
type FanPath struct {
	Fan string `path:"fan" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._:|@+-]*$" patternDescription:"1 to 64 of A-Z a-z 0-9 . _ - : | @ +, a letter or digit first" example:"ada@example.com"`
}

// Entry is one fan in one show's line.
type Entry struct {
	FanID     string         `json:"fan_id" example:"ada@example.com"`
	Entry     int64          `json:"entry" doc:"The entry number: given once, never changed."`
	Place     int64          `json:"place" doc:"The sort key; changed only by rejoining, a move or a restore."`
	Position  *int64         `json:"position" nullable:"true" doc:"The rank among those waiting and not dormant, from 1; null for the others. May be a second old."`
	PartySize int            `json:"party_size" minimum:"1" maximum:"20"`
	Tier      string         `json:"tier" doc:"Empty: any."`
	State     waitlist.State `json:"state" enum:"waiting,holding,bought,left,removed"`
	Dormant   bool           `json:"dormant" doc:"Missed too many turns; woken by anything that the fan does."`
	JoinedAt  notifier.Stamp `json:"joined_at"`
}

// JoinRequest asks for a place in line.
type JoinRequest struct {
	FanID     string     `json:"fan_id" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._:|@+-]*$" example:"ada@example.com"`
	PartySize *int       `json:"party_size,omitempty" nullable:"true" minimum:"1" maximum:"20" default:"1"`
	Tier      string     `json:"tier,omitempty" maxLength:"64" doc:"Empty: any."`
	JoinedAt  *time.Time `json:"joined_at,omitempty" nullable:"true" doc:"Kept for show; it orders nothing. By default now."`
}

func (j *JoinRequest) join() waitlist.Join {
	w := waitlist.Join{FanID: j.FanID, Party: 1, Tier: j.Tier}
	if j.PartySize != nil {
		w.Party = *j.PartySize
	}
	if j.JoinedAt != nil {
		w.JoinedAt = j.JoinedAt.UTC()
	}
	return w
}

// EntryPatch changes an entry.
type EntryPatch struct {
	PartySize *int    `json:"party_size,omitempty" nullable:"true" minimum:"1" maximum:"20"`
	Tier      *string `json:"tier,omitempty" nullable:"true" maxLength:"64"`
	Move      string  `json:"move,omitempty" enum:"front,restore" doc:"restore gives back the place before the last move or rejoin."`
	Reason    string  `json:"reason,omitempty" maxLength:"500" doc:"Required with move; shows in the trace."`
}

func (s *Server) entryCalls() {
	call(s, creating(doc("Line", "POST", "/v1/shows/{show}/entries", "join", "Put a fan in line, or get the entry that stands", 400, 404, 410, 413, 415)), s.join)
	call(s, doc("Line", "GET", "/v1/shows/{show}/entries", "list-entries", "The line in order", 404), s.listEntries)
	call(s, doc("Line", "GET", "/v1/shows/{show}/entries/{fan}", "get-entry", "An entry with its position", 404), s.getEntry)
	call(s, doc("Line", "PATCH", "/v1/shows/{show}/entries/{fan}", "change-entry", "Change party or tier, or move an entry", 400, 404, 409, 410, 413, 415), s.changeEntry)
	call(s, doc("Line", "DELETE", "/v1/shows/{show}/entries/{fan}", "leave", "Take a fan out of line: a live turn passes on, a hold is released", 404), s.leave)
}

type join struct {
	ShowPath
	Sent[JoinRequest, JoinRequest]
}

func (s *Server) join(ctx context.Context, in *join) (*Answer[Entry], error) {
	view := func(j waitlist.Joined) (*Answer[Entry], error) { return made(j.New, entryView(&j.Entry)) }
	keeps(ctx, view)
	e, created, err := s.cfg.Lines.Join(ctx, in.Show, in.Body.value.join())
	if err != nil {
		return nil, err
	}
	if waitlist.OnceOf(ctx) == nil { // else the answer is made already
		e = s.located(ctx, in.Show, e)
	}
	return view(waitlist.Joined{Entry: e, New: created})
}

// located is the entry with its position, which a join works out for new entries
// alone. It stands even when that cannot be had.
func (s *Server) located(ctx context.Context, show string, e waitlist.Entry) waitlist.Entry {
	if e.Position == 0 && e.Active() {
		if full, err := s.cfg.Lines.Entry(ctx, show, e.FanID); err == nil {
			e = full
		}
	}
	return e
}

type listEntries struct {
	ShowPath
	PageQuery
	State      waitlist.State  `query:"state" enum:"waiting,holding,bought,left,removed" doc:"Only entries in that state."`
	AfterPlace optional[int64] `query:"after_place" doc:"Only entries behind that place."`
}

func (s *Server) listEntries(ctx context.Context, in *listEntries) (*Answer[List[Entry]], error) {
	of := fmt.Sprintf("entries:%s:%s", in.Show, in.State)
	at, ok, err := parseCursor(in.Cursor, of)
	if err != nil {
		return nil, err
	}
	f := waitlist.EntryFilter{State: in.State, Limit: in.Limit + 1}
	switch {
	case ok: // further on than after_place, which clients repeat
		f.AfterPlace = &at.No
	case in.AfterPlace.set:
		f.AfterPlace = &in.AfterPlace.Value
	}
	entries, err := s.cfg.Lines.Entries(ctx, in.Show, f)
	if err != nil {
		return nil, err
	}
	return answer(200, page(entries, in.Limit, entryView, func(e *waitlist.Entry) cursor {
		return cursor{Of: of, No: e.Place}
	}))
}

type entryPath struct {
	ShowPath
	FanPath
}

func (s *Server) getEntry(ctx context.Context, in *entryPath) (*Answer[Entry], error) {
	e, err := s.cfg.Lines.Entry(ctx, in.Show, in.Fan)
	if err != nil {
		return nil, err
	}
	return answer(200, entryView(&e))
}

type changeEntry struct {
	ShowPath
	FanPath
	Sent[EntryPatch, EntryPatch]
}

func (s *Server) changeEntry(ctx context.Context, in *changeEntry) (*Answer[Entry], error) {
	p := in.Body.value
	e, err := s.cfg.Lines.ChangeEntry(ctx, in.Show, in.Fan, waitlist.EntryChange{
		Party: p.PartySize, Tier: p.Tier, Move: waitlist.Move(p.Move), Reason: p.Reason,
	})
	if err != nil {
		return nil, err
	}
	return answer(200, entryView(&e))
}

type leave struct {
	ShowPath
	FanPath
	Removed bool   `query:"removed" doc:"By staff, not by the fan."`
	Reason  string `query:"reason" maxLength:"500" doc:"Why staff removed the fan; shows in the trace."`
}

func (s *Server) leave(ctx context.Context, in *leave) (*Nothing, error) {
	if in.Removed {
		return nil, s.cfg.Lines.Remove(ctx, in.Show, in.Fan, in.Reason)
	}
	return nil, s.cfg.Lines.Leave(ctx, in.Show, in.Fan)
}

func entryView(e *waitlist.Entry) Entry {
	v := Entry{
		FanID: e.FanID, Entry: e.No, Place: e.Place, PartySize: e.Party, Tier: e.Tier, State: e.State,
		Dormant: e.Dormant, JoinedAt: notifier.Stamp(e.JoinedAt),
	}
	if e.Position > 0 {
		v.Position = &e.Position
	}
	return v
}
