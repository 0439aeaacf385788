package live

import (
	"context"
	"errors"
	"time"
)

// maxActs is how many acts of a connection may wait: more, and its reader waits.
const maxActs = 16

// act is something that a connection asks of others.
type act struct {
	kind  actKind
	ids   []string
	token string
}

type actKind int

const (
	actJoin actKind = iota + 1
	actAck
	actRead
	actToken
)

// request has a done by the connection's worker, in order. It waits for room, for the reader's good: what it does not
// read, the peer cannot send.
func (c *conn) request(a act) {
	for !c.tryRequest(a) {
		select {
		case <-c.room:
		case <-c.done:
			return
		}
	}
}

func (c *conn) tryRequest(a act) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end != nil || c.merge(a) {
		return true
	}
	if len(c.acts) >= maxActs {
		return false
	}
	c.acts = append(c.acts, a)
	if !c.acting {
		c.acting = true
		c.hub.serving.Go(c.work)
	}
	return true
}

// merge adds a's ids to those of the last act, when it is of the same kind: a client that acks item by item costs a
// call for many. mu is held.
func (c *conn) merge(a act) bool {
	if len(c.acts) == 0 || len(a.ids) == 0 {
		return false
	}
	last := &c.acts[len(c.acts)-1]
	if last.kind != a.kind || len(last.ids)+len(a.ids) > maxIDs {
		return false
	}
	last.ids = append(last.ids, a.ids...)
	return true
}

// work does what was requested until nothing is left. What was requested before a connection ended is done too: the fan
// has seen what they acked.
func (c *conn) work() {
	for {
		a, ok := c.nextAct()
		if !ok {
			return
		}
		poke(c.room)
		c.perform(a)
	}
}

func (c *conn) nextAct() (act, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.acts) == 0 {
		c.acts, c.acting = nil, false
		return act{}, false
	}
	a := c.acts[0]
	c.acts = c.acts[1:]
	return a, true
}

func (c *conn) perform(a act) {
	h := c.hub
	switch a.kind {
	case actJoin:
		c.join()
	case actAck:
		h.act("ack", func(ctx context.Context) error { return h.cfg.Acts.Ack(ctx, c.fanID, a.ids) })
	case actRead:
		h.act("read", func(ctx context.Context) error { return h.cfg.Acts.Read(ctx, c.fanID, a.ids) })
	case actToken:
		c.renew(a.token)
	}
}

// act makes a call whose failure is only noted: a lost ack costs an alert too many.
func (h *Hub) act(what string, f func(context.Context) error) {
	h.actFault.Note(h.callCtx, what, h.call(f))
}

// call makes a call for a connection, when one of the slots is free.
func (h *Hub) call(f func(context.Context) error) error {
	select {
	case h.calls <- struct{}{}:
	case <-h.callCtx.Done():
		return h.callCtx.Err()
	}
	defer func() { <-h.calls }()
	ctx, cancel := context.WithTimeout(h.callCtx, h.cfg.CallTimeout)
	defer cancel()
	return f(ctx)
}

// renew takes a new token. One that could not be checked in time changes nothing: the old one still holds.
func (c *conn) renew(token string) {
	var fanID string
	var expires time.Time
	err := c.hub.call(func(ctx context.Context) (err error) {
		fanID, expires, err = c.hub.cfg.Verify(ctx, token)
		return err
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		c.hub.cfg.Log.Warn("a token could not be checked", "err", err)
	case err != nil || fanID != c.fanID:
		c.close(closeBadToken)
	default:
		life := c.hub.lifetimeOf(expires, time.Now())
		c.mu.Lock()
		c.token = life
		c.mu.Unlock()
		poke(c.signal)
	}
}
