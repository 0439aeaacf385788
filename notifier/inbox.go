package notifier

import (
	"context"
	"time"
)

// InboxQuery selects a page of a fan's inbox, newest first.
type InboxQuery struct {
	Unread bool
	Kind   Kind // "": all
	// After continues behind the last item of the page before; nil starts at
	// the newest.
	After *InboxKey
	Limit int
}

// InboxKey is where an item stands in the inbox: newest first, then by id. It
// does not change, so that a page never skips or repeats an item.
type InboxKey struct {
	At time.Time
	ID string
}

// Inbox is what fans can pick up. Every item exists from its moment on and no
// earlier. A fan is known from the first call that names it.
type Inbox interface {
	// Items returns a page and the number of unread items in all.
	Items(ctx context.Context, fan string, q InboxQuery) (items []Item, unread int, err error)
	// MarkRead marks items read and returns how many are unread. Unknown ids are
	// left alone.
	MarkRead(ctx context.Context, fan string, ids []string) (unread int, err error)
	// Opened notes that the fan opened items from an alert: they are told of those no
	// more. Unknown ids are left alone.
	Opened(ctx context.Context, fan string, ids []string) error
	// MarkAllRead marks what existed before t read.
	MarkAllRead(ctx context.Context, fan string, t time.Time) (unread int, err error)
}
