package waitlist

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeDecisions is a DecisionStore whose shows are due until they are decided.
type fakeDecisions struct {
	mu      sync.Mutex
	due     []int32
	later   map[int32]time.Time // due then
	decided []int32             // in the order begun
	running map[int32]int
	atOnce  int // the most at a time
	looks   int
	sweeps  int
	lookErr error

	// decide is what a decision does; nil: it makes nothing known.
	decide func(ctx context.Context, no int32, nth int) (*Decided, error)
	// hang makes looks wait for their context's end.
	hang bool
}

func (f *fakeDecisions) DecideShow(ctx context.Context, no int32) (*Decided, error) {
	f.mu.Lock()
	f.decided = append(f.decided, no)
	if f.running == nil {
		f.running = map[int32]int{}
	}
	f.running[no]++
	total := 0
	for _, n := range f.running {
		total += n
	}
	f.atOnce = max(f.atOnce, total)
	twice := f.running[no] > 1
	nth := 0
	for _, d := range f.decided {
		if d == no {
			nth++
		}
	}
	f.mu.Unlock()
	if twice {
		panic("a show is decided twice at a time")
	}
	made, err := &Decided{ShowNo: no}, error(nil)
	if f.decide != nil {
		made, err = f.decide(ctx, no, nth)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[no]--
	if err == nil {
		f.due = slices.DeleteFunc(f.due, func(d int32) bool { return d == no })
		delete(f.later, no)
	}
	return made, err
}

func (f *fakeDecisions) DueSoon(ctx context.Context, within time.Duration) ([]Due, error) {
	f.mu.Lock()
	f.looks++
	var due []Due
	for _, no := range f.due {
		due = append(due, Due{ShowNo: no})
	}
	for no, at := range f.later {
		if in := time.Until(at); in <= within {
			due = append(due, Due{no, in})
		}
	}
	err, hang := f.lookErr, f.hang
	f.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return due, err
}

func (f *fakeDecisions) Sweep(context.Context) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweeps++
	return 0, nil
}

func (f *fakeDecisions) set(change func(*fakeDecisions)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeDecisions) times(no int32) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, d := range f.decided {
		if d == no {
			n++
		}
	}
	return n
}

// logged is a log that can be counted.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) lines(with string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for line := range strings.Lines(l.b.String()) {
		if strings.Contains(line, with) {
			n++
		}
	}
	return n
}

// withClock runs test with a started clock over f, in a bubble of its own time.
func withClock(t *testing.T, f *fakeDecisions, test func(t *testing.T, c *Clock, log *logged)) {
	synctest.Test(t, func(t *testing.T) {
		log := &logged{}
		c := NewClock(f, slog.New(slog.NewTextHandler(log, nil)), func(*Decided) {})
		c.Start()
		defer c.Stop()
		test(t, c, log)
	})
}

// pass lets d go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestNudgeHasAShowDecidedAtOnce(t *testing.T) {
	f := &fakeDecisions{}
	withClock(t, f, func(t *testing.T, c *Clock, _ *logged) {
		c.Nudge(7)
		synctest.Wait() // no time goes by
		if n := f.times(7); n != 1 {
			t.Errorf("decided %d times", n)
		}
	})
}

func TestNudgesThatComeBeforeADecisionBeginsAreOne(t *testing.T) {
	f := &fakeDecisions{}
	withClock(t, f, func(t *testing.T, c *Clock, _ *logged) {
		let := make(chan struct{})
		f.decide = func(context.Context, int32, int) (*Decided, error) {
			<-let
			return nil, nil
		}
		c.Nudge(7)
		synctest.Wait()
		for range 1000 {
			c.Nudge(7) // asked for while it is decided: once more, since it may have changed since
		}
		synctest.Wait()
		if n := f.times(7); n != 1 {
			t.Errorf("%d decisions at a time", n)
		}
		let <- struct{}{}
		let <- struct{}{}
		synctest.Wait()
		if n := f.times(7); n != 2 {
			t.Errorf("decided %d times, want 2", n)
		}
	})
}

func TestAgainLeadsToAnotherDecision(t *testing.T) {
	f := &fakeDecisions{decide: func(_ context.Context, no int32, nth int) (*Decided, error) {
		return &Decided{ShowNo: no, Again: nth < 5}, nil
	}}
	withClock(t, f, func(t *testing.T, c *Clock, _ *logged) {
		c.Nudge(7)
		synctest.Wait()
		if n := f.times(7); n != 5 {
			t.Errorf("decided %d times, want 5", n)
		}
	})
}

