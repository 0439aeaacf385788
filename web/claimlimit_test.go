package web

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// fakeLimit refuses the shows and fans named.
type fakeLimit map[string]time.Duration

func (f fakeLimit) Take(_ context.Context, show, fan string) (time.Duration, bool, error) {
	for _, name := range []string{show, fan} {
		if after, ok := f[name]; ok {
			return after, false, nil
		}
	}
	return 0, true, nil
}

func TestClaimsOverTheLimitAreToldWhenToTryAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) { c.ClaimLimit = fakeLimit{"busy": 1200 * time.Millisecond} })
	res := r.app("POST", "/v1/shows/busy/openings/o/claims", `{"fan_id":"ada"}`)
	res.problem(http.StatusTooManyRequests, "rate_limited", "")
	if after := res.Header().Get("Retry-After"); after != "2" {
		t.Errorf("Retry-After %q", after)
	}
	r.fan("POST", "/v1/me/turns/busy/o/claim", "").problem(http.StatusTooManyRequests, "rate_limited", "")
	if asked := r.store.asked(); len(asked) != 0 {
		t.Errorf("the line was asked: %v", asked)
	}
	r.app("POST", "/v1/shows/s1/openings/o1/claims", `{"fan_id":"ada"}`).json(http.StatusCreated)
}
