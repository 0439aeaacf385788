package sim

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// act is what a fan does with a turn.
type act int

const (
	buys     act = iota // claims and confirms
	forgets             // claims and lets the hold lapse
	declines            // passes the seat on
	sleeps              // does not look, so that the turn lapses
)

// temper is how likely a fan is to do what, in hundredths; sleeps is the rest.
// Nobody does the same each time: a fan who never buys keeps the place, and the
// front of the line would fill up with them.
type temper struct{ buys, forgets, declines int }

var tempers = []struct {
	of100 int // fans of this temper
	temper
}{
	{55, temper{buys: 88, forgets: 4, declines: 4}},  // eager
	{15, temper{buys: 50, forgets: 35, declines: 5}}, // forgetful
	{15, temper{buys: 50, forgets: 5, declines: 40}}, // picky
	{15, temper{buys: 50, forgets: 5, declines: 5}},  // sleepy
}

// draw gives the chances of one fan, and of one fan's turn, the same in each run
// of the same seed.
func draw(seed uint64, words ...string) *rand.Rand {
	h := fnv.New64a()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func temperOf(seed uint64, fan string) temper {
	n := draw(seed, fan).IntN(100)
	for _, t := range tempers {
		if n -= t.of100; n < 0 {
			return t.temper
		}
	}
	return tempers[0].temper
}

// plan is what a fan does with one turn, and how quickly, as shares of the window
// and of the hold.
type plan struct {
	act        act
	think, pay float64
}

func planFor(seed uint64, fan, opening string) plan {
	t, r := temperOf(seed, fan), draw(seed, fan, opening)
	p := plan{act: sleeps, think: 0.05 + 0.35*r.Float64(), pay: 0.05 + 0.25*r.Float64()}
	switch n := r.IntN(100); {
	case n < t.buys:
		p.act = buys
	case n < t.buys+t.forgets:
		p.act = forgets
	case n < t.buys+t.forgets+t.declines:
		p.act = declines
	}
	return p
}

func share(f float64, of time.Duration) time.Duration { return time.Duration(f * float64(of)) }
