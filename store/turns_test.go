package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fanline/waitlist"
)

func TestACancelledPurchaseIsANewOpeningAndTheCancellerIsNotTold(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada", "ben")
	b.free("s", "o1", 1)
	b.decide()
	b.buy("s", "o1", "ada")
	b.pass(8 * time.Minute)
	b.wantOpening("s", "o1", waitlist.OpeningFilled, 0, 0, 1)
	b.free("s", "o2", 1)
	b.decide()
	b.wantTold("s", "o2", "ben")
	b.wantReason("s", "o2", "ada", waitlist.HasLeft)
	b.wantClaimRefused("s", "o2", "ada", waitlist.AlreadyClaimed)
	if c, isNew, err := b.Claim(t.Context(), at("s", "o1"), "ada"); err != nil || isNew || c.State != waitlist.ClaimConfirmed {
		t.Errorf("the old claim again: %+v, new %v, %v", c, isNew, err)
	}
	b.join("s", "ada")
	b.decide()
	if got := b.line("s"); !slices.Equal(got, []string{"ben", "ada"}) {
		t.Errorf("line %v: who rejoins stands at the tail", got)
	}
	b.pass(10 * time.Minute)
	b.wantTold("s", "o2", "ben", "ada")
	if n := len(b.told("s", "o1")); n != 1 {
		t.Errorf("%d turns at the first opening", n)
	}
}

func TestTheWalkGoesOnPastThoseWhoCannotTakeTheSeat(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{MaxMissed: waitlist.Some(1)})
	b.join("s", "dormant", "left", "holding", "busy")
	b.joinAs("s", "balcony", 1, "balcony")
	b.joinAs("s", "four", 4, "")
	b.join("s", "fine")
	b.free("s", "first", 1)
	b.decide()
	b.pass(10 * time.Minute) // "dormant" misses it; the next in line is told
	b.wantTold("s", "first", "dormant", "left")
	must(t, b.Leave(t.Context(), "s", "left"))
	b.decide()
	b.pass(time.Second)
	b.claim("s", "first", "holding")
	b.free("s", "second", 1)
	b.decide()
	b.wantTold("s", "second", "busy")
	b.report("s", waitlist.NewOpening{ID: "o", Quantity: 1, Tier: "stalls"})
	b.decide()
	b.wantTold("s", "o", "fine")
	for fan, why := range map[string]waitlist.Reason{
		"dormant": waitlist.IsDormant, "left": waitlist.HasLeft, "holding": waitlist.Busy, "busy": waitlist.Busy,
		"balcony": waitlist.TierMismatch, "four": waitlist.PartyTooBig, "fine": waitlist.TurnUpcoming,
	} {
		b.wantReason("s", "o", fan, why)
	}
}

func TestATurnIsOpenWhileNowIsBeforeItsClose(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada", "ben")
	for _, o := range []string{"o1", "o2"} {
		b.free("s", o, 1)
	}
	b.decide()
	b.wantTold("s", "o1", "ada")
	b.wantTold("s", "o2", "ben")
	first, second := b.verdict("s", "o1", "ada"), b.verdict("s", "o2", "ben")
	b.at(first.ClosesAt.Add(-ms))
	b.claim("s", "o1", "ada")
	b.at(second.OpensAt.Add(-ms))
	b.wantReason("s", "o2", "ben", waitlist.TurnUpcoming)
	b.wantInbox("ben")
	b.wantClaimRefused("s", "o2", "ben", waitlist.NotYourTurn)
	refused(t, "a decline too early", b.Decline(t.Context(), at("s", "o2"), "ben"), waitlist.NotYourTurn)
	b.at(*second.OpensAt)
	b.wantReason("s", "o2", "ben", waitlist.TurnOpen)
	b.wantInbox("ben", "turn:s:o2 open*")
	b.at(*second.ClosesAt)
	b.wantReason("s", "o2", "ben", waitlist.TurnLapsed)
	b.wantClaimRefused("s", "o2", "ben", waitlist.TurnOver)
	refused(t, "a late decline", b.Decline(t.Context(), at("s", "o2"), "ben"), waitlist.TurnOver)
}

func TestAHundredSeatsAreAHundredTurnsAndNoFanHasTwo(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	var fans []string
	for i := range 150 {
		fans = append(fans, fmt.Sprintf("fan%03d", i))
	}
	b.join("s", fans...)
	b.free("s", "o", 100)
	b.decide()
	b.wantTold("s", "o", fans[:100]...)
	b.pass(2 * time.Second) // at 50 a second
	if o := b.wantOpening("s", "o", waitlist.OpeningOpen, 100, 0, 0); o.Told != 100 {
		t.Errorf("told %d", o.Told)
	}
	first, last := b.verdict("s", "o", fans[0]), b.verdict("s", "o", fans[99])
	if d := last.OpensAt.Sub(*first.OpensAt); d != 99*20*ms {
		t.Errorf("turn 99 opens %v after turn 0", d)
	}
	b.pass(10 * time.Minute)
	b.wantTold("s", "o", fans...)
}

