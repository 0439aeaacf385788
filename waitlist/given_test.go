package waitlist

import (
	"slices"
	"testing"
	"time"
)

func TestFansChosenByStaffComeFirst(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(5, 1, "")
	o := l.record(3, func(o *Opening) { o.Given = []int64{5, 4} })
	l.mustDecide(t)
	wantTold(t, o, 5, 4, 1)
	for k, m := range o.waves[0].Members {
		if m.Given != (k < 2) || m.K != k {
			t.Errorf("member %d: %+v", k, m)
		}
	}
	if len(o.Given) != 0 {
		t.Errorf("given is still %v", o.Given)
	}
}

func TestFanChosenTwiceIsToldOnce(t *testing.T) {
	for _, mode := range []Mode{ModeTurns, ModeEveryone} {
		l := newFakeLine(DefaultPolicy())
		l.join(3, 1, "")
		o := l.record(2, func(o *Opening) { o.Mode, o.Given = mode, []int64{2, 2} })
		l.mustDecide(t)
		want := []int64{2, 1}
		if mode == ModeEveryone {
			want = append(want, 3)
		}
		wantTold(t, o, want...)
		if len(o.Given) != 0 {
			t.Errorf("mode %s: given is still %v", mode, o.Given)
		}
	}
}

func TestFanChosenByStaffWhoIsBusyOrDoesNotFitKeepsTheTurn(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(4, 1, "")
	l.entry(2).Party = 3
	first := l.record(1, nil)
	l.mustDecide(t)
	wantTold(t, first, 1)
	l.leave(l.entry(4), Left)
	o := l.record(1, func(o *Opening) { o.Given = []int64{1, 2, 4} })
	l.mustDecide(t)
	wantTold(t, o, 3)
	if !slices.Equal(o.Given, []int64{1, 2}) {
		t.Errorf("given %v, want those who may still be served", o.Given)
	}
	l.decline(first, l.entry(1))
	l.decline(o, l.entry(3))
	l.mustDecide(t)
	wantTold(t, o, 3, 1)
}

func TestFanChosenByStaffWhoChangedTierSinceHasLostTheTurn(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(1, 1, "B")
	l.join(1, 1, "A")
	o := l.record(1, func(o *Opening) { o.Tier, o.Given = "A", []int64{1} })
	l.mustDecide(t)
	wantTold(t, o, 2)
	if len(o.Given) != 0 {
		t.Errorf("given is still %v", o.Given)
	}
}

func TestFansChosenByStaffKeepToThePaceToo(t *testing.T) {
	p := DefaultPolicy()
	p.ReleasePerS = 1000
	l := newFakeLine(p)
	l.join(4, 1, "")
	o := l.record(4, func(o *Opening) { o.Given = []int64{4, 3, 2} })
	l.mustDecide(t)
	wantTold(t, o, 4, 3)
	if w := o.waves[0]; w.WalkedTo != NoWalk {
		t.Errorf("a wave of chosen fans alone walked to %d", w.WalkedTo)
	}
	l.now = l.paceAt
	l.mustDecide(t)
	wantTold(t, o, 4, 3, 2, 1)
}

func TestDormantFanMayBeChosenByStaffAndIsWaitedForWhileBusy(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(1, 1, "")
	first := l.record(1, func(o *Opening) { o.Window = time.Minute })
	l.mustDecide(t)
	l.entry(1).Dormant = true
	o := l.record(1, func(o *Opening) { o.Given = []int64{1} })
	l.now = l.now.Add(time.Second)
	l.mustDecide(t)
	wantState(t, o, OpeningOpen)
	l.now = first.waves[0].LastCloses()
	l.mustDecide(t)
	wantTold(t, o, 1)
}
