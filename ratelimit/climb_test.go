package ratelimit

import (
	"testing"
	"time"
)

// The same arithmetic as force.lua's, with a clock that can be moved.
func TestALoweredLimitClimbsBackInQuiet(t *testing.T) {
	t.Parallel()
	f, now := forces{was: map[string]forced{}}, time.Unix(1e9, 0)
	look := func() Force { return f.force("fcm", 600, false, 0, now) }
	lower := func(pause time.Duration) { f.force("fcm", 600, true, pause, now) }
	lower(5 * time.Second)
	lower(0)
	if got := look(); got != (Force{300, 5 * time.Second}) {
		t.Fatalf("at once: %+v, want 300 after 5 s", got)
	}
	now = now.Add(15 * time.Second)
	if got := look(); got != (Force{450, 0}) {
		t.Errorf("after 15 s: %+v, want 450", got)
	}
	lower(0)
	if got := look(); got.N != 225 {
		t.Errorf("refused again: %+v, want half of 450", got)
	}
	now = now.Add(time.Minute)
	if got := look(); got.N != 600 {
		t.Errorf("after a quiet minute: %+v, want all", got)
	}
	for range 40 {
		now = now.Add(time.Second)
		lower(0)
	}
	if got := look(); got.N < 1 || got.N > 20 {
		t.Errorf("refused for long: %+v, want a trickle that never ends", got)
	}
}
