package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMedianIsTheMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		xs   []float64
		want float64
	}{
		{[]float64{7}, 7},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
		{[]float64{1, 1, 1, 100}, 1},
	} {
		if got := median(c.xs); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.xs, got, c.want)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("nothing has a median")
	}
}

func TestMedianLeavesTheOrderAlone(t *testing.T) {
	t.Parallel()
	xs := []float64{3, 1, 2}
	median(xs)
	if xs[0] != 3 || xs[1] != 1 || xs[2] != 2 {
		t.Errorf("sorted in place: %v", xs)
	}
}

func TestQuantileLiesBetweenItsNeighboursInProportion(t *testing.T) {
	t.Parallel()
	xs := []float64{10, 20, 30, 40, 50}
	for q, want := range map[float64]float64{0: 10, 0.25: 20, 0.3: 22, 0.99: 49.6, 1: 50} {
		if got := quantile(xs, q); math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

func TestRatiosArePairByPair(t *testing.T) {
	t.Parallel()
	// The machine is twice as slow in the second half: each pair still says 2, though ours over all floors does not.
	var p pairs
	for range 10 {
		p.add(2, 1)
	}
	for range 9 {
		p.add(4, 2)
	}
	p.add(5, 0) // a floor that could not be measured
	if rs := p.ratios(); len(rs) != 19 {
		t.Fatalf("%d ratios", len(rs))
	}
	if s := p.summary(); s.ratio != 2 || s.low != 2 || s.high != 2 || s.floor != 1 {
		t.Errorf("%+v", s)
	}
}

func TestBootstrapHoldsTheTruthAndNarrowsWithThePairs(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	width := func(n int) float64 {
		held, wide := 0, 0.0
		for range 60 {
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = 3 + rng.NormFloat64()
			}
			low, high := bootstrap(xs, median, 300)
			if low > high {
				t.Fatalf("%v to %v", low, high)
			}
			if low <= 3 && 3 <= high {
				held++
			}
			wide += high - low
		}
		// 95 % of 60 are 57; under 50 has a chance of about one in ten thousand.
		if held < 50 {
			t.Errorf("of 60 intervals from %d values, %d hold the true median", n, held)
		}
		return wide / 60
	}
	if few, many := width(20), width(320); many > few/2 {
		t.Errorf("sixteen times the values narrow the interval from %v to %v, want to a quarter", few, many)
	}
}

func TestBootstrapIsTheSameInEveryRun(t *testing.T) {
	t.Parallel()
	xs := []float64{1, 5, 2, 8, 3, 9, 4}
	low, high := bootstrap(xs, median, 500)
	if l, h := bootstrap(xs, median, 500); l != low || h != high {
		t.Errorf("%v to %v, then %v to %v", low, high, l, h)
	}
	if low < 1 || high > 9 || low == high {
		t.Errorf("%v to %v", low, high)
	}
}
