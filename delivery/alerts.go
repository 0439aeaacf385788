package delivery

import (
	"context"
	"log/slog"
	"sync"
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
	alertsEvery    = 100 * time.Millisecond
	alertsMost     = 500
	alertsPatience = 10 * time.Second
)

// AlertClock fires alerts. Every process runs one; what a process that died did not
// fire, another does.
type AlertClock struct {
	store    AlertStore
	channels []notifier.Channel
	fault    notifier.Faults
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

// NewAlertClock returns a clock that is not started.
func NewAlertClock(store AlertStore, channels []notifier.Channel, log *slog.Logger) *AlertClock {
	return &AlertClock{store: store, channels: channels, fault: notifier.Faults{Log: log}, cancel: func() {}}
}

// Start begins. Stop ends it.
func (c *AlertClock) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.wg.Go(func() { c.run(ctx) })
}

// Stop waits for what is under way. It may be called twice, and without a start.
func (c *AlertClock) Stop() {
	c.cancel()
	c.wg.Wait()
}

func (c *AlertClock) run(ctx context.Context) {
	tick := time.NewTicker(alertsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for c.fire(ctx) {
		}
	}
}

// fire says whether more are due.
func (c *AlertClock) fire(ctx context.Context) bool {
	call, cancel := context.WithTimeout(ctx, alertsPatience)
	defer cancel()
	more, err := c.store.FireAlerts(call, c.channels, alertsMost)
	c.fault.Note(ctx, "fire alerts", err)
	return more && err == nil
}
