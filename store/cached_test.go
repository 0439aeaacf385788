package store_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fanline/notifier"
	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
)

// cached puts a cache before a bench's store, over the Redis at url.
func (b *bench) cached(url string) *store.Cache {
	b.t.Helper()
	clock, err := b.store.NewClock(b.t.Context())
	must(b.t, err)
	b.t.Cleanup(clock.Stop)
	return b.cachedBy(url, clock)
}

// cachedBy is cached by a clock.
func (b *bench) cachedBy(url string, clock interface{ Now() time.Time }) *store.Cache {
	b.t.Helper()
	rdb, err := store.OpenRedis(url)
	must(b.t, err)
	database, err := b.store.DatabaseName(b.t.Context())
	must(b.t, err)
	c, err := b.store.NewCache(store.CacheConfig{Redis: rdb, Database: database, Clock: clock, Log: slog.New(slog.DiscardHandler)})
	must(b.t, err)
	c.Start()
	b.t.Cleanup(func() { c.Stop(); _ = rdb.Close() })
	b.until("the cache hears the others", func() bool { before := c.Stats().Bypassed; b.peek(); return c.Stats().Bypassed == before })
	return c
}

// peek reads something through the cache.
func (b *bench) peek() { _, _ = b.Entry(b.t.Context(), "none", "nobody") }

// until waits for what another goroutine or instance is about to do.
func (b *bench) until(what string, ok func() bool) {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("it never came: %s", what)
		}
	}
}

// wantFirst is wantInbox of a page that the cache serves.
func (b *bench) wantFirst(fan string, want ...string) {
	b.t.Helper()
	if got := b.inboxPage(fan, 50); !slices.Equal(got, want) {
		b.t.Errorf("inbox of %s: %v, want %v", fan, got, want)
	}
}

func (b *bench) reason(show, opening, fan string) waitlist.Reason {
	v, err := b.Verdict(b.t.Context(), at(show, opening), fan)
	if err != nil {
		return waitlist.Reason(waitlist.CodeOf(err))
	}
	return v.Reason
}

// TestEveryWriteIsSeenByTheNextRead has everything cached before each write, on the
// writer's instance and on another. The writer's sees it at once, the other as soon
// as it hears of it.
func TestEveryWriteIsSeenByTheNextRead(t *testing.T) {
	t.Parallel()
	for _, strategy := range []waitlist.Strategy{waitlist.Write, waitlist.Read} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			redis := storetest.Redis(t)
			b := newBench(t)
			other := benchOn(t, b.url)
			b.cached(redis)
			other.cached(redis)
			now := func(b *bench) string {
				e, err := b.Entry(t.Context(), "s", "ada")
				entry := string(waitlist.CodeOf(err))
				if err == nil {
					entry = string(e.State) + " " + strings.Repeat("i", e.Party)
				}
				return strings.Join(append([]string{string(b.reason("s", "o", "ada")), entry}, b.inboxPage("ada", 50)...), ", ")
			}
			var claim waitlist.Claim
			ctx := t.Context()
			policy := waitlist.PolicyChange{Strategy: waitlist.Some(strategy)}
			for _, step := range []struct {
				what string
				do   func()
				want string
			}{
				{"nothing", func() {}, "not_found, not_found"},
				{"show", func() { b.show("s", policy) }, "not_found, not_found"},
				{"opening", func() { b.free("s", "o", 1) }, "not_on_list, not_found"},
				{"join", func() { b.join("s", "ada") }, "behind, waiting i"},
				{"party", func() {
					_, err := b.ChangeEntry(ctx, "s", "ada", waitlist.EntryChange{Party: ptr(2)})
					must(t, err)
				}, "behind, waiting ii"},
				{"back", func() {
					_, err := b.ChangeEntry(ctx, "s", "ada", waitlist.EntryChange{Party: ptr(1)})
					must(t, err)
				}, "behind, waiting i"},
				{"pause", func() { must(t, b.Pause(ctx, "s", true)) }, "paused, waiting i"},
				{"resume", func() { must(t, b.Pause(ctx, "s", false)) }, "behind, waiting i"},
				{"leave", func() { must(t, b.Leave(ctx, "s", "ada")) }, "left, left i"},
				{"rejoin", func() { b.join("s", "ada") }, "behind, waiting i"},
				{"wave", func() { b.decide() }, "turn_open, waiting i, turn:s:o open*"},
				{"read", func() {
					_, err := b.store.MarkRead(ctx, "ada", []string{"turn:s:o"})
					must(t, err)
				}, "turn_open, waiting i, turn:s:o open"},
				{"claim", func() { claim = b.claim("s", "o", "ada") }, "claimed, holding i, turn:s:o claimed"},
				{"release", func() {
					_, err := b.Release(ctx, claim.ID, "")
					must(t, err)
				}, "hold_released, waiting i, turn:s:o over"},
				{"announcement", func() {
					_, _, err := b.store.Announce(ctx, "s", waitlist.NewAnnouncement{ID: "a", Title: "t", Body: "b"})
					must(t, err)
				}, "hold_released, waiting i, ann:s:a *, turn:s:o over"},
				{"all read", func() {
					_, err := b.store.MarkAllRead(ctx, "ada", time.Now().Add(time.Hour))
					must(t, err)
				}, "hold_released, waiting i, ann:s:a , turn:s:o over"},
				{"removal", func() { must(t, b.Remove(ctx, "s", "ada", "asked")) }, "hold_released, removed i, ann:s:a , turn:s:o over"},
				{"cancel", func() { must(t, b.CancelOpening(ctx, at("s", "o"))) }, "hold_released, removed i, ann:s:a , turn:s:o over"},
				{"erasure", func() { must(t, b.EraseFan(ctx, "ada")) }, "not_on_list, not_found"},
			} {
				step.do()
				if got := now(b); got != step.want {
					t.Errorf("after %s here: %s, want %s", step.what, got, step.want)
				}
				other.until("after "+step.what+" there: "+step.want, func() bool { return now(other) == step.want })
			}
		})
	}
}

