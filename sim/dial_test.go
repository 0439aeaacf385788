package sim

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchCutsAfterTwoAndAHalfSilentBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c connection
		c.start(nil)
		c.heartbeat(10)
		time.Sleep(24 * time.Second)
		c.alive()
		time.Sleep(24 * time.Second)
		if c.life.Err() != nil {
			t.Fatal("cut though something came in time")
		}
		time.Sleep(time.Second)
		<-c.life.Done()
	})
}
