package live

import (
	"context"
	"time"

	"fanline/notifier"
)

const (
	// backlogMost is how many of the newest unread items a connection without a cursor starts with.
	backlogMost = 200
	// replayPage is how many missed items are read at a time, replayMost how many are replayed at all.
	replayPage = 200
	replayMost = 1000

	joinTries = 3
	joinPause = 250 * time.Millisecond // doubled each time
)

// join brings a connection into the hub: it enters first, so that nothing new passes it by, and reads what was there
// after. A connection that cannot join is closed, to try again elsewhere.
func (c *conn) join() {
	defer c.hub.joined(c)
	if !c.try("find the fan of a connection", c.enter) || !c.catchUp() {
		c.close(closeFailed)
		return
	}
	c.try("wake a fan who connected", func(ctx context.Context) error {
		return c.hub.cfg.Acts.Connected(ctx, c.fanID)
	})
	c.hub.lines.touch(c.fanNo)
}

// try makes a call up to joinTries times, while the connection lives.
func (c *conn) try(what string, f func(context.Context) error) bool {
	pause := joinPause
	for i := 0; !c.isEnded(); i++ {
		err := c.hub.call(f)
		c.hub.actFault.Note(c.hub.callCtx, what, err)
		if err == nil || i+1 == joinTries {
			return err == nil
		}
		select {
		case <-time.After(pause):
			pause *= 2
		case <-c.done:
			return false
		}
	}
	return false
}

func (c *conn) enter(ctx context.Context) error {
	fanNo, err := c.hub.cfg.Feed.FanNo(ctx, c.fanID)
	if err != nil {
		return err
	}
	if oldest := c.hub.fans.enter(c, fanNo); oldest != nil {
		oldest.close(closeTooMany)
	}
	c.endIfSignedOut(fanNo) // between its token's check and here
	return nil
}

// catchUp gives the connection what it starts with, then what came meanwhile, then its first cursor.
func (c *conn) catchUp() bool {
	ok, replayed := c.replay()
	if ok && !replayed {
		c.greet(true) // unless it asked for nothing else
		ok = c.startAnew()
	}
	if !ok {
		return false
	}
	c.caughtUp()
	c.hub.giveCursor(c)
	return true
}

// begin fixes the moment of the next cursor: all that may still be committed is later.
func (c *conn) begin(m Moment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment = m
}

// startAnew gives the connection the newest unread items.
func (c *conn) startAnew() bool {
	c.begin(*c.hub.moment.Load())
	var notices []Notice
	if !c.try("read a backlog", func(ctx context.Context) (err error) {
		notices, err = c.hub.cfg.Feed.Backlog(ctx, c.fanNo, backlogMost)
		return err
	}) {
		return false
	}
	c.take(notices, c.hub.cfg.Clock.Now())
	return true
}

// take gives the connection items, and schedules what is to come of them.
func (c *conn) take(notices []Notice, now time.Time) {
	var past []*message
	for i := range notices {
		n := &notices[i]
		if n.Item == nil {
			continue
		}
		n.FanNo = c.fanNo
		m := c.hub.itemMessage(n)
		if n.At.After(now) {
			c.hub.fans.schedule(pushEntry(n, m))
			continue
		}
		past = append(past, m)
		if watched(m, now) {
			c.hub.fans.schedule(watchEntry(n, m))
		}
	}
	c.catchUpWith(past)
}

// replay gives the connection what was missed since its cursor. It has not replayed when there is no such cursor, or too
// much was missed; then the connection is to start anew.
func (c *conn) replay() (ok, replayed bool) {
	cursor, err := parseCursor(c.after)
	if err != nil {
		return true, false
	}
	now, m := c.hub.cfg.Clock.Now(), *c.hub.moment.Load()
	since, at, ok := cursor.since(m, now)
	if !ok {
		return true, false
	}
	m.At = latest(m.At, at)
	c.begin(m)
	span := Span{Since: since, Until: now, Limit: replayPage}
	first, ok := c.readPage(span)
	if !ok || first.Total > replayMost || first.Many {
		return ok, false
	}
	c.greet(false)
	for page := first; ok; page, ok = c.readPage(span) {
		c.takePage(page.Items, &cursor, now)
		n := len(page.Items)
		if n == 0 || n >= page.Total {
			break
		}
		span.Page = &notifier.InboxKey{At: page.Items[n-1].At, ID: page.Items[n-1].Item.ID}
		if !c.ranOut() {
			return false, false
		}
	}
	if ok {
		c.takeTurns(first.Turns, &cursor, now)
	}
	return ok, ok
}

func (c *conn) readPage(s Span) (page Missed, ok bool) {
	ok = c.try("read what a fan missed", func(ctx context.Context) (err error) {
		page, err = c.hub.cfg.Feed.Replay(ctx, c.fanNo, s)
		return err
	})
	return page, ok
}

// ranOut waits until what was queued has been written: the next page is not read into the memory of a slow reader.
func (c *conn) ranOut() bool {
	for {
		c.mu.Lock()
		left, ended := len(c.queue), c.end != nil
		c.mu.Unlock()
		if ended || left == 0 {
			return !ended
		}
		select {
		case <-c.empty:
		case <-c.done:
		}
	}
}

// takePage gives the connection the items that its client does not have.
func (c *conn) takePage(items []Notice, cursor *fanCursor, now time.Time) {
	fresh := items[:0:0]
	for _, n := range items {
		if h := hash(n.Item.ID, ""); cursor.has(h) {
			c.remember(h, n.At)
			continue
		}
		fresh = append(fresh, n)
	}
	c.take(fresh, now)
}

// remember counts as sent what the client has.
func (c *conn) remember(h uint64, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.meet(h, time.Now())
	if at.After(c.moment.At.Add(-overlap)) {
		c.sent.add(h, at)
	}
}

// takeTurns tells the connection of the turns that changed, and makes the others known to it.
func (c *conn) takeTurns(turns []Notice, cursor *fanCursor, now time.Time) {
	var known []Notice
	var changed []*message
	for i := range turns {
		n := &turns[i]
		if n.Update == nil {
			if !n.At.After(now) {
				c.meetTurn(n.Item.ID, turnMark{n.Item.State, n.Closes})
			}
			known = append(known, *n)
			continue
		}
		m := c.hub.updateMessage(n.Update.ID, n.Update.State)
		c.meetTurn(m.id, turnMark{notifier.StateOpen, n.Closes})
		if cursor.has(m.hash) {
			c.remember(m.hash, m.at)
			c.learn(m)
			continue
		}
		changed = append(changed, m)
	}
	c.take(known, now)
	c.catchUpWith(changed)
}

// meetTurn makes a turn known whose item the client had from an earlier connection.
func (c *conn) meetTurn(id string, m turnMark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.turns[id]; !ok {
		c.markTurn(id, m)
	}
}

// learn notes the state of a turn that the client knows.
func (c *conn) learn(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.markTurn(m.id, turnMark{m.state, c.turns[m.id].closes})
}
