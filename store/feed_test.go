package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"fanline/delivery/live"
	"fanline/store"
	"fanline/waitlist"
)

// viewer reads a feed for some fans, as a hub does that holds their sockets.
type viewer struct {
	b     *bench
	feed  *store.Feed
	after live.Cursor
	here  present
}

func (b *bench) viewer(fans ...string) *viewer {
	b.t.Helper()
	v := &viewer{b: b, feed: b.store.Feed(), here: present{}}
	for _, fan := range fans {
		no, err := v.feed.FanNo(b.t.Context(), fan)
		must(b.t, err)
		v.here[no] = fan
	}
	var err error
	v.after, _, err = v.feed.Start(b.t.Context())
	must(b.t, err)
	v.look() // perhaps a little of what was before
	return v
}

// look is what is new since the last look, sorted.
func (v *viewer) look() []string {
	v.b.t.Helper()
	return v.words(v.news())
}

func (v *viewer) news() []live.Notice {
	v.b.t.Helper()
	news, err := v.feed.News(v.b.t.Context(), v.after, v.here)
	must(v.b.t, err)
	v.after = news.Next
	for _, s := range news.Shared {
		for _, no := range s.Fans {
			news.Notices = append(news.Notices, live.Notice{FanNo: no, At: s.At, Item: s.Item})
		}
	}
	return news.Notices
}

// present are the names of those who are here, by number.
type present map[int64]string

func (p present) Has(no int64) bool { return p[no] != "" }
func (p present) All() []int64      { return slices.Collect(maps.Keys(p)) }

func (v *viewer) want(want ...string) {
	v.b.t.Helper()
	if got := v.look(); !slices.Equal(got, want) {
		v.b.t.Errorf("news %q, want %q", got, want)
	}
}

// words are notices as "fan id state", sorted, with + for one that is still to come.
func (v *viewer) words(notices []live.Notice) (words []string) {
	now := v.b.time()
	for _, n := range notices {
		w := v.here[n.FanNo]
		if n.Item != nil {
			w += " " + n.Item.ID + " " + string(n.Item.State)
		} else {
			w += " update " + n.Update.ID + " " + string(n.Update.State)
		}
		if n.At.After(now) {
			w += "+"
		}
		if n.Silent {
			w += " silent"
		}
		words = append(words, w)
	}
	slices.Sort(words)
	return words
}

func (v *viewer) wantBacklog(fan string, limit int, want ...string) {
	v.b.t.Helper()
	no, err := v.feed.FanNo(v.b.t.Context(), fan)
	must(v.b.t, err)
	notices, err := v.feed.Backlog(v.b.t.Context(), no, limit)
	must(v.b.t, err)
	var got []string
	for i := range notices {
		got = append(got, v.words(notices[i : i+1])[0])
	}
	if !slices.Equal(got, want) {
		v.b.t.Errorf("backlog %q, want %q", got, want)
	}
}

func strategies(t *testing.T, f func(t *testing.T, s waitlist.Strategy)) {
	for _, s := range []waitlist.Strategy{waitlist.Write, waitlist.Read} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			f(t, s)
		})
	}
}

func TestNewsTellsThoseWhoAreHereOnce(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := newStopped(t)
		b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(s), ReleasePerS: waitlist.Some(waitlist.Milli(2000))})
		b.join("s", "away", "ada", "ben", "cyd", "dot")
		here, nobody := b.viewer("ada", "cyd", "dot"), b.viewer()
		b.free("s", "o", 4)
		here.want()
		b.decide()
		here.want("ada turn:s:o open+", "cyd turn:s:o open+")
		here.want()
		nobody.want()
		b.pass(1800 * ms) // the next wave comes at the pace
		here.want()
		must(t, b.Decline(t.Context(), at("s", "o"), "ada"))
		b.pass(time.Second)
		here.want("ada update turn:s:o over", "dot turn:s:o open")
	})
}

