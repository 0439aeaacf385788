package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
)

const (
	// headServes is the largest page that a head serves; headHolds leaves room for
	// turns that are still to open.
	headServes = 51
	headHolds  = headServes + 20
	// headShows is how many shows a fan may have a place in for their inbox to have a
	// head.
	headShows = 50
)

// inboxHead is the front of a fan's inbox: what it was read from, so that what time
// alone changes is worked out when it is looked at.
type inboxHead struct {
	At time.Time // as of when
	// News are the shows that may bring the fan something without a row of the fan's
	// own, each with the ticket of what it had brought.
	News []showNews
	// Dormant: an entry of the fan is, so that reading is an act that wakes it.
	Dormant bool
	// Items are newest first, those to open among them, and All when there are no
	// others.
	Items  []headItem
	All    bool
	Unread int // of those that existed at At, in all
}

type showNews struct {
	ShowNo int32
	Ticket string
}

// headItem is an item with its exact times.
type headItem struct {
	notifier.Item
	Exact  time.Time  // when it came to be
	Closes *time.Time // of a turn
}

// headItems serves the first page of an inbox from its head, unless it asks for more
// than that holds.
func (s *Store) headItems(ctx context.Context, fan string, q notifier.InboxQuery) (items []notifier.Item, unread int, ok bool, err error) {
	if s.cache == nil || q.Unread || q.Kind != "" || q.After != nil || q.Limit > headServes {
		return nil, 0, false, nil
	}
	in := &inputs{s: s, q: s.pool, c: s.cache}
	no, err := in.fan(ctx, fan)
	if err == nil && no == 0 { // a fan exists from the first call that names it
		no, err = s.FanNo(ctx, fan)
	}
	if err != nil {
		return nil, 0, false, err
	}
	head, err := in.head(ctx, no)
	if err != nil {
		return nil, 0, false, err
	}
	items, unread, ok = head.page(s.cache.cfg.Clock.Now(), q.Limit)
	return items, unread, ok, nil
}

// page is the newest items at now, not ok when there may be more than the head
// holds.
func (h *inboxHead) page(now time.Time, limit int) (items []notifier.Item, unread int, ok bool) {
	if len(h.News) > headShows {
		return nil, 0, false
	}
	if now.Before(h.At) {
		now = h.At
	}
	unread = h.Unread
	items = make([]notifier.Item, 0, min(limit, len(h.Items)))
	for i := range h.Items {
		it := &h.Items[i]
		if it.Exact.After(now) {
			continue
		}
		if it.Exact.After(h.At) && it.ReadAt == nil {
			unread++
		}
		if len(items) < limit {
			items = append(items, it.at(now))
		}
	}
	return items, unread, h.All || len(items) == limit
}

// at is the item as it is at now: a turn ends by itself.
func (i *headItem) at(now time.Time) notifier.Item {
	it := i.Item
	it.CreatedAt = notifier.Stamp(i.Exact)
	if it.State == notifier.StateOpen && i.Closes != nil && !now.Before(*i.Closes) {
		it.State = notifier.StateOver
	}
	return it
}

// head returns the head of a fan's inbox with all that was there when it was asked
// for.
func (in *inputs) head(ctx context.Context, fan int64) (*inboxHead, error) {
	h, err := in.anyHead(ctx, fan)
	for try := 0; err == nil && try < tries && !in.current(ctx, h); try++ {
		h, err = in.freshHead(ctx, fan)
	}
	return h, err
}

// freshHead replaces a head that one of its shows made stale, once for all who ask
// at the same time.
func (in *inputs) freshHead(ctx context.Context, fan int64) (*inboxHead, error) {
	v, err := in.c.once(ctx, in.c.freshFlight(fan), func(ctx context.Context) (any, error) {
		h, err := in.anyHead(ctx, fan)
		if err != nil || in.current(ctx, h) {
			return h, err
		}
		in.c.stale(ctx, []string{inboxKey(fan)})
		return in.anyHead(ctx, fan)
	})
	if err != nil {
		return nil, err
	}
	return v.(*inboxHead), nil
}

// freshFlight is joined by no one who asks after a write to the inbox: what it brings
// may be from before.
func (c *Cache) freshFlight(fan int64) flightKey {
	key := inboxKey(fan)
	return flightKey{"fresh " + key, c.gen(key).Load()}
}

// current says whether no show brought anything since. With Redis away nobody can
// tell, and heads are as old as they are kept in this process.
func (in *inputs) current(ctx context.Context, h *inboxHead) bool {
	for _, n := range h.News {
		if t := in.c.version(ctx, newsKey(n.ShowNo)); t != "" && t != n.Ticket {
			return false
		}
	}
	return true
}

func (in *inputs) anyHead(ctx context.Context, fan int64) (*inboxHead, error) {
	return cached(ctx, in.c, inboxKey(fan), inputFor, func(ctx context.Context) (h inboxHead, err error) {
		if err = in.readNews(ctx, fan, &h); err != nil || len(h.News) > headShows {
			return h, err
		}
		return h, in.readHead(ctx, fan, &h)
	})
}

// readNews reads the fan's shows and takes their tickets, before anything is read
// that these stand for.
func (in *inputs) readNews(ctx context.Context, fan int64, h *inboxHead) error {
	rows, err := in.q.Query(ctx, `
		SELECT show_no, dormant FROM entries WHERE fan_no = $1 ORDER BY show_no LIMIT $2`, fan, headShows+1)
	if err != nil {
		return err
	}
	var n showNews
	var dormant bool
	if _, err := pgx.ForEachRow(rows, []any{&n.ShowNo, &dormant}, func() error {
		h.News, h.Dormant = append(h.News, n), h.Dormant || dormant
		return nil
	}); err != nil {
		return err
	}
	for i := range h.News {
		h.News[i].Ticket = in.c.version(ctx, newsKey(h.News[i].ShowNo))
	}
	return nil
}

// headSQL are the newest items of fans $1 as of $2, with those that open until $3,
// and how many are unread at $2.
var headSQL = `
	SELECT x.*, count(*) FILTER (WHERE read_at IS NULL AND at <= $2) OVER ()
	FROM (` + itemsTo("$3") + `) x ORDER BY at DESC, id DESC LIMIT $4`

func (in *inputs) readHead(ctx context.Context, fan int64, h *inboxHead) (err error) {
	if h.At, err = nowIn(ctx, in.q); err != nil {
		return err
	}
	rows, err := in.q.Query(ctx, headSQL, []int64{fan}, h.At, h.At.Add(inputFor), headHolds)
	h.Items, err = all(rows, err, func(row pgx.CollectableRow) (headItem, error) {
		var i item
		err := i.scan(row, &h.Unread)
		if err != nil {
			return headItem{}, err
		}
		return headItem{Item: i.item(), Exact: i.at, Closes: i.closes}, nil
	})
	h.All = len(h.Items) < headHolds
	return err
}

// awake says whether this process knows, by a head it holds, that no entry of the
// fan is dormant.
func (s *Store) awake(fan string) bool {
	no, ok := peek[int64](s.cache, fanKey(fan))
	if !ok {
		return false
	}
	h, ok := peek[inboxHead](s.cache, inboxKey(*no))
	return ok && !h.Dormant && len(h.News) <= headShows
}
