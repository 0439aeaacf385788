package ratelimit_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"fanline/ratelimit"
	"fanline/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

func limiter(t testing.TB, c redis.UniversalClient, instances int) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(ratelimit.Config{
		Redis: c, Log: slog.New(slog.DiscardHandler), Timeout: 5 * time.Second,
		Instances: func(context.Context) (int, error) { return instances, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// hour is a limit whose window does not pass within a test.
func hour(n int) ratelimit.Limit { return ratelimit.Limit{N: n, Per: time.Hour} }

func TestABurstFromTwoInstancesGetsTheLimitAndNoMore(t *testing.T) {
	t.Parallel()
	url := storetest.Redis(t)
	a, b := storetest.DialRedis(t, url), storetest.DialRedis(t, url)
	for round := range 20 {
		name, granted := fmt.Sprint("burst", round), atomic.Int64{}
		var wg sync.WaitGroup
		for i := range 1000 {
			l := limiter(t, []redis.UniversalClient{a, b}[i%2], 2)
			wg.Go(func() {
				n, _, err := l.Take(t.Context(), name, hour(5), 1)
				if err != nil {
					t.Error(err)
				}
				granted.Add(int64(n))
			})
		}
		wg.Wait()
		card, err := a.ZCard(t.Context(), "fanline:limit:{"+name+"}").Result()
		if err != nil || granted.Load() != 5 || card != 5 {
			t.Fatalf("round %d: %d granted, %d kept, want 5 and 5 (%v)", round, granted.Load(), card, err)
		}
	}
}

func TestARefusedCallLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	c := storetest.DialRedis(t, storetest.Redis(t))
	l := limiter(t, c, 1)
	take := func(n int) (int, time.Duration) {
		t.Helper()
		got, after, err := l.Take(t.Context(), "x", hour(3), n)
		if err != nil {
			t.Fatal(err)
		}
		return got, after
	}
	if n, _ := take(2); n != 2 {
		t.Fatalf("got %d of 2", n)
	}
	if n, _ := take(2); n != 1 {
		t.Fatalf("got %d where 1 was left", n)
	}
	_, first := take(1)
	for range 50 {
		if n, after := take(1); n != 0 || after > first || after <= 0 {
			t.Fatalf("got %d, again in %v after %v: refused calls extend the block", n, after, first)
		}
	}
	if s := l.Stats(); s.Granted != 3 || s.Refused != 51 || s.Alone != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestACallMayTakeThousands(t *testing.T) {
	t.Parallel()
	c := storetest.DialRedis(t, storetest.Redis(t))
	l := limiter(t, c, 1)
	for _, want := range []int{1, 500, 1750, 749, 0} { // of a limit of 3,000
		if n, _, err := l.Take(t.Context(), "x", hour(3000), max(want, 1)); n != want || err != nil {
			t.Fatalf("got %d of %d, %v", n, want, err)
		}
	}
	if kept, err := c.ZCard(t.Context(), "fanline:limit:{x}").Result(); kept != 3000 || err != nil {
		t.Errorf("%d permits are kept, not 3,000 (%v)", kept, err)
	}
}

func TestALoweredLimitHoldsUntilEnoughHaveLeft(t *testing.T) {
	t.Parallel()
	c := storetest.DialRedis(t, storetest.Redis(t))
	l := limiter(t, c, 1)
	if n, _, err := l.Take(t.Context(), "x", hour(10), 10); n != 10 || err != nil {
		t.Fatal(n, err)
	}
	if n, after, err := l.Take(t.Context(), "x", hour(4), 1); n != 0 || after <= 0 || err != nil {
		t.Errorf("got %d, again in %v, %v", n, after, err)
	}
}

// No window of any position ever holds more than the limit: the moments of all
// permits, by Redis's clock, are looked at pair by pair.
func TestNoWindowOfAnyPositionHoldsMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	url := storetest.Redis(t)
	a, b := storetest.DialRedis(t, url), storetest.DialRedis(t, url)
	la, lb := limiter(t, a, 2), limiter(t, b, 2)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		name := fmt.Sprint("window", round)
		limit := ratelimit.Limit{N: rapid.IntRange(1, 7).Draw(rt, "limit"), Per: 5 * time.Millisecond}
		seen := map[string]float64{}
		for range 60 {
			n := rapid.IntRange(1, 4).Draw(rt, "n")
			l := la
			if rapid.Bool().Draw(rt, "second instance") {
				l = lb
			}
			got, after, err := l.Take(t.Context(), name, limit, n)
			if err != nil || got > n || got == 0 && (after <= 0 || after > limit.Per) {
				rt.Fatalf("took %d of %d, again in %v: %v", got, n, after, err)
			}
			zs, err := a.ZRangeWithScores(t.Context(), "fanline:limit:{"+name+"}", 0, -1).Result()
			if err != nil {
				rt.Fatal(err)
			}
			for _, z := range zs {
				seen[z.Member.(string)] = z.Score
			}
		}
		at := make([]float64, 0, len(seen))
		for _, s := range seen {
			at = append(at, s)
		}
		slices.Sort(at)
		for i := limit.N; i < len(at); i++ {
			if at[i]-at[i-limit.N] < float64(limit.Per.Microseconds()) {
				rt.Fatalf("%d permits within %v µs of a limit of %d in %v", limit.N+1, at[i]-at[i-limit.N], limit.N, limit.Per)
			}
		}
	})
}

