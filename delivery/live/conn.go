package live

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"fanline/notifier"
)

// Session is who a connection is for, as its token says.
type Session struct {
	FanID string
	// Expires is when the token ends; zero: never.
	Expires time.Time
	// After is the cursor to go on from, as the client sent it; "": from the newest unread items.
	After string
}

// conn is one socket. Its reader is the caller of Serve, its writer a goroutine of its own; anybody may offer it
// messages and close it, which never blocks.
type conn struct {
	hub     *Hub
	ws      *websocket.Conn
	fanID   string
	session string
	after   string // the cursor it came with

	signal  chan struct{} // one slot: the writer has something to do
	room    chan struct{} // one slot: the reader may go on
	empty   chan struct{} // one slot: the queue has run out
	done    chan struct{} // closed by close
	heard   atomic.Int64  // when something came last, as a time since born
	born    time.Time
	since   time.Time // the same by the database's clock
	pinging atomic.Bool
	slow    atomic.Bool // counted as such

	mu     sync.Mutex
	fanNo  int64
	inside bool // fanNo is known and the hub has it
	queue  [][]byte
	bytes  int
	grace  int // bytes above the limit, for a backlog, until the queue is empty
	// early keeps frames until hello is said, which is the first. greeted says that it was.
	greeted bool
	early   [][]byte
	// held keeps what comes before the backlog is through.
	catchingUp bool
	held       []*message
	seen       seen
	turns      turns
	sent       sent
	moment     Moment     // of its last cursor
	lines      []lineSent // the positions it knows
	acts       []act
	acting     bool
	end        *ending
	endedAt    time.Time
	token      lifetime
}

func newConn(h *Hub, ws *websocket.Conn, s Session) *conn {
	var id [12]byte
	_, _ = rand.Read(id[:]) // never fails
	now := time.Now()
	c := &conn{
		hub: h, ws: ws, fanID: s.FanID, session: hex.EncodeToString(id[:]), after: s.After,
		signal: make(chan struct{}, 1), room: make(chan struct{}, 1), empty: make(chan struct{}, 1), done: make(chan struct{}),
		born: now, since: h.cfg.Clock.Now(), catchingUp: true, token: h.lifetimeOf(s.Expires, now),
	}
	if c.after == "" {
		c.greet(false)
	}
	return c
}

// greet says hello, and then what had to wait for it. The first one counts.
func (c *conn) greet(reset bool) {
	c.mu.Lock()
	fits := true
	if !c.greeted {
		c.greeted = true
		fits = c.put(helloOf(c.session, c.hub.cfg.HeartbeatS, c.hub.cfg.Clock.Now(), reset))
		for _, frame := range c.early {
			fits = fits && c.put(frame)
		}
		c.early = nil
	}
	c.mu.Unlock()
	c.wakeOrClose(fits)
}

// offer gives the connection a message to write, unless it had it. It says whether there is something new in the queue.
func (c *conn) offer(m *message) bool {
	c.mu.Lock()
	fits, had := true, len(c.queue)
	switch {
	case c.end != nil:
	case c.catchingUp:
		c.held = append(c.held, m)
		fits = len(c.held) <= c.hub.cfg.Queue
	default:
		fits = c.accept(m)
	}
	queued := len(c.queue) > had
	c.mu.Unlock()
	c.wakeOrClose(fits)
	return queued
}

// offerFrame gives the connection a frame that is nobody else's.
func (c *conn) offerFrame(frame []byte) {
	c.mu.Lock()
	fits := c.put(frame)
	c.mu.Unlock()
	c.wakeOrClose(fits)
}

// catchUpWith gives the connection a part of what it missed.
func (c *conn) catchUpWith(part []*message) {
	c.mu.Lock()
	fits := true
	for _, m := range part {
		if frame, err := m.frame(); err == nil {
			c.grace += len(frame) // two hundred long messages are nobody's slowness
		}
		fits = fits && c.accept(m)
	}
	c.mu.Unlock()
	c.wakeOrClose(fits)
}

// caughtUp ends the catching up: what came meanwhile, and was not in it, follows.
func (c *conn) caughtUp() {
	c.mu.Lock()
	fits := true
	for _, m := range c.held {
		fits = fits && c.accept(m)
	}
	c.catchingUp, c.held = false, nil
	c.mu.Unlock()
	c.wakeOrClose(fits)
}