func TestNewsLeavesOutATurnThatEndedBeforeTheLook(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := newStopped(t)
		b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(s), ReleasePerS: waitlist.Some(waitlist.Milli(1000))})
		b.join("s", "ada", "ben")
		v := b.viewer("ada", "ben")
		b.free("s", "o", 2)
		b.decide()
		must(t, b.Leave(t.Context(), "s", "ben"))
		b.pass(2 * time.Second)
		v.want("ada turn:s:o open") // ben's never opened
	})
}

func TestNewsTellsOfTurnsThatChanged(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := newStopped(t)
		b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(s), HoldS: waitlist.Some(120)})
		b.join("s", "buys", "declines", "releases", "lapses", "leaves", "waits")
		b.free("s", "o", 6)
		b.decide()
		b.pass(time.Second)
		v := b.viewer("buys", "declines", "releases", "lapses", "leaves", "waits")
		bought, released := b.claim("s", "o", "buys"), b.claim("s", "o", "releases")
		b.claim("s", "o", "lapses")
		v.want("buys update turn:s:o claimed", "lapses update turn:s:o claimed", "releases update turn:s:o claimed")
		must(t, b.Decline(t.Context(), at("s", "o"), "declines"))
		must(t, b.Leave(t.Context(), "s", "leaves"))
		v.want("declines update turn:s:o over", "leaves update turn:s:o over")
		b.pass(time.Minute)
		_, err := b.Release(t.Context(), released.ID, "")
		must(t, err)
		v.want("releases update turn:s:o over")
		_, err = b.Confirm(t.Context(), bought.ID)
		must(t, err)
		v.want("buys result:s:o confirmed", "buys update turn:s:o claimed")
		b.pass(time.Minute)
		v.want("lapses result:s:o lapsed", "lapses update turn:s:o over")
		must(t, b.CancelOpening(t.Context(), at("s", "o")))
		got := v.look()
		for _, w := range []string{"waits result:s:o cancelled", "waits update turn:s:o over"} {
			if !slices.Contains(got, w) {
				t.Errorf("news of a cancel: %q, want %q among them", got, w)
			}
		}
		for _, w := range got {
			if w == "buys update turn:s:o over" || w == "declines result:s:o cancelled" {
				t.Errorf("news of a cancel: %q", w)
			}
		}
		v.want()
	})
}

func TestNewsTellsOfAFilledOpening(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := newStopped(t)
		b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(s), FansPerSeat: waitlist.Some(waitlist.Milli(2000))})
		b.join("s", "ada", "ben")
		b.free("s", "o", 1)
		b.decide()
		b.pass(time.Second)
		v := b.viewer("ada", "ben")
		b.buy("s", "o", "ada")
		b.decide()
		got := v.look()
		for _, w := range []string{"ada result:s:o confirmed", "ada update turn:s:o claimed", "ben result:s:o filled", "ben update turn:s:o over"} {
			if !slices.Contains(got, w) {
				t.Errorf("news %q, want %q among them", got, w)
			}
		}
	})
}

// A decline that has begun, and has its number, commits after others that began
// later.
func TestNewsPassesByNothingThatCommitsLate(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada", "ben", "cyd")
	b.free("s", "o", 3)
	b.decide()
	b.pass(time.Second)
	o, err := b.Opening(t.Context(), at("s", "o"))
	must(t, err)
	v := b.viewer("ada", "ben", "cyd")
	block, err := b.store.Pool().Begin(t.Context())
	must(t, err)
	defer func() { _ = block.Rollback(context.Background()) }()
	_, err = block.Exec(t.Context(), `
		INSERT INTO turns (opening_no, eno, show_no, n, k, state, at, decision) VALUES ($1, 1, $2, 1, 0, 'declined', now(), 0)`, o.No, o.ShowNo)
	must(t, err)
	late := make(chan error, 1)
	go func() { late <- b.Decline(t.Context(), at("s", "o"), "ada") }()
	b.waitForLock()
	b.claim("s", "o", "ben")
	v.want("ben update turn:s:o claimed")
	v.want()
	must(t, b.Decline(t.Context(), at("s", "o"), "cyd"))
	v.want("cyd update turn:s:o over")
	must(t, block.Rollback(t.Context()))
	must(t, <-late)
	v.want("ada update turn:s:o over")
	v.want()
}

