package store_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"fanline/notifier"
	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
)

// twoProcesses runs a test on one store, and on two with one database.
func twoProcesses(t *testing.T, f func(t *testing.T, b []*bench)) {
	for n := 1; n <= 2; n++ {
		t.Run(fmt.Sprintf("processes=%d", n), func(t *testing.T) {
			t.Parallel()
			url := storetest.Database(t, store.Migrate)
			var benches []*bench
			for range n {
				benches = append(benches, benchOn(t, url))
			}
			f(t, benches)
		})
	}
}

// atOnce calls f n times at the same moment.
func atOnce(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// quick is a policy whose pace holds nothing up.
func quick() waitlist.PolicyChange {
	return waitlist.PolicyChange{ReleasePerS: waitlist.Some(waitlist.Milli(10_000_000))}
}

func TestJoinsAtOnceGetPlacesInOneOrder(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, bs []*bench) {
		b := bs[0]
		b.show("s", quick())
		const n = 200
		got := make([]waitlist.Entry, n)
		atOnce(n, func(i int) {
			var err error
			got[i], _, err = bs[i%len(bs)].Join(t.Context(), "s", waitlist.Join{FanID: fmt.Sprintf("fan%d", i), Party: 1 + i%3})
			if err != nil {
				t.Error(err)
			}
		})
		line := b.page("s", nil, 500)
		if len(line) != n {
			t.Fatalf("%d in line", len(line))
		}
		for i := range line {
			if line[i].Place != int64(i+1) || line[i].Position != int64(i+1) {
				t.Errorf("entry %d has place %d, position %d", i, line[i].Place, line[i].Position)
			}
		}
		for i, e := range got {
			if e.FanID != fmt.Sprintf("fan%d", i) || e.Party != 1+i%3 || line[e.Place-1].FanID != e.FanID {
				t.Errorf("caller %d was answered %+v", i, e)
			}
		}
	})
}

func TestOneFanJoiningAtOnceHasOneEntry(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, bs []*bench) {
		bs[0].show("s", quick())
		var made, stood sync.Map
		atOnce(40, func(i int) {
			e, isNew, err := bs[i%len(bs)].Join(t.Context(), "s", waitlist.Join{FanID: "ada", Party: 1})
			if err != nil {
				t.Error(err)
			}
			if isNew {
				made.Store(i, e.Place)
			}
			stood.Store(e.Place, true)
		})
		if count(&made) != 1 || count(&stood) != 1 {
			t.Errorf("%d new entries, %d places", count(&made), count(&stood))
		}
	})
}

func count(m *sync.Map) (n int) {
	m.Range(func(any, any) bool { n++; return true })
	return n
}

func TestOfManyClaimsForOneSeatOneWins(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, bs []*bench) {
		b := bs[0]
		policy := quick()
		policy.Mode = waitlist.Some(waitlist.ModeEveryone)
		b.show("s", policy)
		const n = 50
		for i := range n {
			b.join("s", fmt.Sprintf("fan%d", i))
		}
		b.free("s", "o", 1)
		b.decide()
		b.opened("s", "o", fmt.Sprintf("fan%d", n-1))
		claims := make([]waitlist.Claim, n)
		round := func(want waitlist.Code, except int) (winner int) {
			t.Helper()
			winner = -1
			var mu sync.Mutex
			atOnce(n, func(i int) {
				if i == except {
					return
				}
				c, _, err := bs[i%len(bs)].Claim(t.Context(), at("s", "o"), fmt.Sprintf("fan%d", i))
				var refusal *waitlist.Error
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && winner < 0:
					winner, claims[i] = i, c
				case !errors.As(err, &refusal) || refusal.Code != want || want == waitlist.AllHeld && refusal.RetryAfter <= 0:
					t.Errorf("claim %d: %v, want %s", i, err, want)
				}
			})
			return winner
		}
		first := round(waitlist.AllHeld, -1)
		b.wantOpening("s", "o", waitlist.OpeningOpen, 0, 1, 0)
		b.exec(`UPDATE claims SET expires_at = clock_timestamp()`)
		b.exec(`INSERT INTO due SELECT show_no, clock_timestamp() FROM shows`)
		b.decide()
		b.wantOpening("s", "o", waitlist.OpeningOpen, 1, 0, 0)
		second := round(waitlist.AllHeld, first)
		b.wantClaimRefused("s", "o", fmt.Sprintf("fan%d", first), waitlist.TurnOver)
		if second < 0 || second == first {
			t.Fatalf("first %d won, then %d", first, second)
		}
		_, err := b.Confirm(t.Context(), claims[second].ID)
		must(t, err)
		b.decide()
		if w := round(waitlist.Filled, first); w != second { // the same claim again
			t.Errorf("%d won a seat that %d bought", w, second)
		}
		b.wantOpening("s", "o", waitlist.OpeningFilled, 0, 0, 1)
	})
}

