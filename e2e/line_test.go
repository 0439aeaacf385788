package e2e_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fanline/sim"
)

// soon is how long a turn may take to its fan: a second, by the rules of the line.
const soon = time.Second

func TestAFreedSeatGoesDownTheLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	l := w.newLine(t, 40, sim.Policy{ClaimWindowS: new(60)})
	l.connectHalves()

	t.Run("a turn that lapses goes to the next fan within a second", l.sub(func(l *line) {
		l.free(0, "seat-1", 1, sim.Policy{ClaimWindowS: new(2)})
		first := l.turn(1, "seat-1", soon)
		second := l.turn(2, "seat-1", time.Until(first.ClosesAt)+2*soon)
		if late := second.At.Sub(first.ClosesAt); late > soon || late < 0 {
			l.t.Errorf("fan 2 was told %v after the lapse, want within %v", late, soon)
		}
		l.buy(l.fans[1], "seat-1")
		l.wantState("seat-1", "filled", soon)
		if told := l.told("seat-1"); !slices.Equal(told, l.fans[:2]) {
			l.t.Errorf("told were %v, want fans 1 and 2 alone", told)
		}
		verdicts := l.verdicts("seat-1")
		for i, fan := range l.fans {
			switch i {
			case 0:
				wantVerdict(l.t, verdicts[fan], "over", "turn_lapsed")
			case 1:
				wantVerdict(l.t, verdicts[fan], "claimed", "confirmed")
			default:
				wantVerdict(l.t, verdicts[fan], "none", "filled")
			}
		}
	}))

	t.Run("five seats go to the five fans in front, each a seat of their own", l.sub(func(l *line) {
		want := []string{l.fans[0], l.fans[2], l.fans[3], l.fans[4], l.fans[5]}
		_, err := l.w.app.Free(l.w.ctx, l.show, "five", sim.Free{
			Seats: []string{"A-1", "A-2", "A-3", "A-4", "A-5"}, Reason: "hold_timeout",
		})
		check(l.t, err)
		for _, fan := range want {
			must(l.on[fan].WaitItem(l.w.ctx, isTurnOf("five")))(l.t)
		}
		if told := l.told("five"); !slices.Equal(told, want) {
			l.t.Errorf("told were %v, want %v", told, want)
		}
		labels := map[string]string{}
		for _, fan := range want {
			for _, label := range l.buy(fan, "five").Labels {
				if other, taken := labels[label]; taken {
					l.t.Errorf("seat %s went to %s and to %s", label, other, fan)
				}
				labels[label] = fan
			}
		}
		if len(labels) != 5 {
			l.t.Errorf("the seats taken are %v, want five", labels)
		}
		l.wantState("five", "filled", soon)
	}))

	t.Run("two openings at once on two instances go to two fans", l.sub(func(l *line) {
		var wg sync.WaitGroup
		for i, opening := range []string{"left", "right"} {
			wg.Go(func() { l.free(i, opening, 1) })
		}
		wg.Wait()
		a, _ := l.firstTurn("left", soon)
		b, _ := l.firstTurn("right", soon)
		got := []string{a, b}
		slices.Sort(got)
		if want := l.fans[6:8]; !slices.Equal(got, want) {
			l.t.Errorf("the two seats went to %v, want %v", got, want)
		}
		l.buy(a, "left")
		l.buy(b, "right")
		for opening, fan := range map[string]string{"left": a, "right": b} {
			l.wantState(opening, "filled", soon)
			if told := l.told(opening); !slices.Equal(told, []string{fan}) {
				l.t.Errorf("told of %s were %v, want %s alone", opening, told, fan)
			}
		}
	}))
	l.onceASocket()
}

// sub is a part of a test on the same line.
func (l *line) sub(f func(*line)) func(*testing.T) {
	return func(t *testing.T) {
		part := *l
		part.t = t
		f(&part)
	}
}

