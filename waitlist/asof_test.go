package waitlist

import (
	"testing"
	"time"
)

func TestAsOfIsTheEntryAsADecisionSawIt(t *testing.T) {
	now := Entry{No: 1, Place: 30, Party: 2, JoinedDecision: 3}
	log := []Change{ // oldest first; decisions above 5, and above 8, saw the change
		{Decision: 5, Before: Entry{No: 1, Place: 10, Party: 1, JoinedDecision: 3}},
		{Decision: 8, Before: Entry{No: 1, Place: 10, Party: 2, JoinedDecision: 3}},
		{Decision: 8, Before: Entry{No: 1, Place: 20, Party: 2, JoinedDecision: 3}},
	}
	for _, c := range []struct {
		decision int64
		place    int64
		party    int
	}{{4, 10, 1}, {5, 10, 1}, {6, 10, 2}, {8, 10, 2}, {9, 30, 2}, {100, 30, 2}} {
		was := now.AsOf(c.decision, log)
		if was == nil || was.Place != c.place || was.Party != c.party {
			t.Errorf("decision %d saw %+v, want place %d and party %d", c.decision, was, c.place, c.party)
		}
	}
	for _, before := range []int64{0, 2, 3} {
		if was := now.AsOf(before, log); was != nil {
			t.Errorf("decision %d knew an entry that joined after it: %+v", before, was)
		}
	}
	was := now.AsOf(5, log)
	was.Place = 99
	if log[0].Before.Place != 10 {
		t.Error("what AsOf returned shares memory with the log")
	}
}

// reason is the present verdict's.
func (l *fakeLine) reason(t testing.TB, o *fakeOpening, no int64) Reason {
	t.Helper()
	v, err := Judge(l.facts(o, l.entry(no)))
	if err != nil {
		t.Fatal(err)
	}
	return v.Reason
}

func TestPastReasonStandsAfterTheLineChanged(t *testing.T) {
	for _, c := range []struct {
		name string
		with func(*Entry)
		then func(l *fakeLine, e *Entry)
		want Reason
	}{
		{"moved to the front", func(e *Entry) { e.Party = 3 }, func(l *fakeLine, e *Entry) { l.moveFront(e) }, PartyTooBig},
		{"smaller party", func(e *Entry) { e.Party = 3 }, func(l *fakeLine, e *Entry) {
			l.change(e, "changed", func(e *Entry) { e.Party = 1 })
		}, PartyTooBig},
		{"other tier", func(e *Entry) { e.Tier = "B" }, func(l *fakeLine, e *Entry) {
			l.change(e, "changed", func(e *Entry) { e.Tier = "A" })
		}, TierMismatch},
		{"woke", func(e *Entry) { e.Dormant = true }, func(l *fakeLine, e *Entry) {
			l.change(e, "woke", func(e *Entry) { e.Dormant = false })
		}, IsDormant},
		{"left and rejoined", func(e *Entry) { e.Dormant = true }, func(l *fakeLine, e *Entry) {
			l.leave(e, Left)
			l.rejoin(e)
		}, IsDormant},
		{"left", func(e *Entry) { e.Tier = "B" }, func(l *fakeLine, e *Entry) { l.leave(e, Left) }, TierMismatch},
		{"rejoined", func(e *Entry) { e.State = Left }, func(l *fakeLine, e *Entry) { l.rejoin(e) }, HasLeft},
		{"released the hold", func(e *Entry) { e.State = Holding }, func(l *fakeLine, e *Entry) {
			l.change(e, "released", func(e *Entry) { e.State = Waiting })
		}, Busy},
	} {
		l := newFakeLine(DefaultPolicy())
		l.join(2, 1, "A")
		c.with(l.entry(1))
		o := l.record(1, func(o *Opening) { o.Tier = "A" })
		l.mustDecide(t)
		wantTold(t, o, 2)
		if got := l.reason(t, o, 1); got != c.want {
			t.Errorf("%s: at first %s, want %s", c.name, got, c.want)
		}
		c.then(l, l.entry(1))
		l.now = l.now.Add(time.Minute)
		if got := l.reason(t, o, 1); got != c.want {
			t.Errorf("%s: then %s, want %s", c.name, got, c.want)
		}
		l.end(o, OpeningCancelled, l.decision)
		if got := l.reason(t, o, 1); got != c.want {
			t.Errorf("%s: after the end %s, want %s", c.name, got, c.want)
		}
	}
}

