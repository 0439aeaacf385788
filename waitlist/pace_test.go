package waitlist

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// opensOf are the moments at which all turns of the show open, in order.
func (l *fakeLine) opensOf() []time.Time {
	var opens []time.Time
	for _, o := range l.openings {
		for i := range o.waves {
			for k := range o.waves[i].Size {
				opens = append(opens, o.waves[i].Opens(k))
			}
		}
	}
	slices.SortFunc(opens, time.Time.Compare)
	return opens
}

// checkPace fails when any 1000 ms see more than rate + 1 turns open.
func checkPace(t rapid.TB, opens []time.Time, rate Milli) {
	t.Helper()
	for first, last := 0, 0; last < len(opens); last++ {
		for opens[last].Sub(opens[first]) >= time.Second {
			first++
		}
		if n := int64(last - first + 1); n*1000 > int64(rate)+1000 {
			t.Fatalf("%d turns open within a second from %v at %v a second", n, opens[first], rate.Float())
		}
	}
}

func TestPaceNeverReleasesMoreThanRatePlusOneInAnySecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := DefaultPolicy()
		p.ReleasePerS = Milli(rapid.OneOf(
			rapid.Int64Range(1, 3000), rapid.Int64Range(1, 100_000),
			rapid.SampledFrom([]int64{1, 333, 999, 1000, 1001, 3000, 49_999, 50_000, 10_000_000}),
		).Draw(t, "rate"))
		l := newFakeLine(p)
		l.join(rapid.IntRange(1, 300).Draw(t, "fans"), 1, "")
		most := max(1, int(2*p.ReleasePerS/1000))
		for range rapid.IntRange(1, 12).Draw(t, "decisions") {
			if rapid.Bool().Draw(t, "another") {
				l.record(rapid.IntRange(1, 40).Draw(t, "seats"), func(o *Opening) {
					o.Mode = rapid.SampledFrom([]Mode{ModeTurns, ModeEveryone}).Draw(t, "mode")
				})
			}
			plan, err := l.decide()
			if err != nil {
				t.Fatal(err)
			}
			checkSpan(t, plan, most)
			wait := rapid.IntRange(0, 500_000)
			if rapid.Bool().Draw(t, "to the pace") {
				at := max(0, int(l.paceAt.Sub(l.now).Microseconds()))
				wait = rapid.IntRange(max(0, at-250_001), at+1)
			}
			l.now = l.now.Add(time.Duration(wait.Draw(t, "us")) * time.Microsecond)
		}
		checkPace(t, l.opensOf(), p.ReleasePerS)
	})
}

// checkSpan: the waves of a decision follow one another and together have at most
// the fans of two seconds.
func checkSpan(t rapid.TB, plan *Plan, most int) {
	t.Helper()
	total := 0
	var last time.Time
	for _, pw := range plan.Waves {
		total += pw.Wave.Size
		if pw.Wave.Size == 0 {
			continue
		}
		if !last.IsZero() && !pw.Wave.OpensAt.After(last) && pw.Wave.Rate <= 1_000_000 {
			t.Fatalf("a wave opens at %v, the one before it still at %v", pw.Wave.OpensAt, last)
		}
		last = pw.Wave.Opens(pw.Wave.Size - 1)
	}
	if total > most {
		t.Fatalf("a decision planned %d fans, at most %d fit two seconds", total, most)
	}
}

func TestSlowestPaceReleasesOneFanInAThousandSeconds(t *testing.T) {
	p := DefaultPolicy()
	p.ReleasePerS = 1
	l := newFakeLine(p)
	l.join(4, 1, "")
	o := l.record(4, nil)
	for want := range 4 {
		plan := l.mustDecide(t)
		if got := len(toldOf(o)); got != want+1 {
			t.Fatalf("told %d, want %d", got, want+1)
		}
		if due := l.paceAt.Add(-ms(250)); want < 3 && !slices.ContainsFunc(plan.Due, due.Equal) {
			t.Fatalf("due at %v, want %v among them", plan.Due, due)
		}
		l.now = l.paceAt.Add(-ms(251))
		if plan := l.mustDecide(t); len(plan.Waves) != 0 {
			t.Fatal("planned before the pace had room")
		}
		l.now = l.paceAt.Add(-ms(250))
	}
	for k, at := range l.opensOf() {
		if want := noon.Add(time.Duration(k) * 1000 * time.Second); !at.Equal(want) {
			t.Errorf("turn %d opens at %v, want %v", k, at, want)
		}
	}
}

func TestFastestPaceReleasesTenThousandASecondWithoutAGap(t *testing.T) {
	p := DefaultPolicy()
	p.ReleasePerS = 10_000_000
	l := newFakeLine(p)
	l.join(30_000, 1, "")
	o := l.record(30_000, nil)
	l.mustDecide(t)
	if got := o.waves[0].Size; got != 20_000 {
		t.Errorf("the first decision planned %d fans, want two seconds of the pace", got)
	}
	l.now = l.paceAt.Add(-ms(250))
	l.mustDecide(t)
	opens := l.opensOf()
	if got := len(opens); got != 30_000 {
		t.Fatalf("told %d", got)
	}
	checkPace(t, opens, p.ReleasePerS)
	if got := opens[len(opens)-1].Sub(noon); got != ms(2999) {
		t.Errorf("the last turn opens after %v", got)
	}
}

func TestPaceBelongsToTheShowOverAllItsOpenings(t *testing.T) {
	p := DefaultPolicy()
	p.ReleasePerS = 1000
	l := newFakeLine(p)
	l.join(5, 1, "")
	a, b := l.record(1, nil), l.record(3, nil)
	l.mustDecide(t)
	wantTold(t, a, 1)
	wantTold(t, b, 2) // two fans are two seconds of the pace
	if got := b.waves[0].OpensAt.Sub(noon); got != time.Second {
		t.Errorf("the second opening's turn opens after %v", got)
	}
}

func TestOpeningsAreServedInTheOrderRecorded(t *testing.T) {
	p := DefaultPolicy()
	p.ReleasePerS = 1000
	l := newFakeLine(p)
	l.join(6, 1, "")
	a, b := l.record(3, nil), l.record(3, nil)
	for range 4 {
		l.mustDecide(t)
		l.now = l.paceAt
	}
	wantTold(t, a, 1, 2, 3)
	wantTold(t, b, 4, 5, 6)
}

func TestIdlePaceIsNotSavedUp(t *testing.T) {
	p := DefaultPolicy()
	p.ReleasePerS = 2000
	l := newFakeLine(p)
	l.join(30, 1, "")
	l.now = noon.Add(time.Hour)
	l.record(20, nil)
	l.mustDecide(t)
	checkPace(t, l.opensOf(), p.ReleasePerS)
	if got := l.opensOf()[0]; !got.Equal(l.now) {
		t.Errorf("the first turn opens at %v", got)
	}
}

func TestAnotherRateHoldsFromTheLastTurnOn(t *testing.T) {
	t.Parallel()
	last := time.UnixMilli(1_700_000_000_000)
	for _, c := range []struct{ from, to Milli }{{1, 50_000}, {50_000, 1}, {3000, 7000}, {10_000_000, 333}} {
		got := Repace(paceAfter(last, 1, c.from), c.from, c.to)
		if want := paceAfter(last, 1, c.to); !got.Equal(want) {
			t.Errorf("from %d to %d thousandths a second: room at %v after the last turn, want %v", c.from, c.to, got.Sub(last), want.Sub(last))
		}
	}
}
