package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fanline/notifier"
	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
)

func TestALabelIsLiveInOneOpeningAtATime(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.show("other", waitlist.PolicyChange{})
	b.join("s", "ada", "ben")
	b.report("s", waitlist.NewOpening{ID: "o1", Seats: []string{"A-1", "A-2"}})
	b.report("other", waitlist.NewOpening{ID: "o1", Seats: []string{"A-1"}})
	again := waitlist.NewOpening{ID: "o2", Seats: []string{"A-2", "A-3", "A-1"}, Reason: "returned"}
	conflict := func(what string, labels ...string) {
		t.Helper()
		_, _, err := b.Record(t.Context(), "s", again)
		refused(t, what, err, waitlist.Conflict)
		for _, l := range []string{"A-1", "A-2", "A-3"} {
			if named := strings.Contains(err.Error(), l); named != slices.Contains(labels, l) {
				t.Errorf("%s: %v; want %v named", what, err, labels)
			}
		}
	}
	conflict("free labels", "A-1", "A-2")
	b.decide()
	b.pass(time.Second)
	c := b.claim("s", "o1", "ada")
	if !slices.Equal(c.Labels, []string{"A-1"}) {
		t.Errorf("labels %v", c.Labels)
	}
	conflict("one held", "A-1", "A-2")
	_, err := b.Confirm(t.Context(), c.ID)
	must(t, err)
	conflict("one bought", "A-2")
	must(t, b.CancelOpening(t.Context(), at("s", "o1")))
	conflict("not handed back yet", "A-2")
	b.decide()
	if got := b.events("s", notifier.SeatsReturned); !slices.Equal(got, []string{`{"labels": ["A-2"], "quantity": 1}`}) {
		t.Errorf("returned %v", got)
	}
	b.report("s", again) // a bought seat can be opened again, and so can one handed back
	b.wantOpening("s", "o2", waitlist.OpeningOpen, 3, 0, 0)
}

func TestTheSameReportAgainIsTheSameOpening(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	n := waitlist.NewOpening{ID: "o", Seats: []string{"A-1"}, Reason: "returned", Policy: waitlist.OpeningPolicy{HoldS: ptr(30)}}
	first, created, err := b.Record(t.Context(), "s", n)
	if err != nil || !created {
		t.Fatal(created, err)
	}
	b.decide() // nobody waits: exhausted
	o, created, err := b.Record(t.Context(), "s", n)
	if err != nil || created || o.No != first.No || o.State != waitlist.OpeningExhausted {
		t.Errorf("again: %+v, created %v, %v", o, created, err)
	}
	for _, other := range []func(*waitlist.NewOpening){
		func(n *waitlist.NewOpening) { n.Seats = []string{"A-2"} },
		func(n *waitlist.NewOpening) { n.Tier = "A" },
		func(n *waitlist.NewOpening) { n.Reason = "hold_timeout" },
		func(n *waitlist.NewOpening) { n.Policy = waitlist.OpeningPolicy{} },
		func(n *waitlist.NewOpening) { n.Seats, n.Quantity = nil, 1 },
	} {
		m := n
		other(&m)
		_, _, err := b.Record(t.Context(), "s", m)
		refused(t, fmt.Sprintf("%+v", m), err, waitlist.Conflict)
	}
	if got := b.events("s", notifier.OpeningRecorded); len(got) != 1 {
		t.Errorf("recorded %v", got)
	}
	if got := b.events("s", notifier.SeatsReturned); !slices.Equal(got, []string{`{"labels": ["A-1"], "quantity": 1}`}) {
		t.Errorf("returned %v", got)
	}
}

func TestAPartyGetsItsSeatsSideBySideOrIsSkipped(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{HoldS: waitlist.Some(60), FansPerSeat: waitlist.Some(waitlist.Milli(3000))})
	b.joinAs("s", "single", 1, "")
	b.joinAs("s", "three", 3, "")
	b.joinAs("s", "four", 4, "")
	b.joinAs("s", "pair", 2, "")
	b.report("s", waitlist.NewOpening{ID: "o", Seats: []string{"B-4", "B-3", "B-2"}, Adjacent: true})
	b.decide()
	b.wantTold("s", "o", "single", "three", "pair")
	b.wantReason("s", "o", "four", waitlist.PartyTooBig)
	b.pass(time.Second)
	pair := b.claim("s", "o", "pair")
	if !slices.Equal(pair.Labels, []string{"B-4", "B-3"}) {
		t.Errorf("the pair sits at %v", pair.Labels)
	}
	single := b.claim("s", "o", "single")
	if !slices.Equal(single.Labels, []string{"B-2"}) {
		t.Errorf("the single sits at %v", single.Labels)
	}
	b.wantClaimRefused("s", "o", "three", waitlist.AllHeld)
	_, err := b.Confirm(t.Context(), single.ID)
	must(t, err)
	b.wantClaimRefused("s", "o", "three", waitlist.Filled) // larger than what is not bought
	b.joinAs("s", "two", 2, "")
	_, err = b.Release(t.Context(), pair.ID, "")
	must(t, err)
	b.decide()
	b.wantTold("s", "o", "single", "three", "pair", "two")
}

