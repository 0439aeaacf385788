package live

import "sync"

// told are the connections that got something new, and are to be told where they stand.
type told map[*conn]struct{}

// debts are connections that cannot be told where they stand yet, as there is too much to name.
type debts struct {
	mu    sync.Mutex
	conns told
}

func (d *debts) add(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conns == nil {
		d.conns = told{}
	}
	d.conns[c] = struct{}{}
}

func (d *debts) take() told {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.conns
	d.conns = nil
	return t
}

// arrive notes how far the feed was read, after all that was found has been handed out.
func (h *Hub) arrive(m Moment) {
	if was := h.moment.Load(); was != nil && sameHistory(m, *was) {
		m.At = latest(m.At, was.At)
	}
	h.moment.Store(&m)
}

func sameHistory(a, b Moment) bool { return a.Database == b.Database && a.Timeline == b.Timeline }

// giveCursors tells connections where they stand.
func (h *Hub) giveCursors(t told) {
	for c := range t {
		h.giveCursor(c)
	}
}

// giveCursor tells a connection where it stands: no further than the feed was read, nor past anything that is due to its
// fan and waits for its time or for an answer. The feed's moment is read first: what comes to wait after that is later.
func (h *Hub) giveCursor(c *conn) {
	m := *h.moment.Load()
	m.At = h.sched.cap(c.fanNo, m.At)
	if !c.tellCursor(m) {
		h.debts.add(c)
	}
}

// tellCursor queues a cursor; false: not yet.
func (c *conn) tellCursor(m Moment) (ok bool) {
	c.mu.Lock()
	fits, ok := true, true
	if c.end == nil && !c.catchingUp {
		if sameHistory(m, c.moment) {
			m.At = latest(m.At, c.moment.At)
		}
		c.moment = m
		var hashes []uint64
		if hashes, ok = c.sent.after(m.At.Add(-overlap)); ok {
			fits = c.put(cursorOf(&fanCursor{m, hashes}))
		}
	}
	c.mu.Unlock()
	c.wakeOrClose(fits)
	return ok
}