func TestADeclineConfirmAndMessageAreSeenByTheNextRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cached(storetest.Redis(t))
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada", "ben")
	b.free("s", "o", 1)
	b.decide()
	b.wantFirst("ada", "turn:s:o open*")
	b.wantReason("s", "o", "ben", waitlist.Behind)
	must(t, b.Decline(t.Context(), at("s", "o"), "ada"))
	b.wantReason("s", "o", "ada", waitlist.TurnDeclined)
	b.wantFirst("ada", "turn:s:o over*")
	b.decide()
	b.opened("s", "o", "ben")
	b.wantFirst("ben", "turn:s:o open*")
	b.buy("s", "o", "ben")
	b.wantReason("s", "o", "ben", waitlist.IsConfirmed)
	b.wantFirst("ben", "result:s:o confirmed*", "turn:s:o claimed*")
	b.decide()
	b.join("s", "cyd")
	b.wantFirst("cyd")
	id := b.send(bulk("cyd", "News"))[0].ID
	b.wantFirst("cyd", "msg:"+strings.TrimPrefix(id, "msg:")+" *")
}

// TestAFullHitMakesNoStatement counts what is taken from the pool.
func TestAFullHitMakesNoStatement(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cached(storetest.Redis(t))
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada", "ben")
	b.free("s", "o", 1)
	b.decide()
	read := func() {
		b.wantReason("s", "o", "ada", waitlist.TurnOpen)
		b.wantReason("s", "o", "ben", waitlist.Behind)
		b.wantReason("s", "o", "nobody", waitlist.NotOnList)
		b.wantInbox20("ada", 1)
		must(t, b.Wake(t.Context(), "ada"))
		_ = b.entry("s", "ben")
	}
	b.until("reads without a statement", func() bool { // on a slow machine a value may end between two reads
		read()
		before := b.store.Pool().Stat().AcquireCount()
		read()
		return b.store.Pool().Stat().AcquireCount() == before
	})
}

func (b *bench) wantInbox20(fan string, n int) {
	b.t.Helper()
	items, unread, err := b.store.Items(b.t.Context(), fan, notifier.InboxQuery{Limit: 20})
	if err != nil || len(items) != n || unread != n {
		b.t.Errorf("%d items, %d unread, %v; want %d", len(items), unread, err, n)
	}
}