// waitForLock returns when a statement waits for another transaction.
func (b *bench) waitForLock() {
	b.t.Helper()
	b.waitForLockOn("transactionid")
}

// waitForLockOn returns when a statement waits for a lock of a kind.
func (b *bench) waitForLockOn(kind string) {
	b.t.Helper()
	for b.t.Context().Err() == nil {
		if len(b.strings(`SELECT pid::text FROM pg_locks WHERE NOT granted AND locktype = $1`, kind)) > 0 {
			return
		}
	}
	b.t.Fatal("nobody waited for a lock")
}

func TestABacklogIsUnreadThenWhatIsWatched(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := newStopped(t)
		b.show("s", waitlist.PolicyChange{
			Strategy: waitlist.Some(s), Mode: waitlist.Some(waitlist.ModeEveryone), ReleasePerS: waitlist.Some(waitlist.Milli(1000)),
			ClaimWindowS: waitlist.Some(8),
		})
		b.join("s", "ada", "ben")
		v := b.viewer("ada")
		for i := range 3 { // an item each two seconds: the pace is for ben too
			b.free("s", fmt.Sprintf("o%d", i+1), 1)
			b.decide()
			b.pass(2 * time.Second)
		}
		b.free("s", "soon", 1)
		b.free("s", "gone", 1)
		b.decide()
		must(t, b.CancelOpening(t.Context(), at("s", "gone")))
		_, err := b.store.MarkRead(t.Context(), "ada", []string{"turn:s:o2"})
		must(t, err)
		b.wantReason("s", "o1", "ada", waitlist.TurnOpen)
		v.wantBacklog("ada", 200, "ada turn:s:o1 open", "ada turn:s:o3 open", "ada turn:s:soon open", "ada turn:s:o2 open silent")
		v.wantBacklog("ada", 1, "ada turn:s:soon open", "ada turn:s:o2 open silent")
		v.wantBacklog("nobody", 200)
	})
}

func TestABacklogHasTurnsStillToOpenHoweverShort(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := newStopped(t)
		b.show("s", waitlist.PolicyChange{
			Strategy: waitlist.Some(s), ReleasePerS: waitlist.Some(waitlist.Milli(1000)), ClaimWindowS: waitlist.Some(1),
		})
		b.join("s", "ada", "ben")
		v := b.viewer("ben")
		b.free("s", "o", 2)
		b.decide()
		v.wantBacklog("ben", 200, "ben turn:s:o open+")
		b.pass(time.Second)
		v.wantBacklog("ben", 200, "ben turn:s:o open")
		b.pass(time.Second)
		v.wantBacklog("ben", 200, "ben turn:s:o over")
	})
}

func TestNewsTellsWhoseTurnANearerCloseOfSalesEnds(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := newStopped(t)
		b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(s), ReleasePerS: waitlist.Some(waitlist.Milli(1000))})
		b.join("s", "ada", "ben")
		here := b.viewer("ada", "ben")
		b.free("s", "o", 2)
		b.decide()
		here.look()
		closes := b.time().Add(time.Minute).Truncate(time.Millisecond) // ada's turn was to be open for ten; ben's is still to open
		b.change("s", waitlist.ShowChange{SalesCloseAt: waitlist.Some(&closes)})
		news := here.news()
		if len(news) != 1 || !news[0].Silent || !news[0].Closes.Equal(closes) || news[0].Item.ID != "turn:s:o" {
			t.Errorf("news %+v, want ada's turn to be watched until %v", news, closes)
		}
		here.want()
	})
}
