package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fanline/store/storetest"
)

// fakeLocal hands what reaches it to channels.
type fakeLocal struct {
	wakes   chan struct{}
	tooMany chan string
}

func newFakeLocal() *fakeLocal {
	return &fakeLocal{wakes: make(chan struct{}, 100), tooMany: make(chan string, 100)}
}

func (l *fakeLocal) Wake() { l.wakes <- struct{}{} }

func (l *fakeLocal) TooMany(fan int64, session string) { l.tooMany <- fmt.Sprint(fan, " ", session) }

// newRegistry is not started: the test writes to Redis by hand, step by step.
func newRegistry(t testing.TB, url, instance string) *Registry {
	t.Helper()
	r, err := NewRegistry(RegistryConfig{
		Redis: storetest.DialRedis(t, url), Instance: instance, Timeout: 5 * time.Second,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(context.Background()) })
	return r
}

// sync does what the loops of a started registry do; for one that is not.
func (r *Registry) sync(t testing.TB) {
	t.Helper()
	err := r.beat(t.Context())
	for err == nil && r.dirtyCount() > 0 {
		err = r.flushSome(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (r *Registry) wantHolders(t testing.TB, fan int64, want ...string) {
	t.Helper()
	got, err := r.lookup(t.Context(), []int64{fan})
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("fan %d is at %v, %v; want %v", fan, got, err, want)
	}
}

func forEachRedis(t *testing.T, f func(t *testing.T, url string)) {
	t.Parallel()
	t.Run("redis-server", func(t *testing.T) { t.Parallel(); f(t, storetest.Redis(t)) })
	t.Run("in process", func(t *testing.T) { t.Parallel(); f(t, storetest.MiniRedis(t)) })
}

func TestTheEndOfAnOldConnectionDoesNotHideANewerOne(t *testing.T) {
	forEachRedis(t, func(t *testing.T, url string) {
		a, b := newRegistry(t, url, "a"), newRegistry(t, url, "b")
		a.Connect(1, "c1")
		a.sync(t)
		b.Connect(1, "c2")
		b.sync(t)
		a.Disconnect(1, "c1") // late
		a.sync(t)
		a.wantHolders(t, 1, "b")
		b.Disconnect(1, "c2")
		b.sync(t)
		a.wantHolders(t, 1)
	})
}

func TestTwoTabsOnOneInstanceAreTwo(t *testing.T) {
	forEachRedis(t, func(t *testing.T, url string) {
		a := newRegistry(t, url, "a")
		a.Connect(1, "c1")
		a.Connect(1, "c2")
		a.sync(t)
		a.Disconnect(1, "c1")
		a.sync(t)
		a.wantHolders(t, 1, "a")
		a.Connect(1, "c3")
		a.Disconnect(1, "c2") // both before either is written
		a.sync(t)
		a.wantHolders(t, 1, "a")
		a.Disconnect(1, "c3")
		a.sync(t)
		a.wantHolders(t, 1)
	})
}

func TestAnEmptiedRedisHealsAtTheNextBeat(t *testing.T) {
	forEachRedis(t, func(t *testing.T, url string) {
		a := newRegistry(t, url, "a")
		const fans = 3*flushChunk + 7
		for fan := range int64(fans) {
			a.Connect(fan, fmt.Sprint("c", fan))
		}
		a.sync(t)
		a.cfg.Redis.FlushAll(t.Context())
		a.wantHolders(t, 1)
		a.sync(t)
		for _, fan := range []int64{0, 1, fans - 1} {
			a.wantHolders(t, fan, "a")
		}
	})
}

func TestManyFansAreLookedUpInChunks(t *testing.T) {
	t.Parallel()
	url := storetest.Redis(t)
	a, c := newRegistry(t, url, "a"), newRegistry(t, url, "c")
	var fans []int64
	for fan := range int64(20_000) {
		fans = append(fans, fan)
		if fan%4 == 0 {
			a.Connect(fan, fmt.Sprint("c", fan))
		}
	}
	start := time.Now()
	a.sync(t)
	t.Logf("%d fans written in %v", len(fans)/4, time.Since(start))
	start = time.Now()
	if err := c.WakeFans(t.Context(), fans); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d fans looked up in %v", len(fans), time.Since(start))
	if n := c.Stats().Published; n != 1 {
		t.Errorf("published %d messages", n)
	}
	info := c.cfg.Redis.Info(t.Context(), "commandstats").Val()
	if got := regexp.MustCompile(`cmdstat_publish:calls=(\d+)`).FindStringSubmatch(info); got == nil || got[1] != "1" {
		t.Errorf("Redis counted %v", got)
	}
}

func TestStoppingTakesTheInstanceOutOfRedis(t *testing.T) {
	forEachRedis(t, func(t *testing.T, url string) {
		a, b := newRegistry(t, url, "a"), newRegistry(t, url, "b")
		a.Connect(1, "c1")
		b.Connect(1, "c2")
		a.sync(t)
		b.sync(t)
		l := newFakeLocal()
		if err := a.Start(l); err != nil {
			t.Fatal(err)
		}
		<-l.wakes
		for range 2 {
			if err := a.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		b.wantHolders(t, 1, "b")
		if left := b.cfg.Redis.HKeys(t.Context(), b.fanKey(1)).Val(); !slices.Equal(left, []string{"c2"}) {
			t.Errorf("left %v", left)
		}
		if err := a.Start(l); err == nil {
			t.Error("started after Stop")
		}
	})
}

func TestARedisThatIsAwayHoldsNobodyAndHealsByItself(t *testing.T) {
	t.Parallel()
	server := storetest.RedisServer(t)
	a := newRegistry(t, server.URL(), "a")
	a.cfg.Timeout, a.cfg.Beat = 200*time.Millisecond, 50*time.Millisecond
	l := newFakeLocal()
	if err := a.Start(l); err != nil {
		t.Fatal(err)
	}
	<-l.wakes
	<-l.wakes
	server.Kill()
	a.Connect(1, "c1")
	start := time.Now()
	for i := range 100 {
		err := a.WakeFans(t.Context(), []int64{1, 2})
		if err == nil {
			t.Fatal("no error")
		}
		if i > 0 && !errors.Is(err, errAway) {
			t.Errorf("tried again: %v", err)
		}
		<-l.wakes // the local instance is woken all the same
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("callers were held for %v", d)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-l.wakes // subscribed again: wakes may have been lost
	<-l.wakes
	events := watchKeys(t, server.URL(), a.fanKey(1))
	a.markAll()
	<-events
	newRegistry(t, server.URL(), "b").wantHolders(t, 1, "a")
}

// watchKeys returns a channel that gets a signal for each change of a key.
func watchKeys(t testing.TB, url, key string) <-chan *redis.Message {
	t.Helper()
	c := storetest.DialRedis(t, url)
	if err := c.ConfigSet(t.Context(), "notify-keyspace-events", "KEA").Err(); err != nil {
		t.Fatal(err)
	}
	sub := c.Subscribe(t.Context(), "__keyspace@0__:"+key)
	t.Cleanup(func() { _ = sub.Close() })
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sub.Channel()
}

func TestAnOutageCostsNoMemoryBeyondTheFans(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, "redis://127.0.0.1:1/0", "a")
	for i := range int64(2 * removedMost) {
		r.Connect(i, "c")
		r.Disconnect(i, "c")
	}
	if s := r.Stats(); s.Waiting > removedMost || s.Fans != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestARegistryWithoutWhatItNeedsIsRefused(t *testing.T) {
	t.Parallel()
	patient := redis.NewClient(&redis.Options{})
	defer patient.Close()
	hasty := redis.NewClient(&redis.Options{ContextTimeoutEnabled: true})
	defer hasty.Close()
	for _, cfg := range []RegistryConfig{
		{},
		{Redis: patient},
		{Redis: hasty, Lease: time.Second},
		{Redis: hasty, FanTTL: time.Second},
	} {
		if _, err := NewRegistry(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

func TestTwoDatabasesOnOneRedisHaveTheirOwnFans(t *testing.T) {
	t.Parallel()
	url := storetest.Redis(t)
	a, b := newRegistry(t, url, "a"), newRegistry(t, url, "b")
	a.cfg.Database = "other"
	a.Connect(1, "c1")
	a.sync(t)
	b.wantHolders(t, 1)
	a.wantHolders(t, 1, "a")
}
