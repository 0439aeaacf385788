package live

func (c *conn) putMessage(m *message) bool {
	frame, err := m.frame()
	if err != nil {
		c.hub.cfg.Log.Error("push", "err", err)
		return true
	}
	c.hub.pushes.Add(1)
	return c.put(frame)
}

// put queues a frame; false: it does not fit. mu is held.
func (c *conn) put(frame []byte) bool {
	if c.end != nil {
		return true
	}
	if !c.greeted {
		c.early = append(c.early, frame)
		return len(c.early) <= earlyMost
	}
	cfg, most := &c.hub.cfg, c.hub.cfg.QueueBytes
	if c.hub.queuedBytes.Load() > cfg.QueueBytesAll {
		most /= 8
	}
	if len(c.queue) >= cfg.Queue || c.bytes+len(frame) > most+c.grace {
		return false
	}
	c.queue = append(c.queue, frame)
	c.bytes += len(frame)
	c.hub.count(1, len(frame))
	return true
}

// pop takes the next frame to write.
func (c *conn) pop() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		return nil
	}
	frame := c.queue[0]
	c.queue[0] = nil
	c.queue = c.queue[1:]
	if len(c.queue) == 0 {
		c.queue, c.grace = nil, 0 // an idle connection keeps no array
		poke(c.empty)
	}
	c.bytes -= len(frame)
	c.hub.count(-1, -len(frame))
	return frame
}

// count keeps the figures of what waits in all queues.
func (h *Hub) count(frames, bytes int) {
	h.queuedFrames.Add(int64(frames))
	h.queuedBytes.Add(int64(bytes))
}

// discard empties the queue. mu is held.
func (c *conn) discard() {
	c.hub.count(-len(c.queue), -c.bytes)
	c.queue, c.bytes = nil, 0
}

func (c *conn) discardAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discard()
}

// wakeOrClose has what was queued written; what does not fit ends the connection.
func (c *conn) wakeOrClose(fits bool) {
	if !fits {
		c.close(closeSlow)
		return
	}
	poke(c.signal)
}

// poke leaves a signal unless one is waiting.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
