package store

import (
	"context"
	"fmt"
	"time"

	"fanline/delivery/live"
	"fanline/notifier"
)

// Backlog returns a fan's newest unread items, oldest first, then the turns to
// watch: those still to open, and open ones that were read.
func (f *Feed) Backlog(ctx context.Context, fan int64, limit int) ([]live.Notice, error) {
	now, err := f.s.now(ctx)
	if err != nil {
		return nil, err
	}
	unread, err := f.s.items(ctx, fan, now, notifier.InboxQuery{Unread: true, Limit: limit})
	if err != nil {
		return nil, err
	}
	notices := make([]live.Notice, 0, len(unread))
	for i := len(unread) - 1; i >= 0; i-- {
		notices = append(notices, unread[i].notice())
	}
	watched, err := planOnce(ctx, f.s, scanItem, `
		SELECT * FROM (`+itemsSQL+`) x WHERE kind = 'turn' AND state = 'open' AND read_at IS NOT NULL`, []int64{fan}, now)
	if err != nil {
		return nil, err
	}
	for i := range watched {
		n := watched[i].notice()
		n.Silent = true
		notices = append(notices, n)
	}
	upcoming, err := f.upcoming(ctx, fan, now)
	return append(notices, upcoming...), err
}

// upcoming returns a fan's turns that have not opened: the turns as they will be
// at the last moment that a decision may have planned, less those of now. By that
// moment a short one is over again.
func (f *Feed) upcoming(ctx context.Context, fan int64, now time.Time) ([]live.Notice, error) {
	items, err := planOnce(ctx, f.s, scanItem, upcomingSQL, []int64{fan}, now.Add(planned), now)
	notices := make([]live.Notice, len(items))
	for i := range items {
		items[i].state = notifier.StateOpen
		notices[i] = items[i].notice()
	}
	return notices, err
}

// upcomingSQL are the turns of fans $1 that open after $3 and until $2, as items.
var upcomingSQL = `SELECT * FROM (` + itemsSQL + `) x WHERE kind = 'turn' AND at > $3`

// planned is longer than a decision plans ahead.
const planned = 10 * time.Second

var plannedSQL = fmt.Sprintf(`interval '%d seconds'`, planned/time.Second)
