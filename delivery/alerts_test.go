package delivery

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"fanline/notifier"
)

// dueAlerts are alerts to fire; a batch takes as long as each.
type dueAlerts struct {
	left, looks int
	each        time.Duration
}

func (b *dueAlerts) FireAlerts(_ context.Context, _ []notifier.Channel, most int) (more bool, err error) {
	time.Sleep(b.each)
	b.looks++
	fired := min(b.left, most)
	b.left -= fired
	return fired == most, nil
}

func TestAlertsThatAreDueAreFiredOneBatchAfterTheOther(t *testing.T) {
	t.Parallel()
	for each, most := range map[time.Duration]time.Duration{
		10 * time.Millisecond:   50 * time.Millisecond,
		1500 * time.Millisecond: 8 * time.Second, // it goes on at the next look
	} {
		synctest.Test(t, func(t *testing.T) {
			b := &dueAlerts{left: 4*alertsMost + 1, each: each}
			c := NewAlertClock(b, nil, slog.New(slog.DiscardHandler))
			c.Start()
			time.Sleep(most)
			c.Stop()
			if b.left > 0 {
				t.Errorf("after %v of batches of %v, %d alerts are left", most, each, b.left)
			}
		})
	}
}
