package waitlist

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func wantState(t testing.TB, o *fakeOpening, want OpeningState) {
	t.Helper()
	if o.State != want {
		t.Errorf("opening %d is %s, want %s", o.No, o.State, want)
	}
}

func TestOpeningIsFilledWhenEverySeatIsConfirmed(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(3, 1, "")
	o := l.record(2, func(o *Opening) { o.FansPerSeat = 1500 })
	l.mustDecide(t)
	l.now = l.now.Add(ms(100))
	for no := int64(1); no <= 2; no++ {
		wantState(t, o, OpeningOpen)
		if err := l.claim(o, l.entry(no)); err != nil {
			t.Fatal(err)
		}
		l.endHold(o, o.claims[no], ClaimConfirmed)
	}
	l.mustDecide(t)
	wantState(t, o, OpeningFilled)
	turn := l.telling(o, l.entry(3))
	if !turn.CutShort() {
		t.Error("the fan whose turn was open is not told that it was cut short")
	}
	if code := CodeOf(l.claim(o, l.entry(3))); code != Filled {
		t.Errorf("a claim after the end: %q", code)
	}
}

func TestOpeningThatNobodyCanTakeIsExhausted(t *testing.T) {
	for _, c := range []struct {
		name string
		with func(*fakeLine)
		want OpeningState
	}{
		{"nobody in line", func(*fakeLine) {}, OpeningExhausted},
		{"only another tier", func(l *fakeLine) { l.join(1, 1, "B") }, OpeningExhausted},
		{"only larger parties", func(l *fakeLine) { l.join(1, 3, "A") }, OpeningExhausted},
		{"only dormant fans", func(l *fakeLine) { l.join(1, 1, "A"); l.entry(1).Dormant = true }, OpeningExhausted},
		{"only fans who left", func(l *fakeLine) { l.join(1, 1, "A"); l.entry(1).State = Left }, OpeningExhausted},
		{"a fan who holds", func(l *fakeLine) { l.join(1, 1, "A"); l.entry(1).State = Holding }, OpeningOpen},
		{"a larger party that holds", func(l *fakeLine) { l.join(1, 3, "A"); l.entry(1).State = Holding }, OpeningExhausted},
		{"another tier that holds", func(l *fakeLine) { l.join(1, 1, "B"); l.entry(1).State = Holding }, OpeningExhausted},
		{"a fan in turn", func(l *fakeLine) { l.join(1, 1, "A") }, OpeningOpen},
	} {
		l := newFakeLine(DefaultPolicy())
		c.with(l)
		o := l.record(2, func(o *Opening) { o.Tier = "A" })
		l.mustDecide(t)
		if o.State != c.want {
			t.Errorf("%s: %s, want %s", c.name, o.State, c.want)
		}
		if len(o.waves) != 1 {
			t.Errorf("%s: %d waves tell why", c.name, len(o.waves))
		}
	}
}

func TestBusyFanIsWaitedForUntilTheOtherTurnIsOver(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(1, 1, "")
	first := l.record(1, nil)
	l.mustDecide(t)
	o := l.record(1, nil)
	l.mustDecide(t)
	wantState(t, o, OpeningOpen)
	wantTold(t, o)
	l.decline(first, l.entry(1))
	l.mustDecide(t)
	wantTold(t, o, 1)
	wantState(t, first, OpeningExhausted)
	l.now = l.now.Add(11 * time.Minute)
	l.mustDecide(t)
	wantState(t, o, OpeningExhausted)
}

func TestHoldingFanToldAlreadyIsNotWaitedFor(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(1, 1, "")
	o := l.record(2, nil)
	l.mustDecide(t)
	l.decline(o, l.entry(1))
	other := l.record(1, nil)
	l.now = l.now.Add(ms(100))
	l.mustDecide(t)
	wantState(t, o, OpeningExhausted)
	wantTold(t, other, 1)
}

func TestOpeningWaitsForItsOwnHolds(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(1, 1, "")
	o := l.record(2, nil)
	l.mustDecide(t)
	if err := l.claim(o, l.entry(1)); err != nil {
		t.Fatal(err)
	}
	l.mustDecide(t)
	wantState(t, o, OpeningOpen)
	l.now = l.now.Add(o.Hold)
	l.mustDecide(t)
	wantState(t, o, OpeningExhausted)
	wantTold(t, o, 1)
}