func TestDecisionsKeepThePaceOfTheShow(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{ReleasePerS: waitlist.Some(waitlist.Milli(2000))})
	b.join("s", "a", "b", "c", "d", "e", "f", "g")
	b.free("s", "o1", 3)
	b.free("s", "o2", 3)
	b.decide()
	b.wantTold("s", "o1", "a", "b", "c")
	b.wantTold("s", "o2", "d") // two seconds of the pace, over all openings
	b.pass(1500 * ms)
	b.wantTold("s", "o2", "d")
	b.pass(300 * ms) // within 250 ms of the pace's next room
	b.wantTold("s", "o2", "d", "e", "f")
	from := *b.verdict("s", "o1", "a").OpensAt
	for i, fan := range []string{"a", "b", "c", "d", "e", "f"} {
		o := "o1"
		if i > 2 {
			o = "o2"
		}
		if d := b.verdict("s", o, fan).OpensAt.Sub(from); d != time.Duration(i)*500*ms {
			t.Errorf("%s opens %v after the first", fan, d)
		}
	}
}

func TestInEveryoneModeTheLineIsToldWhileASeatIsFree(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{MaxMissed: waitlist.Some(1)})
	b.join("s", "a", "b", "c")
	b.joinAs("s", "pair", 2, "")
	b.free("s", "turns", 1)
	b.decide()
	mode := waitlist.ModeEveryone
	b.report("s", waitlist.NewOpening{ID: "o", Quantity: 1, Policy: waitlist.OpeningPolicy{Mode: &mode}})
	b.decide()
	b.wantTold("s", "o", "a", "b", "c") // busy skips nobody
	b.wantReason("s", "o", "pair", waitlist.PartyTooBig)
	b.pass(time.Second)
	b.claim("s", "o", "b")
	_, _, err := b.Claim(t.Context(), at("s", "o"), "c")
	refused(t, "a claim while the seat is held", err, waitlist.AllHeld)
	b.join("s", "d")
	b.decide()
	b.wantTold("s", "o", "a", "b", "c") // no seat is free
	b.free("s", "next", 1)
	b.decide()
	b.wantTold("s", "next", "c") // such a turn makes nobody busy; a's does, and b holds
	b.pass(10 * time.Minute)
	if e := b.entry("s", "c"); !e.Dormant || e.Missed != 1 {
		t.Errorf("c missed %d turns; one was of mode turns", e.Missed)
	}
}

func TestASeatThatNobodyTookGoesOn(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{HoldS: waitlist.Some(60)})
	b.join("s", "a", "b", "c", "d", "e")
	b.free("s", "o", 1)
	b.decide()
	must(t, b.Decline(t.Context(), at("s", "o"), "a"))
	must(t, b.Decline(t.Context(), at("s", "o"), "a"))
	b.decide()
	b.pass(time.Second)
	c := b.claim("s", "o", "b")
	_, err := b.Release(t.Context(), c.ID, "too dear")
	must(t, err)
	b.decide()
	b.wantReason("s", "o", "b", waitlist.HoldReleased)
	b.wantClaimRefused("s", "o", "b", waitlist.TurnOver)
	b.pass(time.Second)
	b.claim("s", "o", "c")
	b.pass(time.Minute)
	b.wantReason("s", "o", "c", waitlist.HoldLapsed)
	b.wantInbox("c", "result:s:o lapsed*", "turn:s:o over*")
	b.wantTold("s", "o", "a", "b", "c", "d")
	b.pass(10 * time.Minute)
	b.wantReason("s", "o", "d", waitlist.TurnLapsed)
	b.wantTold("s", "o", "a", "b", "c", "d", "e")
	b.pass(10 * time.Minute)
	b.wantOpening("s", "o", waitlist.OpeningExhausted, 1, 0, 0)
	if got := b.line("s"); !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
		t.Errorf("line %v: all keep their places", got)
	}
}

func TestAFilledOpeningEndsTheTurnsStillOpen(t *testing.T) {
	t.Parallel()
	for _, strategy := range []waitlist.Strategy{waitlist.Write, waitlist.Read} {
		b := newStopped(t)
		b.show("s", waitlist.PolicyChange{
			Strategy: waitlist.Some(strategy), FansPerSeat: waitlist.Some(waitlist.Milli(3000)),
			ReleasePerS: waitlist.Some(waitlist.Milli(2000)),
		})
		b.join("s", "a", "b", "c")
		b.free("s", "o", 1)
		b.decide()
		b.pass(600 * ms)
		b.wantReason("s", "o", "c", waitlist.TurnUpcoming)
		b.buy("s", "o", "a")
		b.decide()
		b.wantOpening("s", "o", waitlist.OpeningFilled, 0, 0, 1)
		b.pass(time.Second)
		b.wantInbox("a", "result:s:o confirmed*", "turn:s:o claimed*")
		b.wantInbox("b", "result:s:o filled*", "turn:s:o over*")
		b.wantInbox("c") // it was not open yet, and never will be
		b.wantReason("s", "o", "b", waitlist.EndFilled)
		b.wantReason("s", "o", "c", waitlist.EndFilled)
		b.wantClaimRefused("s", "o", "b", waitlist.Filled)
		if o := b.wantOpening("s", "o", waitlist.OpeningFilled, 0, 0, 1); o.Told != 2 {
			t.Errorf("told %d", o.Told)
		}
	}
}
