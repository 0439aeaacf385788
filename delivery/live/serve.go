package live

import (
	"context"
	"io"

	"github.com/coder/websocket"
)

// Serve lives a connection: it returns when the socket has ended, and always ends it. The caller has authenticated the
// fan before the upgrade. The end of ctx closes the connection as draining does; no write is bound to it.
func (h *Hub) Serve(ctx context.Context, ws *websocket.Conn, s Session) {
	c := newConn(h, ws, s)
	if !h.admit(c) {
		c.close(h.refusal())
		c.discardAll()
		c.sayGoodbye()
		return
	}
	defer h.dismiss(c)
	stop := context.AfterFunc(ctx, func() { c.drain(retryAfter(1)) })
	defer stop()
	written := make(chan struct{})
	h.serving.Go(func() {
		defer close(written)
		c.writeLoop()
	})
	c.request(act{kind: actJoin})
	c.readLoop()
	c.close(closeGone)
	<-written
}

// admit counts c among those that Stop waits for.
func (h *Hub) admit(c *conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.open() {
		return false
	}
	h.conns[c], h.joining[c] = struct{}{}, struct{}{}
	if len(h.expected) > 0 {
		h.expected = h.expected[1:]
	}
	h.serving.Add(1)
	return true
}

func (h *Hub) refusal() ending {
	if h.Draining() {
		return closeDraining
	}
	return closeFull
}

func (h *Hub) dismiss(c *conn) {
	h.mu.Lock()
	delete(h.conns, c)
	delete(h.joining, c)
	h.mu.Unlock()
	c.discardAll()
	h.serving.Done()
}

// readLoop reads until the socket fails. It goes on after the connection was closed, so that the peer's answer to the
// close frame is found, but then acts on nothing.
func (c *conn) readLoop() {
	c.ws.SetReadLimit(-1) // the library's limit closes with 1009, ours with 4400
	for {
		typ, r, err := c.ws.Reader(context.Background())
		if err != nil {
			return
		}
		b, err := io.ReadAll(io.LimitReader(r, maxFrame+1))
		if err != nil {
			return
		}
		c.hear()
		if len(b) > maxFrame {
			c.close(closeBadFrame("more than 64 KiB"))
			return
		}
		if typ != websocket.MessageText {
			c.close(closeBadFrame("not text"))
			continue
		}
		c.handle(b)
	}
}

// handle acts on a frame of the client.
func (c *conn) handle(b []byte) {
	if c.isEnded() {
		return
	}
	r, err := parse(b)
	if err != nil {
		c.close(closeBadFrame(err.Error()))
		return
	}
	switch r.Type {
	case "ping":
		c.offerFrame(pongOf(c.hub.cfg.Clock.Now()))
	case "ack":
		c.request(act{kind: actAck, ids: r.IDs})
	case "read":
		c.request(act{kind: actRead, ids: r.IDs})
	case "token":
		c.request(act{kind: actToken, token: r.Token})
	}
}