func TestAfterTheCloseOfSalesAnOpeningEndsOnceNothingIsLive(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	close := noon.Add(time.Minute)
	l.show.SalesCloseAt = &close
	l.join(3, 1, "")
	o := l.record(1, nil)
	l.mustDecide(t)
	l.now = close.Add(-ms(1))
	if err := l.claim(o, l.entry(1)); err != nil {
		t.Fatalf("a claim just before the close: %v", err)
	}
	l.now = close
	l.mustDecide(t)
	wantState(t, o, OpeningOpen) // the hold stands
	l.endHold(o, o.claims[1], ClaimReleased)
	l.mustDecide(t)
	wantState(t, o, OpeningExhausted)
	wantTold(t, o, 1)
}

func TestDecisionsThatTakeNobodyKeepOneWave(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(1, 1, "")
	first := l.record(1, nil)
	l.mustDecide(t)
	o := l.record(1, nil)
	for range 4 {
		l.mustDecide(t)
	}
	if len(o.waves) != 1 || o.waves[0].Decision != l.decision || o.waves[0].WalkedTo != l.tail {
		t.Errorf("%d waves, the newest %+v", len(o.waves), o.waves[0].Wave)
	}
	l.decline(first, l.entry(1))
	l.mustDecide(t)
	if len(o.waves) != 2 || o.waves[1].N != 2 || o.waves[1].Size != 1 {
		t.Errorf("%d waves", len(o.waves))
	}
}

// TestOpeningsEndByTheirDueMomentsAlone decides at the moments that plans asked
// for and at no others.
func TestOpeningsEndByTheirDueMomentsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := DefaultPolicy()
		p.ReleasePerS = rapid.SampledFrom([]Milli{100, 1000, 7_777, 50_000}).Draw(t, "rate")
		p.ClaimWindowS = rapid.IntRange(1, 90).Draw(t, "window")
		if rapid.Bool().Draw(t, "quiet") {
			p.QuietHours = &Quiet{From: "12:01", To: "12:03", Zone: "UTC"}
		}
		l := newFakeLine(p)
		if rapid.Bool().Draw(t, "closes") {
			l.show.SalesCloseAt = ptr(noon.Add(ms(rapid.IntRange(1, 400_000).Draw(t, "close"))))
		}
		for range rapid.IntRange(0, 12).Draw(t, "fans") {
			l.join(1, rapid.IntRange(1, 3).Draw(t, "party"), rapid.SampledFrom(tiers).Draw(t, "tier"))
		}
		for range rapid.IntRange(1, 3).Draw(t, "openings") {
			l.record(rapid.IntRange(1, 4).Draw(t, "seats"), func(o *Opening) {
				o.Tier = rapid.SampledFrom(tiers).Draw(t, "tier")
				o.Mode = rapid.SampledFrom([]Mode{ModeTurns, ModeEveryone}).Draw(t, "mode")
			})
		}
		l.runOnDue(t)
		for _, o := range l.openings {
			for _, e := range l.entries {
				able := o.Takes(e.Tier) && e.Party <= o.Quantity
				if told := l.told(o, e.No); told && !able || able && !told && l.now.Before(l.show.SalesClose()) {
					t.Fatalf("opening %d ended; entry %d was told: %v", o.No, e.No, told)
				}
			}
		}
	})
}

// runOnDue goes from due moment to due moment until every opening has ended.
func (l *fakeLine) runOnDue(t *rapid.T) {
	due := []time.Time{l.now}
	for range 2000 {
		if !slices.ContainsFunc(l.openings, func(o *fakeOpening) bool { return o.State == OpeningOpen }) {
			return
		}
		if len(due) == 0 {
			t.Fatalf("an opening is open and nothing is due at %v", l.now)
		}
		l.now = slices.MinFunc(due, time.Time.Compare)
		due = slices.DeleteFunc(due, func(at time.Time) bool { return !at.After(l.now) })
		plan, err := l.decide()
		if err != nil {
			t.Fatal(err)
		}
		due = append(due, plan.Due...)
	}
	t.Fatalf("openings still open after 2000 decisions, at %v", l.now)
}
