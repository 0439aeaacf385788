package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is how often the bootstrap draws.
const resamples = 2000

// pairs are measurements of ours, each with that of the floor next to it.
type pairs struct{ ours, floor []float64 }

func (p *pairs) add(ours, floor float64) {
	p.ours, p.floor = append(p.ours, ours), append(p.floor, floor)
}

// ratios are ours over the floor, pair by pair. A pair whose floor is not above zero has none.
func (p *pairs) ratios() []float64 {
	rs := make([]float64, 0, len(p.ours))
	for i, f := range p.floor {
		if f > 0 {
			rs = append(rs, p.ours[i]/f)
		}
	}
	return rs
}

// summary is what is reported of pairs: medians, and the median ratio with its 95 % interval.
type summary struct{ ours, floor, ratio, low, high float64 }

func (p *pairs) summary() summary {
	rs := p.ratios()
	s := summary{ours: median(p.ours), floor: median(p.floor), ratio: median(rs)}
	s.low, s.high = bootstrap(rs, median, resamples)
	return s
}

// median is the middle one, or the mean of the two in the middle; NaN of nothing.
func median(xs []float64) float64 { return quantile(xs, 0.5) }

// quantile is the value below which the part q of xs lies, between two of them in proportion; NaN of nothing.
func quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// bootstrap is the 95 % percentile interval of a statistic: it is worked out again for n samples drawn from xs with
// replacement. The draws are the same in every run, so that the same measurements give the same interval.
func bootstrap(xs []float64, stat func([]float64) float64, n int) (low, high float64) {
	if len(xs) == 0 {
		return math.NaN(), math.NaN()
	}
	rng := rand.New(rand.NewPCG(1, 2))
	stats, draw := make([]float64, n), make([]float64, len(xs))
	for i := range stats {
		for j := range draw {
			draw[j] = xs[rng.IntN(len(xs))]
		}
		stats[i] = stat(draw)
	}
	return quantile(stats, 0.025), quantile(stats, 0.975)
}

func sum(xs []float64) (s float64) {
	for _, x := range xs {
		s += x
	}
	return s
}

func mean(xs []float64) float64 { return sum(xs) / float64(len(xs)) }
