package store_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// bench is a store on a database of its own, with the services over it. Decisions
// are made by the test, when it says so.
type bench struct {
	*waitlist.Service
	t     testing.TB
	url   string
	store *store.Store
	cache *store.Cache // which exec empties, or nil
	// nudged are the shows that asked to be decided.
	nudged chan int32
	// starts is when its shows start.
	starts time.Time
}

func (b *bench) Nudge(no int32) {
	select {
	case b.nudged <- no:
	default:
	}
}

func newBench(t testing.TB) *bench {
	t.Helper()
	return benchOn(t, storetest.Database(t, store.Migrate))
}

// benchOn is another process's bench on a database that is there.
func benchOn(t testing.TB, url string) *bench {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: url, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, url: url, store: s, nudged: make(chan int32, 10_000), starts: time.Now().Add(24 * time.Hour)}
	b.Service = waitlist.NewService(s, b, func(...int64) {})
	t.Cleanup(func() { b.Close(); s.Close() })
	return b
}

// decide decides until nothing is due now.
func (b *bench) decide() []waitlist.DecidedWave {
	b.t.Helper()
	var waves []waitlist.DecidedWave
	for range 1000 {
		shows, err := b.store.DueSoon(b.t.Context(), 0)
		if err != nil {
			b.t.Fatal(err)
		}
		if len(shows) == 0 {
			return waves
		}
		for _, due := range shows {
			made, err := b.store.DecideShow(b.t.Context(), due.ShowNo)
			if err != nil {
				b.t.Fatal(err)
			}
			if made != nil {
				waves = append(waves, made.Waves...)
			}
		}
	}
	b.t.Fatal("decisions do not come to rest")
	return nil
}

func (b *bench) show(id string, policy waitlist.PolicyChange) waitlist.Show {
	b.t.Helper()
	s, _, err := b.PutShow(b.t.Context(), id, waitlist.ShowChange{
		Name: waitlist.Some("Tuesday night"), Venue: waitlist.Some("The Locksmith"),
		StartsAt: waitlist.Some(b.starts), Policy: waitlist.Some(policy),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) join(show string, fans ...string) {
	b.t.Helper()
	for _, f := range fans {
		if _, _, err := b.Join(b.t.Context(), show, waitlist.Join{FanID: f, Party: 1}); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) free(show, opening string, n int) waitlist.Opening {
	b.t.Helper()
	o, _, err := b.Record(b.t.Context(), show, waitlist.NewOpening{ID: opening, Quantity: n, Reason: "returned"})
	if err != nil {
		b.t.Fatal(err)
	}
	return o
}

func (b *bench) verdict(show, opening, fan string) waitlist.Verdict {
	b.t.Helper()
	v, err := b.Verdict(b.t.Context(), waitlist.OpeningRef{ShowID: show, OpeningID: opening}, fan)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

func (b *bench) wantReason(show, opening, fan string, want waitlist.Reason) {
	b.t.Helper()
	if v := b.verdict(show, opening, fan); v.Reason != want {
		b.t.Errorf("%s at %s: %s/%s, want %s", fan, opening, v.State, v.Reason, want)
	}
}

// opened waits for a fan's turn to open: what the pace put a few milliseconds off.
func (b *bench) opened(show, opening, fan string) {
	b.t.Helper()
	for b.t.Context().Err() == nil {
		v := b.verdict(show, opening, fan)
		if v.Reason == waitlist.TurnOpen {
			return
		}
		if v.Reason != waitlist.TurnUpcoming {
			b.t.Fatalf("%s at %s: %s/%s, want turn_open", fan, opening, v.State, v.Reason)
		}
	}
}

// exec changes the database behind the store's back: how a test lets time pass.
func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	if err := b.store.Exec(context.Background(), sql, args...); err != nil {
		b.t.Fatal(err)
	}
	if b.cache != nil {
		must(b.t, b.cache.ForgetAll(context.Background()))
	}
}
