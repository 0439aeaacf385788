package web

import (
	"context"
	"encoding/json"
	"net/http"

	"fanline/waitlist"
)

// Announcer takes announcements. fanout.Announcer is one.
type Announcer interface {
	// Announce takes one for those who are in the show's line now, or returns the
	// one that stands when it is the same.
	Announce(ctx context.Context, show string, a waitlist.NewAnnouncement) (taken waitlist.Announcement, created bool, err error)
}

// Announcement is one that was taken.
type Announcement struct {
	ID       string            `json:"id" example:"doors-at-eight"`
	Strategy waitlist.Strategy `json:"strategy" enum:"write,read" doc:"How it reaches the fans: an inbox row each, or one row in all."`
}

// AnnouncementRequest is a message to everyone in a show's line.
type AnnouncementRequest struct {
	ID       *string        `json:"id,omitempty" nullable:"true" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" example:"doors-at-eight" doc:"The same again is the same announcement. Without one, one is made."`
	Title    string         `json:"title" minLength:"1" maxLength:"200"`
	Body     string         `json:"body" minLength:"1" maxLength:"4000" doc:"May have several lines."`
	Data     map[string]any `json:"data,omitempty" nullable:"true" doc:"For the fan app: at most 4 KiB."`
	Channels []string       `json:"channels,omitempty" nullable:"true" enum:"live,apns,fcm,webpush,sms,email,push" doc:"In place of what fans prefer; push is apns, fcm and webpush. An empty list: in the inbox alone."`
}

// announcement is an AnnouncementRequest as it is read.
type announcement struct {
	ID       *string         `json:"id"`
	Title    string          `json:"title"`
	Body     string          `json:"body"`
	Data     json.RawMessage `json:"data"`
	Channels []string        `json:"channels"`
}

func (a *announcement) announcement() (waitlist.NewAnnouncement, error) {
	n := waitlist.NewAnnouncement{Title: a.Title, Body: a.Body, Data: a.Data, Channels: a.Channels}
	if a.ID == nil {
		return n, nil
	}
	n.ID = *a.ID
	return n, waitlist.CheckID("id", n.ID) // an empty one is a mistake, and not the wish for another
}

func (s *Server) announcementCalls() {
	call(s, accepting(doc("Messages", "POST", "/v1/shows/{show}/announcements", "announce", "Tell everyone in a show's line", 400, 404, 409, 410, 413, 415)), s.announce)
}

type announce struct {
	ShowPath
	Sent[announcement, AnnouncementRequest]
}

func (s *Server) announce(ctx context.Context, in *announce) (*Answer[Announcement], error) {
	sent, err := in.Body.value.announcement()
	if err != nil {
		return nil, err
	}
	taken := func(a waitlist.Announcement) (*Answer[Announcement], error) {
		return answer(http.StatusAccepted, Announcement{ID: a.ID, Strategy: a.Strategy})
	}
	keeps(ctx, taken)
	a, created, err := s.cfg.Announcer.Announce(ctx, in.Show, sent)
	if err != nil {
		return nil, err
	}
	out, err := taken(a)
	if !created {
		out.Status = http.StatusOK
	}
	return out, err
}
