package store_test

import (
	"slices"
	"testing"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

func TestAHoldLastsUntilItsExpiryAndNoLonger(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{HoldS: waitlist.Some(60)})
	b.join("s", "a", "b")
	b.free("s", "o", 2)
	b.decide()
	b.pass(time.Second)
	first, second := b.claim("s", "o", "a"), b.claim("s", "o", "b")
	b.at(first.ExpiresAt.Add(-ms))
	_, err := b.Confirm(t.Context(), first.ID)
	must(t, err)
	_, err = b.Confirm(t.Context(), first.ID)
	must(t, err)
	b.at(second.ExpiresAt)
	_, err = b.Confirm(t.Context(), second.ID)
	refused(t, "a late confirm", err, waitlist.TurnOver)
	_, err = b.Extend(t.Context(), second.ID, time.Second)
	refused(t, "a late extension", err, waitlist.TurnOver)
	if c, err := b.ClaimByID(t.Context(), second.ID); err != nil || c.State != waitlist.ClaimLapsed {
		t.Errorf("claim %+v, %v", c, err)
	}
	b.wantReason("s", "o", "b", waitlist.HoldLapsed)
	_, err = b.Release(t.Context(), first.ID, "")
	refused(t, "a release of what was bought", err, waitlist.Conflict)
	_, err = b.Extend(t.Context(), first.ID, time.Second)
	refused(t, "an extension of what was bought", err, waitlist.Conflict)
	b.decide()
	b.wantReason("s", "o", "b", waitlist.HoldLapsed)
	if got := b.events("s", notifier.ClaimLapsed); len(got) != 1 {
		t.Errorf("lapsed %v", got)
	}
}

func TestAHoldLastsAtMostTwiceAsLong(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{HoldS: waitlist.Some(60)})
	b.join("s", "a")
	b.free("s", "o", 1)
	b.decide()
	c := b.claim("s", "o", "a")
	b.pass(30 * time.Second)
	_, err := b.Extend(t.Context(), c.ID, 61*time.Second)
	refused(t, "more than twice", err, waitlist.Conflict)
	d, err := b.Extend(t.Context(), c.ID, 60*time.Second)
	if err != nil || !d.ExpiresAt.Equal(c.ExpiresAt.Add(time.Minute)) {
		t.Fatalf("extended to %v from %v, %v", d.ExpiresAt, c.ExpiresAt, err)
	}
	_, err = b.Extend(t.Context(), c.ID, time.Second)
	refused(t, "a second more", err, waitlist.Conflict)
	_, err = b.Extend(t.Context(), c.ID, 0)
	refused(t, "nothing", err, waitlist.Invalid)
	b.pass(90*time.Second - ms)
	b.wantReason("s", "o", "a", waitlist.IsClaimed)
	b.pass(ms)
	b.wantOpening("s", "o", waitlist.OpeningExhausted, 1, 0, 0)
}

func TestAFanHoldsOneClaimAShow(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{Mode: waitlist.Some(waitlist.ModeEveryone)})
	b.join("s", "a", "b")
	b.free("s", "o1", 1)
	b.free("s", "o2", 1)
	b.decide()
	b.pass(time.Second)
	c := b.claim("s", "o1", "a")
	b.wantClaimRefused("s", "o2", "a", waitlist.AlreadyClaimed)
	refused(t, "a decline of a claimed turn", b.Decline(t.Context(), at("s", "o1"), "a"), waitlist.AlreadyClaimed)
	again, isNew, err := b.Claim(t.Context(), at("s", "o1"), "a")
	if err != nil || isNew || again.ID != c.ID {
		t.Errorf("the same claim again: %+v, new %v, %v", again, isNew, err)
	}
	_, err = b.Confirm(t.Context(), c.ID)
	must(t, err)
	b.wantReason("s", "o2", "a", waitlist.HasLeft) // it bought: the other turn ended
	b.wantInbox("a", "result:s:o1 confirmed*", "turn:s:o2 over*", "turn:s:o1 claimed*")
	b.decide()
	b.wantReason("s", "o2", "b", waitlist.TurnOpen)
}

func TestACancelledOpeningHandsItsSeatsBackOnceWhenTheHoldEnded(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"confirmed", "released", "lapsed", "left"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			b := newStopped(t)
			b.show("s", waitlist.PolicyChange{})
			b.join("s", "a", "b", "c")
			b.report("s", waitlist.NewOpening{ID: "o", Seats: []string{"1", "2"}})
			b.decide()
			b.pass(time.Second)
			c := b.claim("s", "o", "a")
			must(t, b.CancelOpening(t.Context(), at("s", "o")))
			must(t, b.CancelOpening(t.Context(), at("s", "o")))
			b.pass(time.Second)
			b.wantReason("s", "o", "a", waitlist.IsClaimed)
			b.wantReason("s", "o", "b", waitlist.EndCancelled)
			b.wantInbox("b", "result:s:o cancelled*", "turn:s:o over*")
			b.wantClaimRefused("s", "o", "b", waitlist.Closed)
			b.wantOpening("s", "o", waitlist.OpeningCancelled, 1, 1, 0)
			if got := b.events("s", notifier.SeatsReturned); len(got) != 0 {
				t.Errorf("returned %v while a hold stands", got)
			}
			want := `{"labels": ["1", "2"], "quantity": 2}`
			switch end {
			case "confirmed":
				_, err := b.Confirm(t.Context(), c.ID)
				must(t, err)
				want = `{"labels": ["2"], "quantity": 1}`
			case "released":
				_, err := b.Release(t.Context(), c.ID, "")
				must(t, err)
			case "lapsed":
				b.pass(10 * time.Minute)
			case "left":
				must(t, b.Leave(t.Context(), "s", "a"))
			}
			b.pass(time.Second)
			b.pass(time.Hour)
			if got := b.events("s", notifier.SeatsReturned); !slices.Equal(got, []string{want}) {
				t.Errorf("returned %v, want %s", got, want)
			}
			b.wantTold("s", "o", "a", "b") // c was not told of what is cancelled
			b.report("s", waitlist.NewOpening{ID: "again", Seats: []string{"2"}})
		})
	}
}

