package store_test

import (
	"testing"
	"time"

	"fanline/delivery/live"
	"fanline/notifier"
	"fanline/waitlist"
)

func TestNobodyIsToldAfterTheCloseOfSales(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	closes := morning.Add(time.Hour)
	b.change("s", waitlist.ShowChange{SalesCloseAt: waitlist.Some(&closes), TimeZone: waitlist.Some("Pacific/Auckland")})
	b.join("s", "ada", "ben")
	b.at(closes.Add(-time.Minute))
	b.free("s", "o", 1) // the process that decides is away
	b.at(closes.Add(time.Minute))
	b.decide()
	b.wantTold("s", "o")
	b.wantReason("s", "o", "ada", waitlist.EndExhausted)
	b.wantOpening("s", "o", waitlist.OpeningExhausted, 1, 0, 0)
	if got := b.events("s", notifier.SeatsReturned); len(got) != 1 {
		t.Errorf("returned %v", got)
	}
	b.free("s", "late", 1)
	b.decide()
	b.wantTold("s", "late")
	b.wantOpening("s", "late", waitlist.OpeningExhausted, 1, 0, 0)
}

func TestTheShowsStartIsTheCloseOfSales(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.starts = morning.Add(5 * time.Minute)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada", "ben")
	b.free("s", "o", 1)
	b.decide()
	if v := b.verdict("s", "o", "ada"); !v.ClosesAt.Equal(b.starts) {
		t.Errorf("closes at %v, the show starts at %v", v.ClosesAt, b.starts)
	}
	b.pass(5*time.Minute - ms)
	b.wantReason("s", "o", "ada", waitlist.TurnOpen)
	b.pass(ms)
	b.wantReason("s", "o", "ada", waitlist.TurnLapsed)
	b.wantTold("s", "o", "ada")
	b.wantReason("s", "o", "ben", waitlist.EndExhausted)
	b.wantOpening("s", "o", waitlist.OpeningExhausted, 1, 0, 0)
}

func TestANearerCloseOfSalesEndsWhatWasDecided(t *testing.T) {
	t.Parallel()
	for _, strategy := range []waitlist.Strategy{waitlist.Write, waitlist.Read} {
		b := newStopped(t)
		b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(strategy), ReleasePerS: waitlist.Some(waitlist.Milli(1000))})
		b.join("s", "open", "holds", "soon", "later")
		b.free("s", "o", 4)
		b.decide()
		b.pass(1200 * ms)
		b.claim("s", "o", "holds")
		b.pass(400 * ms)
		b.wantTold("s", "o", "open", "holds")
		b.pass(300 * ms)
		b.wantTold("s", "o", "open", "holds", "soon", "later")
		b.wantReason("s", "o", "soon", waitlist.TurnUpcoming)
		closes := morning.Add(2500 * ms)
		b.change("s", waitlist.ShowChange{SalesCloseAt: waitlist.Some(&closes)})
		b.pass(200 * ms)
		b.wantReason("s", "o", "open", waitlist.TurnOpen)
		b.wantStanding("s", "o", map[string]notifier.TurnState{"open": "open", "holds": "claimed", "soon": "open", "later": ""})
		b.pass(400 * ms)
		b.wantReason("s", "o", "open", waitlist.TurnLapsed)
		b.wantReason("s", "o", "soon", waitlist.TurnLapsed)
		b.wantReason("s", "o", "later", waitlist.SalesClosed)
		b.wantStanding("s", "o", map[string]notifier.TurnState{"open": "over", "holds": "claimed", "soon": "over", "later": ""})
		b.wantClaimRefused("s", "o", "open", waitlist.TurnOver)
		b.pass(time.Second)
		b.wantInbox("later")
		b.wantInbox("soon", "turn:s:o over*")
		b.wantOpening("s", "o", waitlist.OpeningOpen, 3, 1, 0) // a hold is waited for
		later := morning.Add(time.Hour)
		b.change("s", waitlist.ShowChange{SalesCloseAt: waitlist.Some(&later)})
		b.decide()
		b.wantReason("s", "o", "open", waitlist.TurnLapsed) // what ended stays ended
		closes = morning
		b.change("s", waitlist.ShowChange{SalesCloseAt: waitlist.Some(&closes)})
		b.pass(10 * time.Minute)
		b.wantOpening("s", "o", waitlist.OpeningExhausted, 4, 0, 0)
		b.wantReason("s", "o", "holds", waitlist.HoldLapsed)
	}
}

