package web

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

// maxItemID is the length of the longest id of an item.
const maxItemID = 200

// InboxPage is a page of a fan's inbox.
type InboxPage struct {
	List[notifier.Item]
	Unread int `json:"unread" doc:"How many items are unread, in all."`
}

// ReadRequest marks items read: those named, or all that existed before a time.
type ReadRequest struct {
	IDs       []string   `json:"ids,omitempty" maxItems:"500" nullable:"true" example:"turn:tuesday-42:freed-7"`
	AllBefore *time.Time `json:"all_before,omitempty" nullable:"true" doc:"Instead of ids."`
}

// Unread is how many items are unread.
type Unread struct {
	Unread int `json:"unread"`
}

func (s *Server) inboxCalls() {
	call(s, doc("Fan", "GET", "/v1/me/inbox", "get-inbox", "The inbox, newest first"), s.getInbox)
	call(s, doc("Fan", "POST", "/v1/me/inbox/opened", "opened-inbox", "Items were opened from an alert: the fan has seen them", 400, 413, 415), s.openedInbox)
	call(s, doc("Fan", "POST", "/v1/me/inbox/read", "read-inbox", "Mark items read", 400, 413, 415), s.readInbox)
}

type getInbox struct {
	PageQuery
	Unread bool          `query:"unread" doc:"Only unread items."`
	Kind   notifier.Kind `query:"kind" enum:"turn,result,announcement,message" doc:"Only items of that kind."`
}

// getInbox is an act of the fan: reading the inbox wakes who is dormant.
func (s *Server) getInbox(ctx context.Context, in *getInbox) (*Answer[InboxPage], error) {
	of := fmt.Sprintf("inbox:%t:%s", in.Unread, in.Kind)
	at, ok, err := parseCursor(in.Cursor, of)
	if err != nil {
		return nil, err
	}
	q := notifier.InboxQuery{Unread: in.Unread, Kind: in.Kind, Limit: in.Limit + 1}
	if ok {
		q.After = &notifier.InboxKey{At: at.At, ID: at.ID}
	}
	items, unread, err := s.cfg.Inbox.Items(ctx, fanOf(ctx), q)
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Lines.Wake(ctx, fanOf(ctx)); err != nil {
		return nil, err
	}
	return answer(http.StatusOK, InboxPage{
		List: page(items, in.Limit, func(i *notifier.Item) notifier.Item { return *i }, func(i *notifier.Item) cursor {
			return cursor{Of: of, At: time.Time(i.CreatedAt).UTC(), ID: i.ID}
		}),
		Unread: unread,
	})
}

type readInbox struct {
	Sent[ReadRequest, ReadRequest]
}

func (s *Server) readInbox(ctx context.Context, in *readInbox) (*Answer[Unread], error) {
	r := in.Body.value
	if err := r.check(); err != nil {
		return nil, err
	}
	// It is an act of the fan. First, so that the answer is kept with the last effect.
	if err := s.cfg.Lines.Wake(ctx, fanOf(ctx)); err != nil {
		return nil, err
	}
	view := func(unread int) (*Answer[Unread], error) { return answer(http.StatusOK, Unread{unread}) }
	keeps(ctx, view)
	var unread int
	var err error
	if r.AllBefore != nil {
		unread, err = s.cfg.Inbox.MarkAllRead(ctx, fanOf(ctx), r.AllBefore.UTC())
	} else {
		unread, err = s.cfg.Inbox.MarkRead(ctx, fanOf(ctx), r.IDs)
	}
	if err != nil {
		return nil, err
	}
	return view(unread)
}

func (r *ReadRequest) check() error {
	switch {
	case r.IDs == nil && r.AllBefore == nil:
		return waitlist.Wrong("ids", "send ids or all_before")
	case r.IDs != nil && r.AllBefore != nil:
		return waitlist.Wrong("all_before", "send ids or all_before, not both")
	case r.AllBefore != nil && r.AllBefore.Year() > 9999:
		return waitlist.Wrong("all_before", "all_before must be an RFC 3339 time")
	}
	return checkIDs(r.IDs)
}

// OpenedRequest names items that were opened from an alert.
type OpenedRequest struct {
	IDs []string `json:"ids" maxItems:"500" nullable:"false" example:"turn:tuesday-42:freed-7"`
}

type openedInbox struct {
	Sent[OpenedRequest, OpenedRequest]
}

// openedInbox is an act of the fan, as reading the inbox is.
func (s *Server) openedInbox(ctx context.Context, in *openedInbox) (*Nothing, error) {
	ids := in.Body.value.IDs
	if ids == nil {
		return nil, waitlist.Wrong("ids", "send ids, a list of items' ids")
	}
	if err := checkIDs(ids); err != nil {
		return nil, err
	}
	if err := s.cfg.Lines.Wake(ctx, fanOf(ctx)); err != nil {
		return nil, err
	}
	return nil, s.cfg.Inbox.Opened(ctx, fanOf(ctx), ids)
}

func checkIDs(ids []string) error {
	if len(ids) > waitlist.MaxPerPage {
		return waitlist.Wrong("ids", "ids has %d items; at most %d are allowed", len(ids), waitlist.MaxPerPage)
	}
	for i, id := range ids {
		if err := waitlist.CheckText(fmt.Sprintf("ids[%d]", i), id, true, maxItemID); err != nil {
			return err
		}
	}
	return nil
}
