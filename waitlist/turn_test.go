package waitlist

import (
	"testing"
	"time"
)

// tenMinutes is a turn that opens at noon for ten minutes.
func tenMinutes() Telling {
	return Telling{
		OpeningNo: 1, Mode: ModeTurns, N: 1, Party: 1, Decision: 5,
		Opens: noon, Closes: noon.Add(10 * time.Minute),
	}
}

func TestTurnIsOpenFromOpensAtUntilClosesAt(t *testing.T) {
	turn := tenMinutes()
	for _, c := range []struct {
		now   time.Duration
		want  Phase
		shown bool
	}{
		{-time.Hour, PhaseUpcoming, false},
		{-time.Millisecond, PhaseUpcoming, false},
		{0, PhaseOpen, true},
		{10*time.Minute - time.Millisecond, PhaseOpen, true},
		{10 * time.Minute, PhaseOver, true},
		{time.Hour, PhaseOver, true},
	} {
		now := noon.Add(c.now)
		if got := turn.At(now); got != c.want {
			t.Errorf("at %v the phase is %d, want %d", c.now, got, c.want)
		}
		if got := turn.Shown(now); got != c.shown {
			t.Errorf("at %v shown is %v", c.now, got)
		}
		if got := turn.Live(now); got != (c.want == PhaseOpen || c.want == PhaseUpcoming) {
			t.Errorf("at %v live is %v", c.now, got)
		}
	}
}

func TestTurnThatWouldOpenAtOrAfterItsEndNeverExists(t *testing.T) {
	capped := tenMinutes()
	capped.Closes = capped.Opens
	for _, final := range []time.Duration{-time.Second, 0} {
		ended := tenMinutes()
		ended.FinalAt, ended.Final = ptr(noon.Add(final)), OpeningFilled
		for _, turn := range []Telling{capped, ended} {
			for _, now := range []time.Duration{-time.Minute, 0, time.Minute, time.Hour} {
				if got := turn.At(noon.Add(now)); got != PhaseNever {
					t.Errorf("final %v, now %v: phase %d, want never", final, now, got)
				}
				if turn.Shown(noon.Add(now)) || turn.Live(noon.Add(now)) || turn.CutShort() {
					t.Errorf("final %v, now %v: a turn that never was is shown, live or cut short", final, now)
				}
			}
		}
	}
}

func TestOpeningsEndCutsAnOpenTurnShort(t *testing.T) {
	for _, c := range []struct {
		name  string
		final time.Duration
		act   *Act
		want  bool
	}{
		{"before it opened", -time.Millisecond, nil, false},
		{"as it opened", 0, nil, false},
		{"just after it opened", time.Millisecond, nil, true},
		{"just before it closed", 10*time.Minute - time.Millisecond, nil, true},
		{"as it closed", 10 * time.Minute, nil, false},
		{"after an act", time.Minute, &Act{State: ActDeclined, At: noon.Add(time.Second)}, false},
	} {
		turn := tenMinutes()
		turn.FinalAt, turn.Final, turn.Act = ptr(noon.Add(c.final)), OpeningCancelled, c.act
		if got := turn.CutShort(); got != c.want {
			t.Errorf("%s: cut short is %v", c.name, got)
		}
		if c.want && turn.At(noon.Add(c.final)) != PhaseOver {
			t.Errorf("%s: not over at the opening's end", c.name)
		}
		if c.want && turn.At(noon.Add(c.final-time.Millisecond)) != PhaseOpen {
			t.Errorf("%s: not open just before the opening's end", c.name)
		}
	}
}

func TestActEndsATurn(t *testing.T) {
	for _, s := range []ActState{ActClaimed, ActDeclined, ActLeft, ActRemoved, ActBought} {
		turn := tenMinutes()
		turn.Act = &Act{State: s, At: noon.Add(time.Minute)}
		if got := turn.At(noon.Add(time.Minute)); got != PhaseOver {
			t.Errorf("%s: phase %d, want over", s, got)
		}
		if !turn.Shown(noon.Add(time.Minute)) {
			t.Errorf("%s: the fan's item is gone", s)
		}
	}
}

func TestActBeforeATurnOpenedLeavesNoItem(t *testing.T) {
	turn := tenMinutes()
	turn.Act = &Act{State: ActLeft, At: noon.Add(-time.Second)}
	if got := turn.At(noon.Add(-time.Second)); got != PhaseOver {
		t.Errorf("phase %d before it would have opened, want over", got)
	}
	for _, now := range []time.Duration{-time.Second, 0, time.Minute, time.Hour} {
		if turn.Shown(noon.Add(now)) || turn.Live(noon.Add(now)) {
			t.Errorf("at %v an item exists", now)
		}
	}
}

func TestBusyIsToldByDecisionNumbers(t *testing.T) {
	turn := tenMinutes() // opening 1, decided by decision 5
	with := func(change func(*Telling)) Telling {
		c := turn
		change(&c)
		return c
	}
	for _, c := range []struct {
		name     string
		turn     Telling
		opening  int64
		decision int64
		at       time.Duration
		want     bool
	}{
		{"a later decision", turn, 2, 6, 0, true},
		{"while upcoming", turn, 2, 6, -time.Minute, true},
		{"just before it closed", turn, 2, 6, 10*time.Minute - 1, true},
		{"as it closed", turn, 2, 6, 10 * time.Minute, false},
		{"an earlier decision", turn, 2, 4, 0, false},
		{"the same decision, an opening served later", turn, 2, 5, 0, true},
		{"the same decision, an opening served before", turn, 0, 5, 0, false},
		{"its own opening", turn, 1, 6, 0, false},
		{"mode everyone", with(func(t *Telling) { t.Mode = ModeEveryone }), 2, 6, 0, false},
		{"an act that the decision saw", with(func(t *Telling) { t.Act = &Act{State: ActDeclined, Decision: 5} }), 2, 6, 0, false},
		{"an act that it did not see", with(func(t *Telling) { t.Act = &Act{State: ActDeclined, Decision: 6} }), 2, 6, 0, true},
		{"an end that it saw", with(func(t *Telling) { t.FinalAt, t.FinalDecision = &noon, 5 }), 2, 6, 0, false},
		{"an end that it did not see", with(func(t *Telling) { t.FinalAt, t.FinalDecision = &noon, 6 }), 2, 6, 0, true},
		{"cut off since, by an earlier close of sales", with(func(t *Telling) { t.Closes = t.Opens }), 2, 6, -time.Minute, true},
	} {
		if got := c.turn.busyFor(c.opening, c.decision, noon.Add(c.at)); got != c.want {
			t.Errorf("%s: busy is %v", c.name, got)
		}
	}
}
