package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fanline/store/storetest"
	"fanline/waitlist"
)

// newTestCache returns a started cache, hearing the others, with a client of its own.
func newTestCache(t testing.TB, url string) *Cache {
	t.Helper()
	rdb, err := OpenRedis(url)
	if err != nil {
		t.Fatal(err)
	}
	clock := &Clock{start: time.Now()}
	clock.offset.Store(clock.start.UnixNano())
	c, err := (&Store{}).NewCache(CacheConfig{Redis: rdb, Database: "db", Clock: clock, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	c.Start()
	t.Cleanup(func() { c.Stop(); _ = rdb.Close() })
	waitFor(t, c.hears.Load)
	return c
}

// waitFor waits for what another goroutine or process is about to do.
func waitFor(t testing.TB, ok func() bool) {
	t.Helper()
	for !ok() {
		if t.Context().Err() != nil {
			t.Fatal("it never came")
		}
		time.Sleep(time.Millisecond)
	}
}

func loadOf(v int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return v, nil }
}

func failing(context.Context) (int, error) { return 0, errors.New("nothing is to be loaded") }

func want(t testing.TB, c *Cache, key string, want int, load func(context.Context) (int, error)) {
	t.Helper()
	v, err := cached(t.Context(), c, key, time.Minute, load)
	if err != nil || *v != want {
		t.Errorf("%s: %v, %v; want %d", key, v, err, want)
	}
}

// TestASlowReaderNeverPutsBackWhatAWriterReplaced has readers of several instances
// that pause between their read and their fill, while writers commit and make stale.
// A read that began after a write sees it, or a later one; on another instance than
// the writer's once that has heard of it.
func TestASlowReaderNeverPutsBackWhatAWriterReplaced(t *testing.T) {
	t.Parallel()
	url := storetest.Redis(t)
	here, there := newTestCache(t, url), newTestCache(t, url)
	for round := range 1000 {
		key := fmt.Sprint("round ", round)
		var committed atomic.Int64
		load := func(context.Context) (int64, error) {
			v := committed.Load()
			pause()
			return v, nil
		}
		var wg sync.WaitGroup
		for _, c := range []*Cache{here, there} {
			for range 2 {
				wg.Go(func() {
					pause()
					if _, err := cached(t.Context(), c, key, time.Minute, load); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Go(func() {
			for range 3 {
				pause()
				now := committed.Add(1)
				here.stale(t.Context(), []string{key})
				if v, err := cached(t.Context(), here, key, time.Minute, load); err != nil || *v < now {
					t.Errorf("round %d: %v, %v after %d was written", round, v, err, now)
				}
			}
		})
		wg.Wait()
		there.forget(key) // as it does when it hears of it
		for _, c := range []*Cache{here, there} {
			if v, err := cached(t.Context(), c, key, time.Minute, load); err != nil || *v != 3 {
				t.Fatalf("round %d: %v, %v at rest, want 3", round, v, err)
			}
		}
	}
}

// pause is up to half a millisecond, or none.
func pause() {
	if n := rand.IntN(4); n > 0 {
		time.Sleep(time.Duration(rand.IntN(n * 150_000)))
	}
}

func TestManyReadersOfAColdKeyMakeOneLoad(t *testing.T) {
	t.Parallel()
	c := newTestCache(t, storetest.Redis(t))
	const readers = 5000
	begun, ready := make(chan struct{}), make(chan struct{})
	load := func(context.Context) (int, error) { close(begun); <-ready; return 7, nil }
	first, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := cached(first, c, "k", time.Minute, load)
		left <- err
	}()
	<-begun
	var wg sync.WaitGroup
	for range readers - 1 {
		wg.Go(func() {
			if v, err := cached(t.Context(), c, "k", time.Minute, load); err != nil || *v != 7 {
				t.Errorf("%v, %v", v, err)
			}
		})
	}
	waitFor(t, func() bool { return c.Stats().Joined == readers-1 })
	cancel() // the one whose load it is goes away
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who went away got %v", err)
	}
	close(ready)
	wg.Wait()
	if s := c.Stats(); s.Loads != 1 {
		t.Errorf("%d loads, want 1", s.Loads)
	}
}

func TestAnErrorIsEverybodysAndIsNotKept(t *testing.T) {
	t.Parallel()
	c := newTestCache(t, storetest.Redis(t))
	broken := errors.New("the database is away")
	if _, err := cached(t.Context(), c, "k", time.Minute, func(context.Context) (int, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	want(t, c, "k", 1, loadOf(1))
}

func TestThatThereIsNothingIsKeptUntilAWriteMakesIt(t *testing.T) {
	t.Parallel()
	c := newTestCache(t, storetest.Redis(t))
	missing := func(context.Context) (int, error) { return 0, waitlist.Refuse(waitlist.NotFound, "no such thing") }
	for _, load := range []func(context.Context) (int, error){missing, failing} {
		_, err := cached(t.Context(), c, "k", time.Minute, load)
		if waitlist.CodeOf(err) != waitlist.NotFound || !strings.Contains(err.Error(), "no such thing") {
			t.Errorf("%v", err)
		}
	}
	if left, err := c.cfg.Redis.PTTL(t.Context(), c.name("k")).Result(); err != nil || left > missingFor {
		t.Errorf("it is kept for %v, %v; want %v at most", left, err, missingFor)
	}
	c.stale(t.Context(), []string{"k"})
	want(t, c, "k", 1, loadOf(1))
}

func TestAnotherInstanceUsesWhatOneLoadedAndHearsOfWrites(t *testing.T) {
	t.Parallel()
	url := storetest.Redis(t)
	one, two := newTestCache(t, url), newTestCache(t, url)
	want(t, one, "k", 1, loadOf(1))
	want(t, two, "k", 1, failing)
	if s := two.Stats(); s.Shared != 1 || s.Loads != 0 {
		t.Errorf("the other instance: %+v", s)
	}
	gen := two.gen("k").Load()
	one.stale(t.Context(), []string{"k"})
	want(t, one, "k", 2, loadOf(2))
	waitFor(t, func() bool { return two.gen("k").Load() != gen })
	want(t, two, "k", 2, failing)
}

func TestGarbageInRedisIsAMiss(t *testing.T) {
	t.Parallel()
	c := newTestCache(t, storetest.Redis(t))
	good := string(encodeShared(time.Now().Add(time.Hour), []byte(`{"v":9}`)))
	for i, garbage := range []string{
		"", "x", "D", strings.Repeat("\xff", 300), good[:len(good)-1], good[:12] + "\x00" + good[13:],
		string(encodeShared(time.Now().Add(time.Hour), []byte(`{"v":"nine"}`))),
		string(encodeShared(time.Now().Add(-time.Second), []byte(`{"v":9}`))), // its end is past
	} {
		key := fmt.Sprint("k", i)
		if err := c.cfg.Redis.Set(t.Context(), c.name(key), garbage, 0).Err(); err != nil {
			t.Fatal(err)
		}
		want(t, c, key, 1, loadOf(1))
		c.forget(key)
		if garbage != "" {
			want(t, c, key, 1, failing) // the load took its place
		}
	}
	if err := c.cfg.Redis.HSet(t.Context(), c.name("hash"), "a", "b").Err(); err != nil {
		t.Fatal(err)
	}
	want(t, c, "hash", 1, loadOf(1))
}

func TestAFlushOfRedisLosesNothing(t *testing.T) {
	t.Parallel()
	c := newTestCache(t, storetest.Redis(t))
	want(t, c, "k", 1, loadOf(1))
	if _, err := cached(t.Context(), c, "l", time.Minute, func(ctx context.Context) (int, error) {
		return 1, c.cfg.Redis.FlushAll(ctx).Err() // under a load in progress: its ticket is gone
	}); err != nil {
		t.Fatal(err)
	}
	c.forgetAll()
	want(t, c, "k", 2, loadOf(2))
	want(t, c, "l", 2, loadOf(2))
}

func TestWithoutRedisEverythingIsLoadedOnceForAllWhoAsk(t *testing.T) {
	t.Parallel()
	server := storetest.RedisServer(t)
	c := newTestCache(t, server.URL())
	want(t, c, "k", 1, loadOf(1))
	server.Kill()
	waitFor(t, func() bool { return !c.hears.Load() })
	want(t, c, "k", 2, loadOf(2)) // nothing old is served
	c.stale(t.Context(), []string{"k"})
	loads := c.Stats().Loads
	begun, ready := make(chan struct{}), make(chan struct{})
	load := func(context.Context) (int, error) { close(begun); <-ready; return 3, nil }
	joined := c.Stats().Joined
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { want(t, c, "k", 3, load) })
	}
	<-begun
	waitFor(t, func() bool { return c.Stats().Joined == joined+99 })
	close(ready)
	wg.Wait()
	if n := c.Stats().Loads - loads; n != 1 {
		t.Errorf("%d loads, want 1", n)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, c.hears.Load)
	want(t, c, "k", 4, loadOf(4))
	want(t, c, "k", 4, failing)
}

func TestAValueWhoseWriterDiedEndsByItself(t *testing.T) {
	t.Parallel()
	c := newTestCache(t, storetest.Redis(t))
	if _, err := cached(t.Context(), c, "k", inputFor, loadOf(1)); err != nil {
		t.Fatal(err)
	}
	left, err := c.cfg.Redis.PTTL(t.Context(), c.name("k")).Result()
	if err != nil || left <= 0 || left > 2*time.Second {
		t.Errorf("it ends in %v, %v; want 2 s at most", left, err)
	}
	e, ok := c.local.GetEntry("k")
	if d := time.Until(e.Value.until); !ok || d > localFor {
		t.Errorf("this process keeps it for %v", d)
	}
}

func TestAReadDoesNotJoinALoadFromBeforeAWrite(t *testing.T) {
	t.Parallel()
	c := newTestCache(t, storetest.Redis(t))
	begun, ready, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		want(t, c, "k", 1, func(context.Context) (int, error) { close(begun); <-ready; return 1, nil })
	}()
	<-begun
	c.stale(t.Context(), []string{"k"})
	want(t, c, "k", 2, loadOf(2))
	close(ready)
	<-done
	want(t, c, "k", 2, failing)
	c.forget("k")
	want(t, c, "k", 2, failing) // nor did it fill Redis
}

func TestATicketStandsForWhatAWriteMakesStale(t *testing.T) {
	t.Parallel()
	url := storetest.Redis(t)
	one, two := newTestCache(t, url), newTestCache(t, url)
	first := one.version(t.Context(), "n")
	if first == "" || two.version(t.Context(), "n") != first || one.version(t.Context(), "n") != first {
		t.Error("a ticket is the same for all and as long as nothing is written")
	}
	one.stale(t.Context(), []string{"n"})
	if next := one.version(t.Context(), "n"); next == first || next == "" {
		t.Errorf("after a write it is %q, as before", next)
	}
}

func TestAnInboxReadDoesNotJoinARefreshFromBeforeAWrite(t *testing.T) {
	t.Parallel()
	c := newTestCache(t, storetest.Redis(t))
	release, began := make(chan struct{}), make(chan struct{})
	go func() {
		_, _ = c.once(context.WithoutCancel(t.Context()), c.freshFlight(7), func(context.Context) (any, error) {
			close(began)
			<-release
			return 1, nil
		})
	}()
	<-began
	defer close(release)
	c.stale(t.Context(), []string{inboxKey(7)})
	v, err := c.once(t.Context(), c.freshFlight(7), func(context.Context) (any, error) { return 2, nil })
	if err != nil || v != 2 {
		t.Errorf("%v, %v", v, err)
	}
}
