package waitlist

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// goodClaim is a party of two that may take its seats.
func goodClaim() ClaimFacts {
	turn := tenMinutes()
	return ClaimFacts{
		Now:     noon.Add(time.Minute),
		Opening: &Opening{State: OpeningOpen, Quantity: 4, Free: 4},
		Entry:   &Entry{No: 1, Party: 2, State: Waiting},
		Told:    &turn,
		Fits:    true,
	}
}

func TestClaimIsRefusedForTheFirstRuleItBreaks(t *testing.T) {
	// Each step breaks one more rule, from the last to the first in precedence.
	f := goodClaim()
	for _, step := range []struct {
		name  string
		wrong func()
		want  Code
	}{
		{"good", func() {}, ""},
		{"no seats free", func() { f.Fits = false }, AllHeld},
		{"party larger than the seats left", func() { f.Opening.Confirmed = 3 }, Filled},
		{"turn over", func() { f.Now = f.Told.Closes }, TurnOver},
		{"turn not open", func() { f.Now = f.Told.Opens.Add(-1) }, NotYourTurn},
		{"never told", func() { f.Told = nil }, NotYourTurn},
		{"opening filled", func() { f.Opening.State = OpeningFilled }, Filled},
		{"holding elsewhere", func() { f.Entry.State = Holding }, AlreadyClaimed},
		{"bought", func() { f.Entry.State = Bought }, AlreadyClaimed},
		{"claimed this turn before", func() { f.Own = &Claim{State: ClaimReleased} }, TurnOver},
		{"show cancelled", func() { f.Cancelled = true }, Closed},
		{"opening cancelled", func() { f.Cancelled, f.Opening.State = false, OpeningCancelled }, Closed},
	} {
		step.wrong()
		if err := CheckClaim(f); CodeOf(err) != step.want || (err == nil) != (step.want == "") {
			t.Errorf("%s: %v, want %q", step.name, err, step.want)
		}
	}
}

func TestClaimIsAcceptedFromOpensAtToTheMillisecondBeforeClosesAt(t *testing.T) {
	for _, c := range []struct {
		now  time.Duration
		want Code
	}{
		{-ms(1), NotYourTurn},
		{0, ""},
		{10*time.Minute - ms(1), ""},
		{10 * time.Minute, TurnOver},
		{10*time.Minute + ms(1), TurnOver},
	} {
		f := goodClaim()
		f.Now = noon.Add(c.now)
		if err := CheckClaim(f); CodeOf(err) != c.want {
			t.Errorf("at %v: %v, want %q", c.now, err, c.want)
		}
	}
}

func TestClaimAfterTheOpeningsEndIsRefused(t *testing.T) {
	for state, want := range map[OpeningState]Code{
		OpeningFilled: Filled, OpeningExhausted: TurnOver, OpeningCancelled: Closed,
	} {
		f := goodClaim()
		f.Opening.State = state
		f.Told.Final, f.Told.FinalAt = state, ptr(f.Now)
		if err := CheckClaim(f); CodeOf(err) != want {
			t.Errorf("%s: %v, want %q", state, err, want)
		}
	}
}

func TestClaimOfATurnThatAnActEndedIsRefused(t *testing.T) {
	for _, act := range []ActState{ActDeclined, ActLeft, ActRemoved, ActBought} {
		f := goodClaim()
		f.Told.Act = &Act{State: act, At: f.Now}
		if err := CheckClaim(f); CodeOf(err) != TurnOver {
			t.Errorf("%s: %v", act, err)
		}
	}
}

func TestAllHeldAsksToTryAgain(t *testing.T) {
	f := goodClaim()
	f.Fits = false
	var e *Error
	if err := CheckClaim(f); !errors.As(err, &e) || e.RetryAfter <= 0 {
		t.Errorf("got %v, retry after %v", err, e.RetryAfter)
	}
}

func TestHoldLastsAtMostTwiceItsTime(t *testing.T) {
	hold := 10 * time.Minute
	c := Claim{ClaimedAt: noon, ExpiresAt: noon.Add(hold)}
	if got, err := c.ExtendTo(hold, hold); err != nil || !got.Equal(noon.Add(2*hold)) {
		t.Errorf("twice the hold: %v, %v", got, err)
	}
	if _, err := c.ExtendTo(hold+time.Second, hold); CodeOf(err) != Conflict {
		t.Errorf("a second more: %v", err)
	}
	c.ExpiresAt = noon.Add(2 * hold)
	if _, err := c.ExtendTo(time.Second, hold); CodeOf(err) != Conflict {
		t.Errorf("again: %v", err)
	}
}

func TestRunsOfFreeSeatsAgreeWithALook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		free := rapid.SliceOfN(rapid.Bool(), 0, 24).Draw(t, "free")
		n := rapid.IntRange(1, 6).Draw(t, "n")
		runs := func(at, n int) bool {
			for i := at; i < at+n; i++ {
				if i >= len(free) || !free[i] {
					return false
				}
			}
			return true
		}
		first, longest := -1, 0
		for at := range free {
			if first < 0 && runs(at, n) {
				first = at
			}
			for runs(at, longest+1) {
				longest++
			}
		}
		if got := Run(free, n); got != first {
			t.Fatalf("Run(%v, %d) = %d, want %d", free, n, got, first)
		}
		if got := LongestRun(free); got != longest {
			t.Fatalf("LongestRun(%v) = %d, want %d", free, got, longest)
		}
	})
}
