package live

import "time"

// lifetime is the end of a token in this machine's monotonic time.
type lifetime struct {
	warn, end time.Time // zero: never
	warned    bool
}

// lifetimeOf: the warning comes 60 s before the end, or halfway when that is shorter.
func (h *Hub) lifetimeOf(expires, now time.Time) lifetime {
	if expires.IsZero() {
		return lifetime{}
	}
	left := expires.Sub(h.cfg.Clock.Now())
	warn := left - time.Minute
	if left <= time.Minute {
		warn = left / 2
	}
	return lifetime{warn: now.Add(warn), end: now.Add(left)}
}