func TestAColdInboxIsLoadedOnceAndShowsADeliveryAtOnce(t *testing.T) {
	t.Parallel()
	redis := storetest.Redis(t)
	b := newBench(t)
	other := benchOn(t, b.url)
	b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(waitlist.Read)})
	b.join("s", "ada")
	var all sync.WaitGroup
	for _, in := range []*bench{b, other} {
		c := in.cached(redis)
		before := c.Stats().Loads
		in.until("the keys are loaded", func() bool {
			all.Add(5000)
			for range 5000 {
				go func() { defer all.Done(); in.wantInbox20("ada", 0) }()
			}
			all.Wait()
			return true
		})
		// The fan's number and the inbox, each once; a value that ended meanwhile is
		// loaded again, once a second at most.
		if n := c.Stats().Loads - before; n > 2*6 {
			t.Errorf("%d loads for 5,000 reads", n)
		}
	}
	_, _, err := b.store.Announce(t.Context(), "s", waitlist.NewAnnouncement{ID: "a", Title: "t", Body: "b"})
	must(t, err)
	b.wantInbox20("ada", 1)
	other.until("the other instance shows it", func() bool {
		items, _, err := other.store.Items(t.Context(), "ada", notifier.InboxQuery{Limit: 20})
		return err == nil && len(items) == 1
	})
}

// TestAWaveMakesAFewKeysStaleNotOneAFan tells 5,000 fans at once.
func TestAWaveMakesAFewKeysStaleNotOneAFan(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cached(storetest.Redis(t))
	b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(waitlist.Read), Mode: waitlist.Some(waitlist.ModeEveryone), ReleasePerS: waitlist.Some(waitlist.Milli(10_000_000))})
	b.crowd("s", 5000)
	b.wantInbox20("fan-4", 0)
	b.free("s", "o", 1)
	before := c.Stats().Stale
	told := 0
	for _, w := range b.decide() {
		told += len(w.Fans)
	}
	if n := c.Stats().Stale - before; told != 5000 || n > 10 {
		t.Errorf("%d fans told, %d keys stale; want one of the opening, one of the show, and one a thousand entries", told, n)
	}
	b.until("the inbox of one has it", func() bool {
		items, _, err := b.store.Items(t.Context(), "fan-4", notifier.InboxQuery{Limit: 20})
		return err == nil && len(items) == 1
	})
	before = c.Stats().Stale
	_, _, err := b.store.Announce(t.Context(), "s", waitlist.NewAnnouncement{ID: "a", Title: "t", Body: "b"})
	must(t, err)
	if n := c.Stats().Stale - before; n != 1 {
		t.Errorf("an announcement made %d keys stale, want the show's", n)
	}
}

func (b *bench) crowd(show string, n int) {
	b.t.Helper()
	for from := 0; from < n; from += 1000 {
		batch := make([]waitlist.Join, 1000)
		for i := range batch {
			batch[i] = waitlist.Join{FanID: fmt.Sprint("fan-", from+i), Party: 1}
		}
		_, err := b.JoinMany(b.t.Context(), show, batch)
		must(b.t, err)
	}
}

// Fans and shows are numbered from 1 in each database.
func TestTwoDatabasesOnOneRedisNeverShowEachOthersFans(t *testing.T) {
	t.Parallel()
	redis := storetest.Redis(t)
	ours, theirs := newBench(t), newBench(t)
	for b, fan := range map[*bench]string{ours: "ada", theirs: "eve"} {
		b.cached(redis)
		b.show("s", waitlist.PolicyChange{})
		b.join("s", fan)
	}
	ours.free("s", "o", 1)
	ours.decide()
	ours.opened("s", "o", "ada")
	ours.wantFirst("ada", "turn:s:o open*")
	theirs.wantFirst("eve")
	if got := theirs.reason("s", "o", "eve"); got != waitlist.Reason(waitlist.NotFound) {
		t.Errorf("an opening of another database answers %s", got)
	}
}
