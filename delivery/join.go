package delivery

import (
	"context"
	"time"
)

const (
	backlogMost = 200
	joinTries   = 3
	joinPause   = 250 * time.Millisecond // doubled each time
)

// join brings a connection into the hub: it enters first, so that nothing new passes it by, and reads what was there
// after. A connection that cannot join is closed, to try again elsewhere.
func (c *conn) join() {
	if !c.try("find the fan of a connection", c.enter) || !c.try("read a backlog", c.catchUp) {
		c.close(closeFailed)
		return
	}
	c.try("wake a fan who connected", func(ctx context.Context) error {
		return c.hub.cfg.Acts.Connected(ctx, c.fanID)
	})
}

// try makes a call up to joinTries times, while the connection lives.
func (c *conn) try(what string, f func(context.Context) error) bool {
	pause := joinPause
	for i := 0; !c.isEnded(); i++ {
		err := c.hub.call(f)
		c.hub.actFault.note(c.hub.callCtx, what, err)
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
	return nil
}

// catchUp gives the connection what it starts with, then lets go what was held meanwhile.
func (c *conn) catchUp(ctx context.Context) error {
	notices, err := c.hub.cfg.Feed.Backlog(ctx, c.fanNo, backlogMost)
	if err != nil {
		return err
	}
	now := c.hub.cfg.Clock.Now()
	var past []*message
	var coming []*entry
	for i := range notices {
		n := &notices[i]
		if n.Item == nil {
			continue
		}
		n.FanNo = c.fanNo
		m := c.hub.itemMessage(n)
		if n.At.After(now) {
			coming = append(coming, pushEntry(n, m))
			continue
		}
		past = append(past, m)
		if watched(m, now) {
			coming = append(coming, watchEntry(n, m))
		}
	}
	c.caughtUp(past)
	for _, e := range coming {
		c.hub.fans.schedule(e)
	}
	return nil
}