func TestAFinalOpeningCannotBeCancelled(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "a")
	b.free("s", "o", 1)
	b.decide()
	b.buy("s", "o", "a")
	b.decide()
	refused(t, "a cancel", b.CancelOpening(t.Context(), at("s", "o")), waitlist.Conflict)
	refused(t, "a cancel of nothing", b.CancelOpening(t.Context(), at("s", "none")), waitlist.NotFound)
}

func TestACancelledShowTellsNobodyAndCannotBePutAgain(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "a", "b", "c")
	b.free("s", "o1", 2)
	b.free("s", "o2", 1)
	b.decide()
	b.pass(time.Second)
	c := b.claim("s", "o1", "a")
	must(t, b.CancelShow(t.Context(), "s"))
	must(t, b.CancelShow(t.Context(), "s"))
	b.pass(time.Second)
	b.wantReason("s", "o1", "b", waitlist.EndCancelled)
	b.wantReason("s", "o2", "c", waitlist.EndCancelled)
	b.wantInbox("b", "result:s:o1 cancelled*", "turn:s:o1 over*")
	b.wantClaimRefused("s", "o1", "b", waitlist.Closed)
	_, err := b.Confirm(t.Context(), c.ID) // a hold stands
	must(t, err)
	_, _, err = b.PutShow(t.Context(), "s", waitlist.ShowChange{Name: waitlist.Some("again")})
	refused(t, "a cancelled show put again", err, waitlist.Closed)
	_, _, err = b.Record(t.Context(), "s", waitlist.NewOpening{ID: "o3", Quantity: 1, Reason: "returned"})
	refused(t, "an opening of it", err, waitlist.Closed)
	_, _, err = b.Join(t.Context(), "s", waitlist.Join{FanID: "d", Party: 1})
	refused(t, "a join to it", err, waitlist.Closed)
	b.decide()
	if got := b.events("s", notifier.OpeningCancelled); len(got) != 2 {
		t.Errorf("cancelled %v", got)
	}
	if got := b.events("s", notifier.SeatsReturned); !slices.Equal(got, []string{
		`{"labels": [], "quantity": 1}`, `{"labels": [], "quantity": 1}`,
	}) {
		t.Errorf("returned %v", got)
	}
	if list, err := b.FanEntries(t.Context(), "b"); err != nil || len(list) != 0 {
		t.Errorf("entries %+v, %v", list, err)
	}
}

func TestLeavingEndsAnUpcomingTurnAndReleasesAHold(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{ReleasePerS: waitlist.Some(waitlist.Milli(1000))})
	b.join("s", "a", "b", "c", "d")
	b.free("s", "o", 2)
	b.decide()
	b.wantReason("s", "o", "b", waitlist.TurnUpcoming)
	b.claim("s", "o", "a")
	must(t, b.Leave(t.Context(), "s", "a"))
	must(t, b.Leave(t.Context(), "s", "a"))
	must(t, b.Remove(t.Context(), "s", "b", "a tout"))
	b.wantOpening("s", "o", waitlist.OpeningOpen, 2, 0, 0)
	b.pass(5 * time.Second)
	b.wantTold("s", "o", "a", "b", "c", "d")
	b.wantReason("s", "o", "a", waitlist.HasLeft)
	b.wantReason("s", "o", "b", waitlist.WasRemoved)
	b.wantInbox("b") // the turn never opened
	b.wantInbox("a", "turn:s:o over*")
	b.join("s", "a", "b")
	b.pass(time.Hour)
	b.wantTold("s", "o", "a", "b", "c", "d") // nobody twice, also who came back
	if got := b.events("s", notifier.EntryLeft); len(got) != 2 {
		t.Errorf("left %v", got)
	}
}

func TestAHoldThatIsOverIsNotReleasedByLeaving(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{HoldS: waitlist.Some(60)})
	b.join("s", "a", "b")
	b.free("s", "o", 1)
	b.decide()
	c := b.claim("s", "o", "a")
	b.at(c.ExpiresAt)
	b.wantReason("s", "o", "a", waitlist.HoldLapsed)
	must(t, b.Leave(t.Context(), "s", "a"))
	b.wantReason("s", "o", "a", waitlist.HoldLapsed)
	b.decide()
	b.wantReason("s", "o", "a", waitlist.HoldLapsed)
	b.wantTold("s", "o", "a", "b")
	b.wantInbox("a", "result:s:o lapsed*", "turn:s:o over*")
}