func TestModeEveryoneTellsTheLineInOrderAtThePace(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"write", "read"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			const pace = 20 // a second
			l := w.newLine(t, 40, sim.Policy{ReleasePerS: new(float64(pace)), Strategy: &strategy})
			l.connectHalves()
			recorded := l.free(1, "all", 1, sim.Policy{Mode: new("everyone")}).RecordedAt
			if o := must(w.app.Opening(w.ctx, l.show, "all"))(t); o.Strategy != strategy || o.Mode != "everyone" {
				t.Fatalf("the opening has strategy %s and mode %s", o.Strategy, o.Mode)
			}
			var items []sim.Item
			for n := range l.fans {
				items = append(items, l.turn(n+1, "all", 10*time.Second))
			}
			wantPaced(t, items, time.Second/pace)
			if spread := items[39].OpensAt.Sub(recorded); spread > 39*time.Second/pace+2*time.Second {
				t.Errorf("the last of 40 opens %v after the report, at a pace of %d a second", spread, pace)
			}
			if told := l.told("all"); !slices.Equal(told, l.fans) {
				t.Errorf("told were %d fans, want all 40", len(told))
			}
			l.onceASocket()
		})
	}
}

// wantPaced checks that turns, in line order, open at least gap apart, and that
// each came when it opened.
func wantPaced(t *testing.T, items []sim.Item, gap time.Duration) {
	t.Helper()
	for i, item := range items {
		if late := item.At.Sub(item.OpensAt); late < -5*time.Millisecond || late > soon {
			t.Errorf("turn %d came %v after it opened, want within %v", i+1, late, soon)
		}
		if i == 0 {
			continue
		}
		if d := item.OpensAt.Sub(items[i-1].OpensAt); d < gap {
			t.Errorf("turn %d opens %v after the one before, want %v or more", i+1, d, gap)
		}
	}
	byArrival := slices.SortedFunc(slices.Values(items), func(a, b sim.Item) int { return a.At.Compare(b.At) })
	if !slices.EqualFunc(items, byArrival, func(a, b sim.Item) bool { return a.OpensAt.Equal(b.OpensAt) }) {
		// With a gap of 50 ms, only a machine that stood still can do this.
		t.Logf("the turns did not come in line order")
	}
}

func TestAnOfflineFanPicksUpWhatATwinGotLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	for _, strategy := range []string{"write", "read"} {
		l := w.newLine(t, 2, sim.Policy{Strategy: &strategy})
		t.Run(strategy, func(t *testing.T) {
			l.t = t
			l.connect(l.fans[1:], w.in[1])
			l.free(0, "pair", 2)
			live := l.turn(2, "pair", soon)

			own := l.wantOne(l.fans[1])
			if diff := cmp.Diff(live, own, cmpopts.IgnoreFields(sim.Item{}, "At")); diff != "" {
				t.Errorf("the fan's own inbox differs from the socket (-socket +inbox):\n%s", diff)
			}
			twin := l.wantOne(l.fans[0])
			times := cmpopts.IgnoreFields(sim.Item{}, "At", "OpensAt", "ClosesAt", "CreatedAt")
			if diff := cmp.Diff(live, twin, times); diff != "" {
				t.Errorf("the offline fan's item differs from the twin's (-live +offline):\n%s", diff)
			}
			if want := fmt.Sprintf("turn:%s:pair", l.show); twin.ID != want {
				t.Errorf("the item is %s, want %s", twin.ID, want)
			}
			// Read, and found again by a first socket, on the other instance.
			must(l.me(l.fans[0]).MarkRead(w.ctx, twin.ID))(t)
			if again := l.wantOne(l.fans[0]); again.ReadAt == nil {
				t.Error("the item is not read after it was marked")
			} else if diff := cmp.Diff(twin, again, cmpopts.IgnoreFields(sim.Item{}, "ReadAt")); diff != "" {
				t.Errorf("reading changed the item:\n%s", diff)
			}
			late := l.connectWith(l.fans[1], sim.FanConfig{BaseURLs: []string{w.in[0].base}})
			replayed := must(late.WaitItem(w.ctx, isTurnOf("pair")))(t)
			if diff := cmp.Diff(live, replayed, cmpopts.IgnoreFields(sim.Item{}, "At")); diff != "" {
				t.Errorf("another instance replays it differently (-live +replayed):\n%s", diff)
			}
		})
	}
}

// wantOne is the only item in a fan's inbox.
func (l *line) wantOne(fan string) sim.Item {
	l.t.Helper()
	items := l.inbox(fan)
	if len(items) != 1 {
		l.t.Fatalf("%s has %d items, want one: %v", fan, len(items), items)
	}
	return items[0]
}