// withhold makes the connection deaf to a turn that was over before it could be shown.
func (c *conn) withhold(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen.meet(m.hash, time.Now()) {
		c.markTurn(m.id, turnMark{notifier.StateOver, m.closes})
	}
}

// markTurn remembers a turn. mu is held.
func (c *conn) markTurn(id string, m turnMark) {
	if c.turns == nil {
		c.turns = turns{}
	}
	c.turns.mark(id, m)
}

// accept queues m if it is news to this connection; false: it does not fit. mu is held.
func (c *conn) accept(m *message) bool {
	if c.end != nil {
		return true
	}
	if m.item == nil {
		return c.acceptUpdate(m)
	}
	if !c.seen.meet(m.hash, time.Now()) {
		return true
	}
	c.note(m)
	if m.turn {
		c.markTurn(m.id, turnMark{m.state, m.closes})
	}
	if m.silent {
		return true
	}
	return c.putMessage(m)
}

// acceptUpdate: an update is for those who had the item, and who do not know the state yet. mu is held.
func (c *conn) acceptUpdate(m *message) bool {
	mark, had := c.turns[m.id]
	if had {
		if stale(mark.state, m.state) {
			return true
		}
		c.turns[m.id] = turnMark{m.state, mark.closes}
	} else if !c.seen.has(hash(m.id, "")) {
		return true
	}
	if !c.seen.meet(m.hash, time.Now()) {
		return true
	}
	c.note(m)
	return c.putMessage(m)
}

// note keeps m for the next cursor: its item, and the state in which a turn was shown. mu is held.
func (c *conn) note(m *message) {
	from := c.moment.At.Add(-overlap)
	if m.at.After(from) {
		c.sent.add(m.hash, m.at)
	}
	if m.turn && m.state != notifier.StateOpen {
		if now := c.hub.cfg.Clock.Now().Add(skew); now.After(from) {
			c.sent.add(hash(m.id, m.state), now)
		}
	}
}

// setFan says that c is entering the hub; false: it was closed.
func (c *conn) setFan(fanNo int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end != nil {
		return false
	}
	c.fanNo, c.inside = fanNo, true
	return true
}

// close ends the connection: from now on it gets nothing, and the writer tells its peer why. The first ending stands.
func (c *conn) close(e ending) {
	c.mu.Lock()
	first := c.end == nil
	if first {
		c.end, c.endedAt = &e, time.Now()
		if e != closeDraining {
			c.discard()
		}
		c.held, c.early = nil, nil
	}
	fanNo, inside := c.fanNo, c.inside
	c.mu.Unlock()
	if !first {
		return
	}
	if e == closeSlow {
		c.countSlow()
	}
	if inside {
		c.hub.fans.leave(c, fanNo)
		c.hub.lines.touch(fanNo)
	}
	close(c.done)
	poke(c.signal)
}

// countSlow counts the connection as too slow, once.
func (c *conn) countSlow() {
	if !c.slow.Swap(true) {
		c.hub.slowCloses.Add(1)
	}
}

// drain lets the queue run out, says when to come back, and closes.
func (c *conn) drain(retry time.Duration) {
	c.offerFrame(closingOf(retry))
	c.close(closeDraining)
}

// ended returns how the connection ends, and since when, or nil.
func (c *conn) ended() (*ending, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end, c.endedAt
}

func (c *conn) isEnded() bool {
	end, _ := c.ended()
	return end != nil
}

// hear notes that something came from the peer.
func (c *conn) hear() { c.heard.Store(int64(time.Since(c.born))) }

// quiet is how long nothing came.
func (c *conn) quiet() time.Duration { return time.Since(c.born) - time.Duration(c.heard.Load()) }

// cut ends the socket without a word, and returns when it has ended. Close and CloseNow alone cannot: while one of them
// waits for a peer that stalls within a frame, the other waits for the first. A CloseRead whose context has ended closes
// the socket in any state.
func (c *conn) cut() {
	c.close(closeGone)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c.ws.CloseRead(ctx)
	_ = c.ws.CloseNow()
}
