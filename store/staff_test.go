package store_test

import (
	"slices"
	"testing"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

func (b *bench) move(show, fan string, to waitlist.Move) error {
	_, err := b.ChangeEntry(b.t.Context(), show, fan, waitlist.EntryChange{Move: to, Reason: "a mistake of ours"})
	return err
}

func (b *bench) wantLine(show string, want ...string) {
	b.t.Helper()
	if got := b.line(show); !slices.Equal(got, want) {
		b.t.Errorf("line %v, want %v", got, want)
	}
}

func TestStaffMoveToTheFrontAndRestore(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "a", "b", "c")
	refused(t, "a restore of nothing", b.move("s", "a", waitlist.MoveRestore), waitlist.Conflict)
	must(t, b.move("s", "c", waitlist.MoveFront))
	must(t, b.move("s", "b", waitlist.MoveFront))
	b.wantLine("s", "b", "c", "a")
	if e := b.entry("s", "b"); e.Position != 1 || e.No != 2 {
		t.Errorf("entry %+v", e)
	}
	must(t, b.move("s", "c", waitlist.MoveRestore))
	b.wantLine("s", "b", "a", "c")
	refused(t, "a second restore", b.move("s", "c", waitlist.MoveRestore), waitlist.Conflict)
	must(t, b.Leave(t.Context(), "s", "a"))
	refused(t, "a move of one who left", b.move("s", "a", waitlist.MoveFront), waitlist.Conflict)
	b.join("s", "a")
	b.wantLine("s", "b", "c", "a")
	must(t, b.move("s", "a", waitlist.MoveRestore)) // the place before the rejoin
	b.wantLine("s", "b", "a", "c")
	_, err := b.ChangeEntry(t.Context(), "s", "a", waitlist.EntryChange{Move: waitlist.MoveFront})
	refused(t, "a move without a reason", err, waitlist.Invalid)
	if got := b.events("s", notifier.EntryMoved); len(got) != 4 {
		t.Errorf("events %v", got)
	}
	if got := b.strings(`SELECT DISTINCT reason FROM entry_log WHERE what = 'moved'`); !slices.Equal(got, []string{"a mistake of ours"}) {
		t.Errorf("reasons in the trace: %v", got)
	}
}

func TestAMoveDoesNotTellTwiceNorTakeATurnAway(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "a", "b", "c")
	b.free("s", "o", 1)
	b.decide()
	must(t, b.move("s", "c", waitlist.MoveFront))
	must(t, b.move("s", "a", waitlist.MoveFront))
	b.decide()
	b.wantReason("s", "o", "a", waitlist.TurnOpen)
	b.pass(10 * time.Minute)
	b.wantTold("s", "o", "a", "c")
	b.pass(10 * time.Minute)
	b.wantTold("s", "o", "a", "c", "b")
	b.pass(10 * time.Minute)
	b.wantOpening("s", "o", waitlist.OpeningExhausted, 1, 0, 0)
}

func TestPartyAndTierStandWhileATurnIsLive(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{ReleasePerS: waitlist.Some(waitlist.Milli(1000))})
	b.join("s", "a", "b")
	b.free("s", "o", 2)
	b.decide()
	set := func(fan string, party int) error {
		_, err := b.ChangeEntry(t.Context(), "s", fan, waitlist.EntryChange{Party: &party})
		return err
	}
	refused(t, "an open turn", set("a", 2), waitlist.Conflict)
	refused(t, "an upcoming turn", set("b", 2), waitlist.Conflict)
	must(t, set("a", 1)) // no change
	_, err := b.ChangeEntry(t.Context(), "s", "a", waitlist.EntryChange{Tier: ptr("balcony")})
	refused(t, "another tier", err, waitlist.Conflict)
	c := b.claim("s", "o", "a")
	refused(t, "a hold", set("a", 2), waitlist.Conflict)
	_, err = b.Release(t.Context(), c.ID, "")
	must(t, err)
	must(t, set("a", 2))
	b.pass(time.Second)
	must(t, b.Decline(t.Context(), at("s", "o"), "b"))
	must(t, set("b", 4))
}

