package ratelimit_test

import (
	"testing"
	"time"

	"fanline/store/storetest"
)

func TestWhatWasTakenInTheLastWindowIsUsed(t *testing.T) {
	t.Parallel()
	c := storetest.DialRedis(t, storetest.Redis(t))
	l := limiter(t, c, 1)
	if n := l.Used(t.Context(), "x", time.Hour); n != 0 {
		t.Errorf("%d used before anything was taken", n)
	}
	if got, _, err := l.Take(t.Context(), "x", hour(10), 7); got != 7 || err != nil {
		t.Fatalf("%d, %v", got, err)
	}
	if n := l.Used(t.Context(), "x", time.Hour); n != 7 {
		t.Errorf("%d used, want 7", n)
	}
	if n := l.Used(t.Context(), "y", time.Hour); n != 0 {
		t.Errorf("%d used of another", n)
	}
}
