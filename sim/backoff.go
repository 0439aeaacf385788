package sim

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff draws the wait before another try with full jitter, so that a crowd
// that was cut off together does not come back together.
type Backoff struct {
	Base time.Duration  // the first wait is below this, each next below twice as much; 0 is 250 ms
	Cap  time.Duration  // no wait is longer than this; 0 is 10 s
	Rand func() float64 // in [0, 1), called concurrently; nil is math/rand/v2
}

// Delay is the wait before the given try again, counted from 0.
func (b Backoff) Delay(try int) time.Duration {
	base, ceiling, random := b.Base, b.Cap, b.Rand
	if base <= 0 {
		base = 250 * time.Millisecond
	}
	if ceiling <= 0 {
		ceiling = 10 * time.Second
	}
	if random == nil {
		random = rand.Float64
	}
	span := ceiling
	// A shift by more than this overflows long after any ceiling was reached.
	if try < 30 && base<<try > 0 && base<<try < ceiling {
		span = base << try
	}
	return time.Duration(random() * float64(span))
}

// pause waits for d or until ctx ends, whichever is first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