// wantStanding compares the feed's word on turns at one opening.
func (b *bench) wantStanding(show, opening string, want map[string]notifier.TurnState) {
	b.t.Helper()
	o, err := b.Opening(b.t.Context(), at(show, opening))
	must(b.t, err)
	for fan, state := range want {
		key := live.TurnKey{OpeningNo: o.No, EntryNo: b.entry(show, fan).No}
		got, err := b.store.Feed().Standing(b.t.Context(), []live.TurnKey{key})
		must(b.t, err)
		if got[0] != state {
			b.t.Errorf("standing of %s at %s: %q, want %q", fan, opening, got[0], state)
		}
	}
}

func TestNoTurnOpensInQuietHours(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	// In Kathmandu, 5:45 before UTC, the morning is 14:45.
	quiet := &waitlist.Quiet{From: "14:46", To: "18:00", Zone: "Asia/Kathmandu"}
	b.show("s", waitlist.PolicyChange{
		QuietHours: waitlist.Some(quiet), ReleasePerS: waitlist.Some(waitlist.Milli(1000)), ClaimWindowS: waitlist.Some(3600),
	})
	b.join("s", "ada", "ben", "cyd")
	b.at(morning.Add(59 * time.Second))
	b.free("s", "o", 3)
	b.decide()
	b.wantTold("s", "o", "ada") // ben's would open at 14:46
	b.pass(time.Second)
	b.wantTold("s", "o", "ada")
	b.wantReason("s", "o", "ada", waitlist.TurnOpen) // open turns run on
	b.wantReason("s", "o", "ben", waitlist.QuietHours)
	b.pass(30 * time.Minute)
	b.claim("s", "o", "ada")
	b.at(morning.Add(3*time.Hour + 15*time.Minute - ms))
	b.decide()
	b.wantTold("s", "o", "ada")
	b.pass(ms)
	b.wantTold("s", "o", "ada", "ben", "cyd")
}

func TestWhilePausedNothingIsDecided(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada", "ben", "cyd")
	b.free("s", "o1", 1)
	b.decide()
	must(t, b.Pause(t.Context(), "s", true))
	b.change("s", waitlist.ShowChange{Paused: waitlist.Some(true)})
	b.free("s", "o2", 1)
	b.decide()
	b.wantTold("s", "o2")
	b.wantReason("s", "o2", "ben", waitlist.IsPaused)
	must(t, b.Decline(t.Context(), at("s", "o1"), "ada"))
	b.decide()
	b.wantTold("s", "o1", "ada")
	must(t, b.Pause(t.Context(), "s", false))
	b.decide()
	b.wantTold("s", "o2") // the ticketing app's pause stands
	b.change("s", waitlist.ShowChange{Paused: waitlist.Some(false)})
	b.decide()
	b.wantTold("s", "o1", "ada", "ben")
	b.wantTold("s", "o2", "ada")
}

func TestOpenTurnsCanBeClaimedWhilePaused(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{HoldS: waitlist.Some(60)})
	b.join("s", "ada")
	b.free("s", "o", 1)
	b.decide()
	must(t, b.Pause(t.Context(), "s", true))
	c := b.claim("s", "o", "ada")
	b.pass(time.Minute)
	if c, err := b.ClaimByID(t.Context(), c.ID); err != nil || c.State != waitlist.ClaimLapsed {
		t.Errorf("claim %+v, %v", c, err)
	}
	b.wantOpening("s", "o", waitlist.OpeningOpen, 1, 0, 0) // time takes effect, nothing is decided
}
