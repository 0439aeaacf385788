package delivery

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fanline/notifier"
	"fanline/ratelimit"
	"fanline/store/storetest"
)

func limitsOver(t *testing.T, l Limiter, text string) *Limits {
	t.Helper()
	cfg, err := ParseLimits(text)
	if err != nil {
		t.Fatal(err)
	}
	return NewLimits(l, cfg)
}

// window is a Limiter on the test's clock, with the log of what it granted.
type window struct {
	mu      sync.Mutex
	granted []time.Time
	most    int // permits of the largest batch
	asked   int
	force   map[string]int
}

func (w *window) Take(_ context.Context, _ string, limit ratelimit.Limit, n int) (int, time.Duration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.asked++
	recent := w.granted[len(w.granted)-w.since(now.Add(-limit.Per)):]
	got := min(n, limit.N-len(recent))
	if got <= 0 {
		return 0, recent[0].Add(limit.Per).Sub(now), nil
	}
	w.most = max(w.most, got)
	for range got {
		w.granted = append(w.granted, now)
	}
	return got, 0, nil
}

func (w *window) since(t time.Time) (n int) {
	for i := len(w.granted) - 1; i >= 0 && w.granted[i].After(t); i-- {
		n++
	}
	return n
}

func (w *window) Used(context.Context, string, time.Duration) int { return 0 }

func (w *window) InForce(_ context.Context, name string, configured int) ratelimit.Force {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n, ok := w.force[name]; ok {
		return ratelimit.Force{N: n}
	}
	return ratelimit.Force{N: configured}
}

func (w *window) Lower(ctx context.Context, name string, configured int, _ time.Duration) ratelimit.Force {
	n := w.InForce(ctx, name, configured).N / 2
	w.mu.Lock()
	defer w.mu.Unlock()
	w.force = map[string]int{name: n}
	return ratelimit.Force{N: n}
}

// spend has callers take permits, one each, until the time is over, and returns how
// many they used.
func spend(l *Limits, lane notifier.Lane, callers int, span time.Duration) (used int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	end := time.Now().Add(span)
	for range callers {
		wg.Go(func() {
			for time.Now().Before(end) {
				n, wait := l.Take(context.Background(), notifier.FCM, lane, 1)
				mu.Lock()
				used += n
				mu.Unlock()
				time.Sleep(max(wait, 5*time.Millisecond)) // the call
			}
		})
	}
	wg.Wait()
	return used
}

func TestABatchOfPermitsIsATwentiethOfTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &window{}
		used := spend(limitsOver(t, w, "fcm=500/s;transactional=0%"), notifier.Bulk, 100, 10*time.Second)
		if w.most > 25 {
			t.Errorf("a batch of %d, want at most 25", w.most)
		}
		if used < 4750 || used > 5500 {
			t.Errorf("%d permits used in 10 s of 500/s, want 95 %% or more", used)
		}
	})
}

func TestPermitsNotSpentInTimeAreLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &window{}
		l := limitsOver(t, w, "fcm=1000/s")
		g := l.gates[gateKey{notifier.FCM, false}]
		g.permits, g.expires = 30, time.Now().Add(permitLife)
		time.Sleep(permitLife)
		if n, _ := l.Take(t.Context(), notifier.FCM, notifier.Bulk, 1); n != 1 || w.asked != 1 || g.permits != 0 {
			t.Errorf("got %d with %d exchanges and %d left, want a new permit", n, w.asked, g.permits)
		}
	})
}

func TestOnlyTransactionalWorkMayUseTheReserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limitsOver(t, &window{}, "fcm=100/m;transactional=20%")
		take := func(lane notifier.Lane) (all int) {
			for {
				n, _ := l.Take(t.Context(), notifier.FCM, lane, 1)
				if all += n; n == 0 {
					return all
				}
			}
		}
		if bulk, urgent := take(notifier.Bulk), take(notifier.Transactional); bulk != 80 || urgent != 20 {
			t.Errorf("bulk got %d of 100 and transactional %d after it, want 80 and 20", bulk, urgent)
		}
		if n, wait := l.Take(t.Context(), notifier.FCM, notifier.Turns, 1); n != 0 || wait <= 0 {
			t.Errorf("turns got %d after it, to wait %v", n, wait)
		}
	})
}

func TestARefusingProviderLowersTheLimitInForce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &window{}
		l := limitsOver(t, w, "fcm=1000/s;transactional=0%")
		l.Slow(t.Context(), notifier.FCM, 0)
		if used := spend(l, notifier.Bulk, 100, 4*time.Second); used < 1900 || used > 2500 {
			t.Errorf("%d used in 4 s, want about 500 a second", used)
		}
	})
}

func TestTwoInstancesTogetherNeverGoOverAProvidersLimit(t *testing.T) {
	t.Parallel()
	url := storetest.Redis(t)
	c := storetest.DialRedis(t, url)
	var limits []*Limits
	for range 2 {
		limiter, err := ratelimit.New(ratelimit.Config{Redis: storetest.DialRedis(t, url), Timeout: 5 * time.Second, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		limits = append(limits, limitsOver(t, limiter, "fcm=200/h;transactional=0%"))
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	used := 0
	for i := range 400 {
		wg.Go(func() {
			n, _ := limits[i%2].Take(t.Context(), notifier.FCM, notifier.Bulk, 1)
			mu.Lock()
			defer mu.Unlock()
			used += n
		})
	}
	wg.Wait()
	kept, err := c.ZCard(t.Context(), "fanline:limit:{provider:fcm}").Result()
	if err != nil || kept > 200 || used > int(kept) {
		t.Errorf("%d used, %d kept of 200 (%v)", used, kept, err)
	}
	if used < 100 {
		t.Errorf("only %d used of 200", used)
	}
}

func TestLimitsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	cfg, err := ParseLimits("fcm=10000/s, twilio=100/s,smtp=30/m;transactional=15%")
	if err != nil || cfg.Reserve != 15 || !maps.Equal(cfg.Of, map[notifier.Channel]ratelimit.Limit{
		notifier.FCM: ratelimit.PerSecond(10000), notifier.SMS: ratelimit.PerSecond(100), notifier.Email: {N: 30, Per: time.Minute},
	}) {
		t.Errorf("%+v, %v", cfg, err)
	}
	for _, text := range []string{"fcm", "fcm=0/s", "fcm=10", "fcm=10/d", "fax=1/s", "fcm=-1/s", "transactional=95%", "transactional=20", "fcm=9999999/s"} {
		if _, err := ParseLimits(text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v, want an error that shows it", text, err)
		}
	}
	if cfg, err := ParseLimits(""); err != nil || len(slices.Collect(maps.Keys(cfg.Of))) != 0 {
		t.Errorf("nothing: %+v, %v", cfg, err)
	}
}
