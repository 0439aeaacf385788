package waitlist

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyRate draws a rate from the slowest to the fastest that a policy allows.
func anyRate(t *rapid.T) Milli {
	return Milli(rapid.OneOf(
		rapid.Int64Range(1, 10_000_000),
		rapid.Int64Range(1, 2_000),
		rapid.SampledFrom([]int64{1, 333, 500, 999, 1000, 1001, 3000, 7777, 50_000, 9_999_999, 10_000_000}),
	).Draw(t, "rate"))
}

// anyWave draws a wave whose cap may cut windows or turns short.
func anyWave(t *rapid.T) Wave {
	w := Wave{
		OpensAt: noon.Add(ms(rapid.IntRange(0, 5000).Draw(t, "opens"))),
		Rate:    anyRate(t),
		Window:  time.Duration(rapid.IntRange(1, 604_800).Draw(t, "window")) * time.Second,
		Size:    rapid.IntRange(0, 300).Draw(t, "size"),
	}
	w.CloseCap = w.OpensAt.Add(ms(rapid.IntRange(-2000, 100_000_000).Draw(t, "cap")))
	return w
}

func TestTurnOpensAtTheFloorOfItsShareOfThePace(t *testing.T) {
	for _, c := range []struct {
		rate Milli
		k    int
		want time.Duration
	}{
		{50_000, 0, 0},
		{50_000, 1, ms(20)},
		{50_000, 99, ms(1980)},
		{3_000, 1, ms(333)},
		{3_000, 2, ms(666)},
		{3_000, 3, ms(1000)},
		{1, 1, 1000 * time.Second},
		{500, 3, 6 * time.Second},
		{10_000_000, 9, 0},
		{10_000_000, 10, ms(1)},
		{10_000_000, 19_999, ms(1999)},
	} {
		w := Wave{OpensAt: noon, Rate: c.rate}
		if got := w.Opens(c.k).Sub(noon); got != c.want {
			t.Errorf("turn %d at %v/s opens after %v, want %v", c.k, c.rate.Float(), got, c.want)
		}
	}
}

func TestTurnOpensAtWholeMillisecondsExactlyAsRationalsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWave(t)
		k := rapid.IntRange(0, 20_000).Draw(t, "k")
		exact := new(big.Int).Div(big.NewInt(int64(k)*1_000_000), big.NewInt(int64(w.Rate)))
		if got := w.Opens(k).Sub(w.OpensAt); got != time.Duration(exact.Int64())*time.Millisecond {
			t.Fatalf("turn %d opens after %v, want %v ms", k, got, exact)
		}
	})
}

func TestTurnClosesAWindowLaterOrAtTheCap(t *testing.T) {
	w := Wave{OpensAt: noon, Rate: 1000, Window: 10 * time.Second, CloseCap: noon.Add(12 * time.Second), Size: 5}
	for k, want := range []int{10, 11, 12, 12, 12} {
		if got := w.Closes(k).Sub(noon); got != time.Duration(want)*time.Second {
			t.Errorf("turn %d closes after %v, want %d s", k, got, want)
		}
	}
	if got := w.LastCloses(); !got.Equal(noon.Add(12 * time.Second)) {
		t.Errorf("the last turn closes at %v", got)
	}
	if got := (&Wave{}).LastCloses(); !got.IsZero() {
		t.Errorf("a wave of nobody closes at %v", got)
	}
}

func TestClosedAndOpenedCountWhatALoopCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWave(t)
		now := noon.Add(ms(rapid.IntRange(-10, 10_000_000).Draw(t, "now")))
		if w.Size > 0 && rapid.Bool().Draw(t, "on an edge") {
			k := rapid.IntRange(0, w.Size-1).Draw(t, "k")
			edge := rapid.SampledFrom([]time.Time{w.Opens(k), w.Closes(k)}).Draw(t, "edge")
			now = edge.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "off")) * time.Millisecond)
		}
		opened, closed := 0, 0
		for k := range w.Size {
			if !now.Before(w.Opens(k)) {
				opened++
			}
			if !now.Before(w.Closes(k)) {
				closed++
			}
		}
		if got := w.Opened(now); got != opened {
			t.Fatalf("opened %d, want %d", got, opened)
		}
		if got := w.Closed(now); got != closed {
			t.Fatalf("closed %d, want %d", got, closed)
		}
	})
}

func TestPaceAfterNeverComesBeforeTheTurnThatWouldFollow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := anyRate(t)
		n := rapid.IntRange(1, 20_000).Draw(t, "n")
		after := paceAfter(noon, n, rate)
		// after - noon is n/rate seconds in microseconds, rounded up.
		exact := big.NewRat(int64(n)*1_000_000_000, int64(rate))
		got := big.NewRat(after.Sub(noon).Microseconds(), 1)
		if got.Cmp(exact) < 0 || new(big.Rat).Sub(got, exact).Cmp(big.NewRat(1, 1)) >= 0 {
			t.Fatalf("pace has room after %v us, exactly %v", got, exact)
		}
		w := Wave{OpensAt: noon, Rate: rate}
		if ceilMilli(after).Before(w.Opens(n)) {
			t.Fatalf("the next wave opens at %v, before turn %d of this one at %v", ceilMilli(after), n, w.Opens(n))
		}
	})
}

func TestCeilMilliIsTheFirstWholeMillisecondNotBefore(t *testing.T) {
	for _, c := range []struct{ in, want time.Duration }{
		{0, 0},
		{1, time.Millisecond},
		{999_999, time.Millisecond},
		{time.Millisecond, time.Millisecond},
		{time.Millisecond + time.Microsecond, 2 * time.Millisecond},
	} {
		if got := ceilMilli(noon.Add(c.in)); !got.Equal(noon.Add(c.want)) {
			t.Errorf("ceilMilli(+%v) = +%v, want +%v", c.in, got.Sub(noon), c.want)
		}
	}
}
