package live

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A hub's clock is an estimate, by which what a look finds may be a moment early: it is
// scheduled, and what the next look finds is in time.
func TestWhatIsNewComesInItsOrderAlsoWhereTheClockIsBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		c, _ := w.resume(1, w.cursorAgo(time.Minute))
		synctest.Wait()
		at, sent := now().Add(time.Second), told{}
		for i := range 20 {
			n := messageFor(1, fmt.Sprintf("%04d", i))
			n.At = at
			now := at // in time, but for the first ones
			if i < 10 {
				now = at.Add(-time.Millisecond)
			}
			w.hub.dispatch(&n, now, sent)
		}
		if len(sent) > 0 {
			t.Error("something overtook what was scheduled")
		}
		for i := range 20 {
			c.wantItems(fmt.Sprintf("msg:%04d", i))
		}
		late := messageFor(1, "late")
		w.hub.dispatch(&late, now(), sent)
		if len(sent) != 1 {
			t.Error("with nothing scheduled any more, a push waits")
		}
		c.wantItems("msg:late")
	})
}
