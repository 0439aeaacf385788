package main

import (
	"context"
	"time"

	"fanline/ratelimit"
)

// claimsPerFan is how many claims one fan may try a second, in all shows.
const claimsPerFan = 20

// claimLimit protects the checkout: at most so many claims a second reach one show,
// and one fan cannot use them up.
type claimLimit struct {
	limiter *ratelimit.Limiter
	perShow int
}

// Take asks for one claim. The fan's own limit comes first, so that a fan over it
// costs the show nothing.
func (c claimLimit) Take(ctx context.Context, show, fan string) (retryAfter time.Duration, ok bool, err error) {
	for _, l := range []struct {
		name string
		n    int
	}{{"claims:fan:" + fan, claimsPerFan}, {"claims:show:" + show, c.perShow}} {
		n, after, err := c.limiter.Take(ctx, l.name, ratelimit.PerSecond(l.n), 1)
		if err != nil || n == 0 {
			return after, false, err
		}
	}
	return 0, true, nil
}
