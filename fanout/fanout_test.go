package fanout_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"fanline/fanout"
	"fanline/notifier"
	"fanline/waitlist"
)

// fakeWaker notes who was woken; it holds every call while hold is not nil.
type fakeWaker struct {
	mu   sync.Mutex
	fans [][]int64
	all  int
	hold chan struct{}
}

func (f *fakeWaker) WakeFans(_ context.Context, fans []int64) error {
	if f.hold != nil {
		<-f.hold
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fans = append(f.fans, fans)
	return nil
}

func (f *fakeWaker) WakeAll(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all++
	return nil
}

func TestWriteWakesTheWavesFansAndReadPublishesOnce(t *testing.T) {
	t.Parallel()
	w := &fakeWaker{}
	f := fanout.New(w, slog.New(slog.DiscardHandler))
	f.Decided(&waitlist.Decided{
		Waves: []waitlist.DecidedWave{
			{Strategy: waitlist.Write, Fans: []int64{1, 2, 3}},
			{Strategy: waitlist.Read, Fans: []int64{4, 5, 6}},
		},
		Fans: []int64{9},
	})
	f.Wait()
	if len(w.fans) != 2 || !slices.Equal(w.fans[0], []int64{1, 2, 3}) || !slices.Equal(w.fans[1], []int64{9}) || w.all != 1 {
		t.Errorf("woken: fans %v, all %d times", w.fans, w.all)
	}
}

func TestMakingADecisionKnownNeverBlocksIt(t *testing.T) {
	t.Parallel()
	w := &fakeWaker{hold: make(chan struct{})}
	f := fanout.New(w, slog.New(slog.DiscardHandler))
	for range 1000 { // far more than are made known at a time; nobody answers yet
		f.Changed(1)
	}
	close(w.hold)
	f.Wait()
	if n := len(w.fans); n == 0 || n >= 1000 {
		t.Errorf("%d of 1000 were made known; some must be, and the rest is left to the instances' look", n)
	}
}

type strategies map[int64]waitlist.Strategy

func (s strategies) StrategyOf(_ context.Context, no int64) (waitlist.Strategy, error) {
	if st, ok := s[no]; ok {
		return st, nil
	}
	return "", errors.New("the database is away")
}

type nudges []int32

func (n *nudges) Nudge(no int32) { *n = append(*n, no) }

func TestAStrategyLeavesAloneWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	recorded := strategies{1: waitlist.Write, 2: waitlist.Read}
	for name, own := range map[waitlist.Strategy]int64{waitlist.Write: 1, waitlist.Read: 2} {
		var asked nudges
		h := fanout.Handler(name, recorded, &asked)
		for no := range recorded {
			if err := h(t.Context(), notifier.EventArgs{Type: notifier.OpeningRecorded, ShowNo: int32(10 * no), OpeningNo: no}); err != nil {
				t.Error(err)
			}
		}
		if err := h(t.Context(), notifier.EventArgs{Type: notifier.EntryJoined, ShowNo: 99}); err != nil {
			t.Error(err)
		}
		if !slices.Equal(asked, nudges{int32(10 * own)}) {
			t.Errorf("%s had shows %v decided", name, asked)
		}
	}
}

func TestAnEventThatCannotBeReadIsTriedAgain(t *testing.T) {
	t.Parallel()
	var asked nudges
	h := fanout.Handler(waitlist.Write, strategies{}, &asked)
	if err := h(t.Context(), notifier.EventArgs{Type: notifier.OpeningRecorded, OpeningNo: 7}); err == nil || len(asked) > 0 {
		t.Errorf("error %v, asked %v", err, asked)
	}
}