func TestAClockSetBackForgetsNothing(t *testing.T) {
	t.Parallel()
	c := storetest.DialRedis(t, storetest.Redis(t))
	// As if five permits had been granted by a clock an hour ahead.
	ahead := float64(time.Now().Add(time.Hour).UnixMicro())
	for i := range 5 {
		c.ZAdd(t.Context(), "fanline:limit:{x}", redis.Z{Score: ahead, Member: i})
	}
	if n, _, err := limiter(t, c, 1).Take(t.Context(), "x", ratelimit.PerSecond(5), 1); n != 0 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}

func TestWithoutRedisEachInstanceKeepsItsShare(t *testing.T) {
	t.Parallel()
	server := storetest.RedisServer(t)
	c := storetest.DialRedis(t, server.URL())
	l := limiter(t, c, 4)
	if n, _, err := l.Take(t.Context(), "x", hour(20), 1); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	server.Kill()
	got := 0
	for range 50 {
		n, _, err := l.Take(t.Context(), "x", hour(20), 1)
		if err != nil {
			t.Fatal(err)
		}
		got += n
	}
	if s := l.Stats(); got != 5 || s.Alone != 50 {
		t.Errorf("granted %d of a share of 5; %+v", got, s)
	}
}

func TestAFewPermitsAmongManyInstancesAreRare(t *testing.T) {
	t.Parallel()
	server := storetest.RedisServer(t)
	c := storetest.DialRedis(t, server.URL())
	l := limiter(t, c, 10)
	if _, _, err := l.Take(t.Context(), "y", hour(3), 1); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	first, _, err1 := l.Take(t.Context(), "x", hour(3), 1)
	second, after, err2 := l.Take(t.Context(), "x", hour(3), 1)
	if first != 1 || second != 0 || after < 3*time.Hour || err1 != nil || err2 != nil {
		t.Errorf("got %d, then %d and again in %v, want one in four hours (%v, %v)", first, second, after, err1, err2)
	}
}

func TestACallerThatGivesUpGetsNothing(t *testing.T) {
	t.Parallel()
	l := limiter(t, storetest.DialRedis(t, storetest.Redis(t)), 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, _, err := l.Take(ctx, "x", hour(3), 1); n != 0 || err == nil {
		t.Errorf("got %d, %v", n, err)
	}
	if s := l.Stats(); s.Alone != 0 {
		t.Errorf("a caller that gave up was taken for a Redis that is away: %+v", s)
	}
}

func TestAWrongLimitIsAnError(t *testing.T) {
	t.Parallel()
	l := limiter(t, storetest.DialRedis(t, storetest.Redis(t)), 1)
	for _, limit := range []ratelimit.Limit{{}, {N: 1}, {N: -1, Per: time.Second}} {
		if _, _, err := l.Take(t.Context(), "x", limit, 1); err == nil {
			t.Errorf("%+v was taken", limit)
		}
	}
}

func TestCallsAtOnceNeverGetMoreThanTheLimitNorPutItOff(t *testing.T) {
	t.Parallel()
	url := storetest.Redis(t)
	a, b := storetest.DialRedis(t, url), storetest.DialRedis(t, url)
	la, lb := limiter(t, a, 2), limiter(t, b, 2)
	for round := range 50 {
		name, granted := fmt.Sprint("parallel", round), atomic.Int64{}
		var wg sync.WaitGroup
		for i := range 200 {
			l := []*ratelimit.Limiter{la, lb}[i%2]
			wg.Go(func() {
				n, _, err := l.Take(t.Context(), name, hour(10), 1)
				if err != nil {
					t.Error(err)
				}
				granted.Add(int64(n))
			})
		}
		wg.Wait()
		kept, err := a.ZRangeWithScores(t.Context(), "fanline:limit:{"+name+"}", 0, -1).Result()
		if err != nil || granted.Load() != 10 || len(kept) != 10 {
			t.Fatalf("round %d: %d granted, %d kept, %v", round, granted.Load(), len(kept), err)
		}
		_, after, err := la.Take(t.Context(), name, hour(10), 1)
		if err != nil || after > time.Hour {
			t.Fatalf("round %d: again in %v, %v", round, after, err)
		}
		still, err := a.ZRangeWithScores(t.Context(), "fanline:limit:{"+name+"}", 0, -1).Result()
		if err != nil || !slices.Equal(kept, still) {
			t.Fatalf("round %d: a refused call changed what is kept, %v", round, err)
		}
	}
}

// spy keeps the arguments of scripts.
type spy struct {
	mu   sync.Mutex
	args [][]any
}

func (s *spy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *spy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *spy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.mu.Lock()
		s.args = append(s.args, cmd.Args())
		s.mu.Unlock()
		return next(ctx, cmd)
	}
}

// Instances whose clocks stand minutes apart agree, since none of them says what time it is: Redis does.
func TestNoInstanceTellsRedisTheTime(t *testing.T) {
	t.Parallel()
	c := storetest.DialRedis(t, storetest.Redis(t))
	s := &spy{}
	c.AddHook(s)
	l := limiter(t, c, 1)
	before := time.Now()
	for range 3 {
		if _, _, err := l.Take(t.Context(), "x", hour(10), 2); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range s.args {
		for _, a := range args[2:] {
			if n, ok := a.(int64); ok && n >= before.Unix() && n != time.Hour.Microseconds() {
				t.Errorf("%v was sent, which may be a time", args)
			}
		}
	}
	if len(s.args) == 0 {
		t.Error("nothing was seen")
	}
}
