package store

import (
	"context"
	"sync/atomic"
	"time"

	"fanline/notifier"
)

// Clock tells the database's time without asking: an offset to this machine's
// monotonic clock, taken from the quickest of a few round trips and taken again
// every 10 s. The machine's wall clock is never read, so that it may jump.
type Clock struct {
	s      *Store
	start  time.Time // carries the monotonic reading
	offset atomic.Int64
	skewed bool // this machine's clock was off, at the last measuring
	loops  *notifier.Loops
}

const (
	clockTrips    = 5
	clockRefresh  = 10 * time.Second
	clockPatience = 5 * time.Second
	// clockSkew is how far this machine's clock may be off the database's. The line goes
	// by the database's alone, as jobs do; signatures for providers go by this one.
	clockSkew = 2 * time.Second
)

// NewClock measures the database's time and keeps measuring it until Stop.
func (s *Store) NewClock(ctx context.Context) (*Clock, error) {
	c := &Clock{s: s, start: time.Now(), loops: notifier.NewLoops(s.log)}
	ctx, cancel := context.WithTimeout(ctx, clockPatience)
	defer cancel()
	if err := c.measure(ctx); err != nil {
		return nil, err
	}
	s.due.clock.Store(c)
	c.loops.Every(clockRefresh, clockPatience, "measure the database's time", c.measure)
	return c, nil
}

// Now is the database's time, within about half a round trip.
func (c *Clock) Now() time.Time {
	return time.Unix(0, c.offset.Load()).Add(time.Since(c.start)).UTC()
}

// Stop ends the measuring; Now goes on with the last offset.
func (c *Clock) Stop() { c.loops.Stop() }

// measure takes the offset of the quickest trip: its answer was made in the middle
// of it, give or take half of it.
func (c *Clock) measure(ctx context.Context) error {
	best := time.Duration(-1)
	for range clockTrips {
		sent := time.Since(c.start)
		now, err := c.s.now(ctx)
		if err != nil {
			return err
		}
		trip := time.Since(c.start) - sent
		if best < 0 || trip < best {
			best = trip
			c.offset.Store(now.Add(-sent - trip/2).UnixNano())
		}
	}
	c.compare(time.Now())
	return nil
}

// compare warns when this machine's clock has come to be off.
func (c *Clock) compare(machine time.Time) {
	ahead := machine.Sub(c.Now())
	was := c.skewed
	if c.skewed = ahead.Abs() > clockSkew; c.skewed && !was {
		c.s.log.Warn("this machine's clock is not the database's: providers may refuse what it signs; set it by NTP",
			"ahead", ahead.Round(time.Millisecond))
	}
}
