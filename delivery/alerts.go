package delivery

import (
	"context"
	"log/slog"
	"time"

	"fanline/notifier"
)

// AlertStore turns the moments at which fans are to be told into plans.
type AlertStore interface {
	// FireAlerts queues plans for the alerts whose time has come, at most most of each
	// lane, and moves them to their next step, in one transaction; more says that a lane
	// had so many. Those of turns that closed long ago are dropped. Of several processes each
	// takes others. channels are those with a provider; without any, nobody is told.
	FireAlerts(ctx context.Context, channels []notifier.Channel, most int) (more bool, err error)
}

const (
	alertsEvery = 100 * time.Millisecond
	alertsMost  = 500
	// alertsTime is for how long one look begins new batches, and alertsPatience leaves
	// the last of them time to end.
	alertsTime     = 5 * time.Second
	alertsPatience = 15 * time.Second
)

// AlertClock fires alerts. Every process runs one; what a process that died did not
// fire, another does.
type AlertClock struct {
	store    AlertStore
	channels []notifier.Channel
	loops    *notifier.Loops
}

// NewAlertClock returns a clock that is not started.
func NewAlertClock(store AlertStore, channels []notifier.Channel, log *slog.Logger) *AlertClock {
	return &AlertClock{store: store, channels: channels, loops: notifier.NewLoops(log)}
}

// Start begins. Stop ends it.
func (c *AlertClock) Start() { c.loops.Every(alertsEvery, alertsPatience, "fire alerts", c.fire) }

// Stop waits for what is under way. It may be called twice, and without a start.
func (c *AlertClock) Stop() { c.loops.Stop() }

// fire fires batches until none is due.
func (c *AlertClock) fire(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < alertsTime; {
		if more, err := c.store.FireAlerts(ctx, c.channels, alertsMost); err != nil || !more {
			return err
		}
	}
	return nil
}