func TestAChangedPartyIsConsideredAgain(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.joinAs("s", "big", 5, "")
	b.joinAs("s", "wrong", 1, "balcony")
	b.join("s", "a", "b", "c")
	b.report("s", waitlist.NewOpening{ID: "o", Quantity: 1, Tier: "stalls"})
	b.decide()
	b.wantTold("s", "o", "a")
	b.wantReason("s", "o", "big", waitlist.PartyTooBig)
	b.wantReason("s", "o", "wrong", waitlist.TierMismatch)
	_, err := b.ChangeEntry(t.Context(), "s", "big", waitlist.EntryChange{Party: ptr(1)})
	must(t, err)
	b.decide()
	b.wantReason("s", "o", "big", waitlist.PartyTooBig) // that of the last decision that walked past
	b.pass(10 * time.Minute)
	b.wantTold("s", "o", "a", "big")
	_, err = b.ChangeEntry(t.Context(), "s", "wrong", waitlist.EntryChange{Tier: ptr("")})
	must(t, err)
	b.pass(10 * time.Minute)
	b.wantTold("s", "o", "a", "big", "wrong")
}

func TestStaffGiveOneEntryTheNextTurn(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "a", "b", "c", "d")
	b.joinAs("s", "big", 3, "")
	b.joinAs("s", "balcony", 1, "balcony")
	b.report("s", waitlist.NewOpening{ID: "o", Quantity: 1, Tier: "stalls"})
	b.report("s", waitlist.NewOpening{ID: "other", Quantity: 1, Tier: "stalls"})
	b.decide()
	give := func(fan string) error { return b.GiveTurn(t.Context(), at("s", "o"), fan, "a wheelchair user") }
	refused(t, "told", give("a"), waitlist.Conflict)
	refused(t, "busy", give("b"), waitlist.Conflict)
	refused(t, "a party that does not fit", give("big"), waitlist.Conflict)
	refused(t, "another tier", give("balcony"), waitlist.Conflict)
	refused(t, "not in line", give("nobody"), waitlist.NotFound)
	refused(t, "no reason", b.GiveTurn(t.Context(), at("s", "o"), "d", ""), waitlist.Invalid)
	b.pass(time.Second)
	b.claim("s", "other", "b")
	refused(t, "holding", give("b"), waitlist.Conflict)
	b.buy("s", "other", "b")
	refused(t, "bought", give("b"), waitlist.Conflict)
	must(t, give("d"))
	must(t, give("d"))
	b.decide()
	b.wantTold("s", "o", "a") // a's turn runs on
	must(t, b.Decline(t.Context(), at("s", "o"), "a"))
	b.decide()
	b.wantTold("s", "o", "a", "d")
	b.wantReason("s", "o", "c", waitlist.Behind) // nobody walked past c for d's sake
	refused(t, "told by staff", give("d"), waitlist.Conflict)
	b.pass(10 * time.Minute)
	b.wantTold("s", "o", "a", "d", "c")
	if got := b.strings(`SELECT reason FROM entry_log WHERE what = 'given'`); !slices.Equal(got, []string{"a wheelchair user"}) {
		t.Errorf("reasons in the trace: %v", got)
	}
	b.pass(20 * time.Minute)
	b.wantOpening("s", "o", waitlist.OpeningExhausted, 1, 0, 0)
	refused(t, "a final opening", give("c"), waitlist.Conflict)
}

func TestATurnGivenToOneWhoLeftIsLost(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "a", "b", "c")
	b.free("s", "o", 1)
	b.decide()
	must(t, b.GiveTurn(t.Context(), at("s", "o"), "c", "a promise"))
	must(t, b.Leave(t.Context(), "s", "c"))
	b.pass(10 * time.Minute)
	b.wantTold("s", "o", "a", "b")
	b.pass(10 * time.Minute)
	b.wantOpening("s", "o", waitlist.OpeningExhausted, 1, 0, 0)
	b.wantReason("s", "o", "c", waitlist.HasLeft)
}