func TestNextDecisionThatWalksPastReplacesTheReason(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(3, 1, "")
	l.entry(1).Dormant = true
	l.entry(1).Party = 4
	o := l.record(2, nil)
	l.mustDecide(t)
	if got := l.reason(t, o, 1); got != PartyTooBig {
		t.Fatalf("at first %s", got)
	}
	l.change(l.entry(1), "changed", func(e *Entry) { e.Party = 1 })
	l.decline(o, l.entry(2))
	l.now = l.now.Add(time.Second)
	l.mustDecide(t)
	if got := l.reason(t, o, 1); got != IsDormant {
		t.Errorf("then %s", got)
	}
}

func TestTurnGivenInTheSameDecisionMakesBusyForOpeningsServedLater(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(3, 1, "")
	a, b := l.record(1, nil), l.record(2, nil)
	l.mustDecide(t)
	wantTold(t, a, 1)
	wantTold(t, b, 2, 3)
	if got := l.reason(t, b, 1); got != Busy {
		t.Errorf("entry 1 at the second opening: %s", got)
	}
	if got := l.reason(t, a, 2); got != Behind {
		t.Errorf("entry 2 at the first opening: %s", got)
	}
	l.now = l.now.Add(time.Hour)
	if got := l.reason(t, b, 1); got != Busy {
		t.Errorf("entry 1 at the second opening, an hour later: %s", got)
	}
}

func TestPastReasonStandsAfterAnEarlierCloseOfSalesCutTheOtherTurnOff(t *testing.T) {
	p := DefaultPolicy()
	p.ReleasePerS = 10_000
	l := newFakeLine(p)
	l.join(5, 1, "")
	a, b := l.record(3, nil), l.record(1, nil)
	l.mustDecide(t)
	wantTold(t, a, 1, 2, 3) // at 0, 100 and 200 ms
	wantTold(t, b, 4)
	l.now = noon.Add(ms(50))
	l.show.SalesCloseAt = ptr(l.now)
	a.waves[0].CloseCap, b.waves[0].CloseCap = l.now, l.now
	for no := int64(1); no <= 3; no++ {
		if got := l.reason(t, b, no); got != Busy {
			t.Errorf("entry %d at the second opening: %s, want busy, as the decision saw it", no, got)
		}
	}
}

func TestEntryThatJoinedAfterADecisionWasNotWalkedPastByIt(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(1, 1, "")
	l.entry(1).State = Holding // keeps the opening open
	o := l.record(2, nil)
	l.mustDecide(t)
	l.join(1, 3, "")
	if got := l.reason(t, o, 2); got != Behind {
		t.Errorf("before the next decision: %s", got)
	}
	l.mustDecide(t)
	if got := l.reason(t, o, 2); got != PartyTooBig {
		t.Errorf("after it: %s", got)
	}
	l.end(o, OpeningCancelled, l.decision)
	l.mustDecide(t)
	l.join(1, 1, "")
	if got := l.reason(t, o, 3); got != NotOnList {
		t.Errorf("who joined after the end: %s", got)
	}
}

func TestStateAtTheEndDecidesWhereNobodyWalkedPast(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(3, 1, "")
	o := l.record(1, nil)
	l.mustDecide(t)
	l.leave(l.entry(3), Left)
	l.cancel(o)
	l.mustDecide(t)
	l.leave(l.entry(2), Left)
	l.rejoin(l.entry(3))
	if got := l.reason(t, o, 2); got != EndCancelled {
		t.Errorf("who left after the end: %s", got)
	}
	if got := l.reason(t, o, 3); got != HasLeft {
		t.Errorf("who left before the end and came back: %s", got)
	}
}
