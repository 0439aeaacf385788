package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-redis/redis_rate/v10"

	"fanline/ratelimit"
)

// permitsACall is how many permits ours takes at once: a twentieth of the limit, the most that senders take.
const permitsACall = 500

// limits measures permits of a provider's limit of 10,000 a second: ours, some a call, beside one a call by the usual library.
// The limits are so high that nobody is refused: what is measured is what asking costs.
func limits(ctx context.Context, b *bench) error {
	ours, err := ratelimit.New(ratelimit.Config{Redis: b.rdb, Timeout: 5 * time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	rival := redis_rate.NewLimiter(b.rdb)
	const callers, each = 16, 50
	const limit = 100_000_000
	n := b.times(300)
	var one, many pairs
	b.progress.step()
	for i := range n {
		b.progress.at("rounds", i, n)
		take := func(permits int) (float64, error) {
			took, err := together(callers, each, func(int, int) error {
				got, _, err := ours.Take(ctx, fmt.Sprint("ours-", permits, "-", i), ratelimit.Limit{N: limit, Per: 100 * time.Millisecond}, permits)
				if err == nil && got != permits {
					err = errors.New("ours refused a permit")
				}
				return err
			})
			return rate(callers*each*permits, took), err
		}
		many1, err := take(permitsACall)
		if err != nil {
			return err
		}
		one1, err := take(1)
		if err != nil {
			return err
		}
		took, err := together(callers, each, func(int, int) error {
			r, err := rival.Allow(ctx, fmt.Sprint("rival-", i), redis_rate.PerSecond(limit))
			if err == nil && r.Allowed != 1 {
				err = errors.New("the rival refused a permit")
			}
			return err
		})
		if err != nil {
			return err
		}
		many.add(many1, rate(callers*each, took))
		one.add(one1, rate(callers*each, took))
	}
	b.progress.at("rounds", n, n)
	const name = "redis_rate, one a call"
	b.report(compare("limiter", "permits/s", name, &many, fmt.Sprintf("%d permits a call, %d callers; a permit is a row of a log, so that no window ever holds more", permitsACall, callers)))
	b.report(compare("limiter.one", "permits/s", name, &one, "ours one a call too; the rival keeps one number, and lets up to twice the limit through in a window"))
	return nil
}
