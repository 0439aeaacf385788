package live

import (
	"sync"
	"time"
)

// signOutFor is how long a sign-out is remembered: longer than a connection that
// was let in before it takes to enter the hub.
const signOutFor = time.Minute

// signOuts are the newest sign-outs.
type signOuts struct {
	mu sync.Mutex
	at map[int64]time.Time // by the database's clock
}

func (s *signOuts) add(out SignOut, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for fan, at := range s.at {
		if now.Sub(at) > signOutFor {
			delete(s.at, fan)
		}
	}
	if s.at == nil {
		s.at = map[int64]time.Time{}
	}
	if out.At.After(s.at[out.FanNo]) {
		s.at[out.FanNo] = out.At
	}
}

// ended says whether the fan was signed out after a connection began.
func (s *signOuts) ended(fanNo int64, since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[fanNo].After(since)
}

// signOut closes the connections that the fan had before with 4002. Whoever came
// with a newer token stays.
func (h *Hub) signOut(out SignOut) {
	h.outs.add(out, h.cfg.Clock.Now())
	for _, c := range h.fans.of(out.FanNo) {
		c.endIfSignedOut(out.FanNo)
	}
}

func (c *conn) endIfSignedOut(fanNo int64) {
	if c.hub.outs.ended(fanNo, c.since) {
		c.close(closeSignedOut)
	}
}