func TestOneOpeningReportedAtOnceIsRecordedOnce(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, bs []*bench) {
		b := bs[0]
		b.show("s", quick())
		b.join("s", "ada", "ben")
		var created, numbers sync.Map
		atOnce(50, func(i int) {
			o, isNew, err := bs[i%len(bs)].Record(t.Context(), "s", waitlist.NewOpening{ID: "o", Seats: []string{"A-1"}, Reason: "returned"})
			if err != nil {
				t.Error(err)
			}
			numbers.Store(o.No, true)
			if isNew {
				created.Store(i, true)
			}
		})
		if count(&created) != 1 || count(&numbers) != 1 {
			t.Errorf("%d created, %d openings", count(&created), count(&numbers))
		}
		b.decide()
		b.wantTold("s", "o", "ada")
		if got := b.events("s", notifier.OpeningRecorded); len(got) != 1 {
			t.Errorf("recorded %v", got)
		}
	})
}

func TestOpeningsAtOnceGoToDifferentFans(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, bs []*bench) {
		b := bs[0]
		s := b.show("s", quick())
		fans := []string{"ada", "ben", "cyd", "dot", "eve"}
		b.join("s", fans...)
		atOnce(5, func(i int) {
			_, _, err := bs[i%len(bs)].Record(t.Context(), "s", waitlist.NewOpening{ID: fmt.Sprintf("o%d", i), Quantity: 1, Reason: "returned"})
			if err != nil {
				t.Error(err)
			}
			if _, err := bs[i%len(bs)].store.DecideShow(t.Context(), s.No); err != nil {
				t.Error(err)
			}
		})
		b.decide()
		var told []string
		for i := range 5 {
			told = append(told, b.told("s", fmt.Sprintf("o%d", i))...)
		}
		slices.Sort(told)
		if !slices.Equal(told, fans) {
			t.Errorf("told %v", told)
		}
	})
}

func TestOneLabelReportedAtOnceIsLiveOnce(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, bs []*bench) {
		b := bs[0]
		b.show("s", quick())
		var created sync.Map
		atOnce(20, func(i int) {
			seats := []string{"A-1", "A-2", "A-3"}
			if i%2 == 0 {
				slices.Reverse(seats)
			}
			_, isNew, err := bs[i%len(bs)].Record(t.Context(), "s", waitlist.NewOpening{ID: fmt.Sprintf("o%d", i), Seats: seats, Reason: "returned"})
			if err != nil && waitlist.CodeOf(err) != waitlist.Conflict {
				t.Error(err)
			}
			if isNew {
				created.Store(i, true)
			}
		})
		if count(&created) != 1 {
			t.Errorf("%d openings have the seats", count(&created))
		}
	})
}

func TestManyDecidersMakeEachWaveOnce(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, bs []*bench) {
		b := bs[0]
		s := b.show("s", quick())
		for i := range 60 {
			b.join("s", fmt.Sprintf("fan%d", i))
		}
		for i := range 20 {
			b.free("s", fmt.Sprintf("o%d", i), 2)
		}
		var mu sync.Mutex
		told := map[int64]int{}
		atOnce(16, func(i int) {
			for range 5 {
				made, err := bs[i%len(bs)].store.DecideShow(t.Context(), s.No)
				if err != nil {
					t.Error(err)
				}
				if made == nil {
					continue
				}
				mu.Lock()
				for _, w := range made.Waves {
					for _, fan := range w.Fans {
						told[fan]++
					}
				}
				mu.Unlock()
			}
		})
		b.decide()
		if len(told) != 40 {
			t.Errorf("%d fans were told", len(told))
		}
		for fan, n := range told {
			if n != 1 {
				t.Errorf("fan %d was told %d times", fan, n)
			}
		}
	})
}

func TestTheClockHandsASeatOnAtItsDeadline(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	decided := make(chan *waitlist.Decided, 100)
	clock := waitlist.NewClock(b.store, slog.New(slog.DiscardHandler), func(d *waitlist.Decided) { decided <- d })
	s := waitlist.NewService(b.store, clock, func(...int64) {})
	clock.Start()
	defer clock.Stop()
	defer s.Close()
	policy := quick()
	policy.ClaimWindowS, policy.HoldS = waitlist.Some(1), waitlist.Some(1)
	b.show("s", policy)
	b.join("s", "ada", "ben", "cyd")
	_, _, err := s.Record(t.Context(), "s", waitlist.NewOpening{ID: "o", Quantity: 1, Reason: "returned"})
	must(t, err)
	next := func() waitlist.DecidedWave {
		t.Helper()
		limit := time.After(20 * time.Second)
		for {
			select {
			case d := <-decided:
				if len(d.Waves) > 0 {
					return d.Waves[0]
				}
			case <-limit:
				t.Fatal("no wave was decided")
			}
		}
	}
	next()
	ada := b.verdict("s", "o", "ada")
	next() // ada's window of a second went by
	b.wantReason("s", "o", "ada", waitlist.TurnLapsed)
	ben := b.verdict("s", "o", "ben")
	if late := ben.OpensAt.Sub(*ada.ClosesAt); late < 0 || late > 5*time.Second {
		t.Errorf("ben's turn opened %v after ada's closed", late)
	}
	b.opened("s", "o", "ben")
	_, _, err = s.Claim(t.Context(), at("s", "o"), "ben")
	must(t, err)
	next() // so did ben's hold
	b.wantReason("s", "o", "ben", waitlist.HoldLapsed)
	b.wantTold("s", "o", "ada", "ben", "cyd")
}
