package live

import (
	"context"
	"errors"
	"time"

	"github.com/coder/websocket"
)

// goodbyeMost is a little more than the library's own patience: 5 s for writing a close frame, 5 s for its answer.
const goodbyeMost = 11 * time.Second

// writeLoop writes what is queued, pings, and minds the token, until the connection ends; then it closes the socket.
func (c *conn) writeLoop() {
	beat := time.Duration(c.hub.cfg.HeartbeatS) * time.Second
	ping := time.Now().Add(beat)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := time.Now()
		if !now.Before(ping) {
			c.pingPeer(beat)
			ping = now.Add(beat)
		}
		next := earlier(ping, c.mindToken(now))
		frame := c.pop()
		if end, since := c.ended(); end != nil && (frame == nil || now.Sub(since) > c.hub.cfg.WriteTimeout) {
			c.sayGoodbye()
			return
		}
		if frame != nil {
			c.write(frame)
			continue
		}
		timer.Reset(time.Until(next))
		select {
		case <-c.signal:
		case <-timer.C:
		}
	}
}

// earlier returns the earlier of two times, of which b may be never.
func earlier(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (c *conn) write(frame []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), c.hub.cfg.WriteTimeout)
	defer cancel()
	err := c.ws.Write(ctx, websocket.MessageText, frame)
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded):
		c.countSlow() // the library has ended the socket, which the reader may have found first
		c.close(closeSlow)
	default:
		c.close(closeGone)
	}
}

// pingPeer asks for a pong, or ends the connection when nothing came for two heartbeats.
func (c *conn) pingPeer(beat time.Duration) {
	c.mu.Lock()
	c.seen.age(time.Now())
	c.mu.Unlock()
	if c.quiet() >= 2*beat {
		c.close(closeSilent)
		return
	}
	if c.pinging.Swap(true) {
		return // the last one is still waiting
	}
	c.hub.serving.Go(func() {
		defer c.pinging.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), beat)
		defer cancel()
		if c.ws.Ping(ctx) == nil {
			c.hear()
		}
	})
}

// mindToken warns of the token's end, and ends the connection with it. It returns when to look again.
func (c *conn) mindToken(now time.Time) time.Time {
	c.mu.Lock()
	t := c.token
	expired := !t.end.IsZero() && !now.Before(t.end)
	warn := !t.end.IsZero() && !t.warned && !now.Before(t.warn)
	c.token.warned = t.warned || warn
	c.mu.Unlock()
	switch {
	case expired:
		c.close(closeExpired)
	case warn:
		c.offerFrame(expiringOf(t.end.Sub(now)))
	case !t.warned:
		return t.warn
	}
	return t.end
}

// sayGoodbye tells the peer why the connection ends, and waits for its answer, but not for long: the library does not
// bound the wait for a peer that stalls within a frame.
func (c *conn) sayGoodbye() {
	end, _ := c.ended()
	if end.code == 0 {
		_ = c.ws.CloseNow()
		return
	}
	cut := make(chan struct{})
	late := time.AfterFunc(goodbyeMost, func() {
		defer close(cut)
		c.cut()
	})
	_ = c.ws.Close(end.code, end.reason)
	if !late.Stop() {
		<-cut
	}
}
