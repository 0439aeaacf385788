package ratelimit_test

import (
	"testing"
	"time"

	"fanline/ratelimit"
	"fanline/store/storetest"
)

func TestALoweredLimitIsLowerForEveryInstance(t *testing.T) {
	t.Parallel()
	url := storetest.Redis(t)
	a, b := limiter(t, storetest.DialRedis(t, url), 2), limiter(t, storetest.DialRedis(t, url), 2)
	if f := a.InForce(t.Context(), "fcm", 1000); f != (ratelimit.Force{N: 1000}) {
		t.Fatalf("untouched: %+v", f)
	}
	for range 50 { // the refusals of one burst
		a.Lower(t.Context(), "fcm", 1000, 0)
	}
	if f := b.InForce(t.Context(), "fcm", 1000); f.N < 500 || f.N > 600 || f.Pause != 0 {
		t.Errorf("after one burst: %+v, want half", f)
	}
	a.Lower(t.Context(), "fcm", 1000, time.Minute)
	if f := b.InForce(t.Context(), "fcm", 1000); f.Pause < 50*time.Second || f.Pause > time.Minute {
		t.Errorf("told to wait a minute: %+v", f)
	}
	if f := b.InForce(t.Context(), "apns", 1000); f != (ratelimit.Force{N: 1000}) {
		t.Errorf("another provider: %+v", f)
	}
}