func TestDueShowIsFoundByTheNextLook(t *testing.T) {
	f := &fakeDecisions{}
	withClock(t, f, func(t *testing.T, _ *Clock, _ *logged) {
		pass(time.Second + ms(50))
		f.set(func(f *fakeDecisions) { f.due = []int32{3, 4} })
		pass(ms(50))
		if f.times(3) != 1 || f.times(4) != 1 {
			t.Errorf("decided %d and %d times", f.times(3), f.times(4))
		}
		pass(time.Second)
		if f.times(3) != 1 || f.times(4) != 1 {
			t.Errorf("decided again when nothing was due: %d and %d times", f.times(3), f.times(4))
		}
	})
}

func TestADeadlineDoesNotWaitForTheNextLook(t *testing.T) {
	f := &fakeDecisions{}
	withClock(t, f, func(t *testing.T, _ *Clock, _ *logged) {
		at := time.Now().Add(10*lookEvery + lookEvery/3) // between two looks
		var late time.Duration
		f.decide = func(context.Context, int32, int) (*Decided, error) {
			late = time.Since(at)
			return nil, nil
		}
		f.set(func(f *fakeDecisions) { f.later = map[int32]time.Time{7: at} })
		pass(12 * lookEvery)
		if n := f.times(7); n != 1 || late < 0 || late > 2*alarmLate {
			t.Errorf("decided %d times, %v after its moment", n, late)
		}
	})
}

func TestAShowThatTookLongRestsAsLongBeforeItIsDecidedAgain(t *testing.T) {
	f := &fakeDecisions{}
	withClock(t, f, func(t *testing.T, c *Clock, _ *logged) {
		began := make(chan time.Time, 10)
		f.decide = func(context.Context, int32, int) (*Decided, error) {
			began <- time.Now()
			<-time.After(ms(100))
			return nil, nil
		}
		c.Nudge(7)
		synctest.Wait()
		c.Nudge(7) // reports go on while it is decided
		pass(time.Second)
		if n := f.times(7); n != 2 {
			t.Fatalf("decided %d times, want 2", n)
		}
		if gap := (<-began).Sub(<-began).Abs(); gap < ms(200) || gap > ms(210) {
			t.Errorf("begun again %v after it was begun, want 100 ms of work and as much of rest", gap)
		}
	})
}

func TestFailedDecisionIsTriedAgainAtTheNextLook(t *testing.T) {
	f := &fakeDecisions{due: []int32{7}, decide: func(_ context.Context, _ int32, nth int) (*Decided, error) {
		if nth < 4 {
			return nil, errRead
		}
		return &Decided{ShowNo: 7}, nil
	}}
	withClock(t, f, func(t *testing.T, _ *Clock, _ *logged) {
		for look := range 6 {
			pass(lookEvery)
			if n, want := f.times(7), min(look+1, 4); n != want {
				t.Errorf("decided %d times after %d looks, want %d", n, look+1, want)
			}
		}
	})
}

func TestFaultOfAShowIsLoggedOnceInARow(t *testing.T) {
	f := &fakeDecisions{due: []int32{7}, decide: func(_ context.Context, _ int32, nth int) (*Decided, error) {
		if nth == 20 {
			return &Decided{ShowNo: 7}, nil
		}
		return nil, errRead
	}}
	withClock(t, f, func(t *testing.T, _ *Clock, log *logged) {
		pass(19 * lookEvery)
		if n := log.lines("decide a show"); n != 1 {
			t.Errorf("%d lines for 19 failures in a row", n)
		}
		pass(lookEvery) // it goes well
		f.set(func(f *fakeDecisions) { f.due = []int32{7} })
		pass(5 * lookEvery)
		if n := log.lines("decide a show"); n != 2 {
			t.Errorf("%d lines after it failed anew", n)
		}
	})
}

func TestFaultOfALookIsLoggedOnceInARow(t *testing.T) {
	f := &fakeDecisions{lookErr: errRead}
	withClock(t, f, func(t *testing.T, _ *Clock, log *logged) {
		pass(time.Second)
		if n := log.lines("look for due shows"); n != 1 {
			t.Errorf("%d lines for ten failures in a row", n)
		}
		f.set(func(f *fakeDecisions) { f.lookErr = nil })
		pass(time.Second)
		f.set(func(f *fakeDecisions) { f.lookErr = errRead })
		pass(time.Second)
		if n := log.lines("look for due shows"); n != 2 {
			t.Errorf("%d lines after it failed anew", n)
		}
	})
}

