package waitlist

import (
	"testing"
	"time"
)

// TestATurnBeforeJoiningAgainIsNotMissed is of a fan who bought and joined again, at the
// tail: the picture showed a missed turn.
func TestATurnBeforeJoiningAgainIsNotMissed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	over := Telling{Place: 3, Opens: now.Add(-time.Hour), Closes: now.Add(-time.Minute)}
	for place, want := range map[int64]SpotState{3: SpotMissed, 40: SpotWaiting} {
		e := &Entry{Place: place, State: Waiting}
		if got := SpotOf(e, now, []Telling{over}, false); got != want {
			t.Errorf("at place %d: %s, want %s", place, got, want)
		}
	}
}