func TestTwoSeatsApartAreNoPair(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "a", "b", "c")
	b.report("s", waitlist.NewOpening{ID: "o", Seats: []string{"1", "2", "3"}, Adjacent: true})
	b.decide()
	b.pass(time.Second)
	first := b.claim("s", "o", "a")
	middle := b.claim("s", "o", "b")
	last := b.claim("s", "o", "c")
	_, err := b.Confirm(t.Context(), middle.ID)
	must(t, err)
	b.joinAs("s", "pair", 2, "")
	b.joinAs("s", "single", 1, "")
	for _, c := range []waitlist.Claim{first, last} {
		_, err := b.Release(t.Context(), c.ID, "")
		must(t, err)
	}
	refused(t, "staff's choice that does not fit", b.GiveTurn(t.Context(), at("s", "o"), "pair", "why not"), waitlist.Conflict)
	b.decide()
	b.wantTold("s", "o", "a", "b", "c", "single")
	b.wantReason("s", "o", "pair", waitlist.PartyTooBig)
	b.pass(10 * time.Minute)
	b.wantOpening("s", "o", waitlist.OpeningExhausted, 2, 0, 1)
	if got := b.events("s", notifier.SeatsReturned); !slices.Equal(got, []string{`{"labels": ["1", "3"], "quantity": 2}`}) {
		t.Errorf("returned %v", got)
	}
}

func TestDemandCountsThePartiesThatStillFit(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.joinAs("s", "pair", 2, "")
	b.joinAs("s", "single", 1, "")
	b.joinAs("s", "second", 1, "")
	b.free("s", "o", 2)
	b.decide()
	b.wantTold("s", "o", "pair")
	must(t, b.GiveTurn(t.Context(), at("s", "o"), "single", "a promise"))
	b.decide()
	b.wantTold("s", "o", "pair") // the pair's turn asks for both seats
	must(t, b.Decline(t.Context(), at("s", "o"), "pair"))
	b.decide()
	b.pass(time.Second)
	b.wantTold("s", "o", "pair", "single", "second")
	b.buy("s", "o", "single")
	b.decide()
	b.wantTold("s", "o", "pair", "single", "second")
	must(t, b.Decline(t.Context(), at("s", "o"), "second"))
	b.decide()
	b.wantOpening("s", "o", waitlist.OpeningExhausted, 1, 0, 1)
}

func TestAClaimThatLeavesTooFewSeatsForATurnPassesThemOn(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{FansPerSeat: waitlist.Some(waitlist.Milli(1500))})
	b.joinAs("s", "single", 1, "")
	b.joinAs("s", "three", 3, "")
	b.joinAs("s", "pair", 2, "")
	b.free("s", "o", 3)
	b.decide()
	b.wantTold("s", "o", "single", "three")
	b.wantReason("s", "o", "pair", waitlist.PartyTooBig)
	b.pass(time.Second)
	b.claim("s", "o", "single")
	b.decide() // the three cannot take two seats
	b.wantTold("s", "o", "single", "three", "pair")
}

func TestAClaimReadsTheSeatsItTakesAndNoOthers(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, store.Migrate)
	cost := func(show string, n int) int64 {
		rowsOf(t, url, func(b *bench) {
			b.show(show, waitlist.PolicyChange{})
			b.join(show, show+"-ada")
			labels := make([]string, n)
			for i := range labels {
				labels[i] = fmt.Sprintf("A-%d", i+1)
			}
			b.report(show, waitlist.NewOpening{ID: "o", Seats: labels, Reason: "returned"})
			b.exec(`UPDATE seats s SET state = 'confirmed' FROM openings o
				WHERE o.opening_no = s.opening_no AND o.quantity = $1 AND s.no <= $1 / 2`, n)
			b.exec(`UPDATE openings SET free = $1 - $1 / 2, confirmed = $1 / 2 WHERE quantity = $1`, n)
			b.exec(`VACUUM seats`)
			b.decide()
		})
		return rowsOf(t, url, func(b *bench) {
			c := b.claim(show, "o", show+"-ada")
			if want := fmt.Sprintf("A-%d", n/2+1); !slices.Equal(c.Labels, []string{want}) {
				t.Errorf("labels %v, want %s", c.Labels, want)
			}
			_, err := b.Release(t.Context(), c.ID, "")
			must(t, err)
		})
	}
	if few, many := cost("club", 10), cost("arena", 20_000); many > few+100 {
		t.Errorf("%d rows with 20,000 seats, %d with 10", many, few)
	}
}