func TestLookThatHangsIsGivenUpAndLooksGoOn(t *testing.T) {
	f := &fakeDecisions{hang: true}
	withClock(t, f, func(t *testing.T, _ *Clock, _ *logged) {
		pass(lookEvery)
		f.set(func(f *fakeDecisions) { f.hang, f.due = false, []int32{7} })
		pass(30 * time.Second)
		if n := f.times(7); n != 1 {
			t.Errorf("decided %d times after a look that hung", n)
		}
	})
}

func TestShowsAreDecidedSideBySideUpToABound(t *testing.T) {
	f := &fakeDecisions{decide: func(context.Context, int32, int) (*Decided, error) {
		<-time.After(time.Second)
		return nil, nil
	}}
	withClock(t, f, func(t *testing.T, c *Clock, _ *logged) {
		for no := range int32(10) {
			c.Nudge(no)
		}
		synctest.Wait()
		f.set(func(f *fakeDecisions) {
			if n := len(f.decided); n != decideAtOnce {
				t.Errorf("%d decisions began, want %d", n, decideAtOnce)
			}
		})
		pass(3 * time.Second)
		for no := range int32(10) {
			if n := f.times(no); n != 1 {
				t.Errorf("show %d was decided %d times", no, n)
			}
		}
		f.set(func(f *fakeDecisions) {
			if f.atOnce != decideAtOnce {
				t.Errorf("%d at a time", f.atOnce)
			}
		})
	})
}

func TestOneShowsSlowDecisionHoldsUpNoOther(t *testing.T) {
	f := &fakeDecisions{}
	withClock(t, f, func(t *testing.T, c *Clock, _ *logged) {
		let := make(chan struct{})
		defer close(let)
		f.decide = func(_ context.Context, no int32, _ int) (*Decided, error) {
			if no == 1 {
				<-let
			}
			return nil, nil
		}
		for range 20 {
			c.Nudge(1)
			c.Nudge(2)
			synctest.Wait()
		}
		if f.times(1) != 1 || f.times(2) != 20 {
			t.Errorf("decided %d and %d times", f.times(1), f.times(2))
		}
	})
}

func TestEachLookHasItsInterval(t *testing.T) {
	f := &fakeDecisions{}
	withClock(t, f, func(t *testing.T, _ *Clock, _ *logged) {
		pass(10 * time.Second)
		f.set(func(f *fakeDecisions) {
			if f.looks != 100 || f.sweeps != 2 {
				t.Errorf("%d looks, %d sweeps in ten seconds", f.looks, f.sweeps)
			}
		})
	})
}

func TestOnlyWhatMadeSomethingKnownIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := map[int32]*Decided{
			1: nil, // another process decides
			2: {ShowNo: 2},
			3: {ShowNo: 3, Waves: []DecidedWave{{N: 1}}},
			4: {ShowNo: 4, Fans: []int64{9}},
		}
		f := &fakeDecisions{decide: func(_ context.Context, no int32, _ int) (*Decided, error) {
			return made[no], nil
		}}
		var mu sync.Mutex
		var got []int32
		c := NewClock(f, slog.New(slog.DiscardHandler), func(d *Decided) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, d.ShowNo)
		})
		c.Start()
		for no := range made {
			c.Nudge(no)
		}
		synctest.Wait()
		c.Stop()
		if slices.Sort(got); !slices.Equal(got, []int32{3, 4}) {
			t.Errorf("passed on %v", got)
		}
	})
}

func TestStopWaitsForDecisionsAndMayBeCalledTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := false
		f := &fakeDecisions{decide: func(ctx context.Context, _ int32, _ int) (*Decided, error) {
			select {
			case <-ctx.Done():
				t.Error("a decision once begun was cut off")
			case <-time.After(3 * time.Second):
			}
			done = true
			return nil, nil
		}}
		c := NewClock(f, slog.New(slog.DiscardHandler), func(*Decided) {})
		c.Stop() // before it began
		c.Start()
		c.Nudge(7)
		synctest.Wait()
		c.Nudge(7)
		c.Stop()
		if !done {
			t.Error("Stop returned before the decision was made")
		}
		c.Stop()
		c.Nudge(7)
		pass(time.Second)
		if n := f.times(7); n != 1 {
			t.Errorf("%d decisions, some begun after Stop", n)
		}
	})
}
