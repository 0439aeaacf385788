package waitlist

import (
	"context"
	"slices"
	"testing"
	"time"
)

func (l *fakeLine) mustDecide(t testing.TB) *Plan {
	t.Helper()
	plan, err := l.decide()
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// toldOf are the entries told of the opening, in the order of their turns.
func toldOf(o *fakeOpening) []int64 {
	var nos []int64
	for _, w := range o.waves {
		for _, m := range w.Members {
			nos = append(nos, m.EntryNo)
		}
	}
	return nos
}

func wantTold(t testing.TB, o *fakeOpening, want ...int64) {
	t.Helper()
	if got := toldOf(o); !slices.Equal(got, want) {
		t.Errorf("opening %d told entries %v, want %v", o.No, got, want)
	}
}

func TestWalkFollowsPlacesNotEntryNumbers(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(4, 1, "")
	l.moveFront(l.entry(3))
	l.moveFront(l.entry(4))
	o := l.record(3, nil)
	l.mustDecide(t)
	wantTold(t, o, 4, 3, 1)
	if w := o.waves[0]; w.WalkedTo != 1 || w.Demand != 3 || w.Free != 3 || w.N != 1 {
		t.Errorf("wave %+v", w.Wave)
	}
}

func TestWalkSkipsWhoCannotUseTheOpeningAndNeverStopsAtThem(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(1, 1, "") // 1 will be busy
	first := l.record(1, nil)
	l.mustDecide(t)
	wantTold(t, first, 1)

	l.join(1, 1, "B") // 2: another tier
	l.join(1, 3, "A") // 3: three people
	l.join(1, 1, "A") // 4: dormant
	l.join(1, 1, "A") // 5: left
	l.join(1, 1, "A") // 6: holding
	l.join(1, 2, "A") // 7: fits
	l.entry(4).Dormant = true
	l.entry(5).State = Left
	l.entry(6).State = Holding
	o := l.record(2, func(o *Opening) { o.Tier = "A" })
	l.now = l.now.Add(ms(20))
	l.mustDecide(t)
	wantTold(t, o, 7)
	for no, want := range map[int64]Reason{
		1: Busy, 2: TierMismatch, 3: PartyTooBig, 4: IsDormant, 5: HasLeft, 6: Busy, 7: TurnOpen,
	} {
		v, err := Judge(l.facts(o, l.entry(no)))
		if err != nil || v.Reason != want {
			t.Errorf("entry %d: %s (%v), want %s", no, v.Reason, err, want)
		}
	}
}

func TestSkippedFanIsConsideredAgainByTheNextDecision(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(1, 1, "")
	l.join(80, 1, "") // more than a page
	l.entry(1).Dormant = true
	o := l.record(1, func(o *Opening) { o.Window = time.Second })
	for range 60 {
		l.mustDecide(t)
		l.now = l.now.Add(time.Second)
	}
	if m := o.marks[Group{Party: 1}]; m.Place < 30 {
		t.Errorf("the mark moved to %d only", m.Place)
	}
	l.change(l.entry(1), "woke", func(e *Entry) { e.Dormant = false })
	l.mustDecide(t)
	if got := toldOf(o); got[len(got)-1] != 1 {
		t.Errorf("told %v; the fan who woke at the front was passed by", got)
	}
}

func TestTwoOpeningsInOneDecisionGoToDifferentFans(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(5, 1, "")
	a, b := l.record(2, nil), l.record(2, nil)
	l.mustDecide(t)
	wantTold(t, a, 1, 2)
	wantTold(t, b, 3, 4)
}

func TestFiveSeatsReportedApartGoToFiveFansInLineOrder(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(7, 1, "")
	var got []int64
	for range 5 {
		l.record(1, nil)
	}
	l.mustDecide(t)
	for _, o := range l.openings {
		got = append(got, toldOf(o)...)
	}
	if !slices.Equal(got, []int64{1, 2, 3, 4, 5}) {
		t.Errorf("told %v", got)
	}
}

func TestDemandIsFansPerSeatTimesFreeSeatsRoundedUp(t *testing.T) {
	for _, c := range []struct {
		perSeat Milli
		seats   int
		want    int
	}{
		{1000, 3, 3},
		{1500, 1, 2},
		{1500, 2, 3},
		{1500, 3, 5},
		{2000, 3, 6},
		{1001, 1, 2},
		{100_000, 1, 30},
	} {
		l := newFakeLine(DefaultPolicy())
		l.join(30, 1, "")
		o := l.record(c.seats, func(o *Opening) { o.FansPerSeat = c.perSeat })
		l.mustDecide(t)
		if got := len(toldOf(o)); got != c.want {
			t.Errorf("%v fans a seat, %d seats: told %d, want %d", c.perSeat.Float(), c.seats, got, c.want)
		}
	}
}

func TestDemandCountsPartiesAndTakesOnlyThoseThatFitWhatIsLeft(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	for _, party := range []int{2, 3, 1, 2, 1} {
		l.join(1, party, "")
	}
	o := l.record(4, nil) // 2, then 1 (3 is more than the 2 left), then 1
	l.mustDecide(t)
	wantTold(t, o, 1, 3, 5)
	if got := o.waves[0].WalkedTo; got != 5 {
		t.Errorf("walked to %d", got)
	}
}

func TestMoreFansPerSeatNeverTakeAPartyLargerThanTheSeats(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(1, 3, "")
	l.join(2, 2, "")
	o := l.record(2, func(o *Opening) { o.FansPerSeat = 2000 }) // demand 4, two seats
	l.mustDecide(t)
	wantTold(t, o, 2, 3)
}

func TestLiveTurnsCountAgainstDemandOnlyWhileTheirPartyCanFit(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(1, 2, "")
	l.join(3, 1, "")
	o := l.record(2, func(o *Opening) { o.FansPerSeat = 2000 })
	l.mustDecide(t)
	wantTold(t, o, 1, 2, 3) // 2 + 1 + 1
	l.now = l.now.Add(ms(100))
	if err := l.claim(o, l.entry(2)); err != nil {
		t.Fatal(err)
	}
	// One seat free, demand 2: entry 3 counts, the party of two does not fit.
	l.mustDecide(t)
	wantTold(t, o, 1, 2, 3, 4)
}

func TestAdjacentOpeningTakesOnlyPartiesThatFitAFreeRun(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(1, 3, "")
	l.join(2, 2, "")
	o := l.record(4, func(o *Opening) { o.Adjacent = true })
	o.seats[1] = ClaimConfirmed // free: 1, then 2 in a row
	o.count()
	l.mustDecide(t)
	wantTold(t, o, 2)
	if w := o.waves[0]; w.Free != 2 || w.Demand != 3 {
		t.Errorf("free %d, demand %d", w.Free, w.Demand)
	}
	v, err := Judge(l.facts(o, l.entry(1)))
	if err != nil || v.Reason != PartyTooBig {
		t.Errorf("the party of three: %s (%v)", v.Reason, err)
	}
}

func TestEveryoneIsToldInOrderAtThePaceWhileASeatIsFree(t *testing.T) {
	p := DefaultPolicy()
	p.ReleasePerS = 5000
	l := newFakeLine(p)
	l.join(2, 1, "")
	l.join(1, 3, "")
	l.join(22, 1, "")
	busy := l.record(1, nil)
	l.mustDecide(t)
	wantTold(t, busy, 1)
	o := l.record(2, func(o *Opening) { o.Mode = ModeEveryone })
	for range 40 {
		l.mustDecide(t)
		l.now = l.now.Add(ms(250))
	}
	want := []int64{1, 2}
	for no := int64(4); no <= 25; no++ {
		want = append(want, no)
	}
	wantTold(t, o, want...)
	if size := o.waves[0].Size; size != 10 {
		t.Errorf("the first wave has %d fans, want two seconds of the pace", size)
	}
}

func TestTurnsOfModeEveryoneMakeNobodyBusy(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(2, 1, "")
	all := l.record(1, func(o *Opening) { o.Mode = ModeEveryone })
	o := l.record(1, nil)
	l.mustDecide(t)
	wantTold(t, all, 1, 2)
	wantTold(t, o, 1)
}

func TestEveryoneStopsWhenNoSeatIsFree(t *testing.T) {
	p := DefaultPolicy()
	p.ReleasePerS = 1000
	l := newFakeLine(p)
	l.join(9, 1, "")
	o := l.record(1, func(o *Opening) { o.Mode = ModeEveryone })
	l.mustDecide(t)
	if err := l.claim(o, l.entry(1)); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		l.now = l.now.Add(time.Second)
		l.mustDecide(t)
	}
	wantTold(t, o, 1, 2)
}

func TestNoWaveIsMadeWhilePausedQuietClosedOrAheadOfThePace(t *testing.T) {
	close := noon.Add(time.Hour)
	for _, c := range []struct {
		name string
		with func(*fakeLine)
		due  []time.Time
	}{
		{"paused by the app", func(l *fakeLine) { l.show.PausedApp = true }, []time.Time{close}},
		{"paused by staff", func(l *fakeLine) { l.show.PausedStaff = true }, []time.Time{close}},
		{"quiet", func(l *fakeLine) {
			l.show.Policy.QuietHours = &Quiet{From: "11:00", To: "12:30", Zone: "UTC"}
		}, []time.Time{noon.Add(30 * time.Minute), close}},
		{"sales closed", func(l *fakeLine) { l.show.SalesCloseAt = &noon }, nil},
		{"sales to close before the first turn", func(l *fakeLine) {
			l.show.SalesCloseAt = ptr(noon.Add(ms(200)))
			l.paceAt = noon.Add(ms(200))
		}, []time.Time{noon.Add(ms(200))}},
		{"ahead of the pace", func(l *fakeLine) { l.paceAt = noon.Add(ms(251)) }, []time.Time{noon.Add(ms(10)), close}},
		{"far ahead of the pace", func(l *fakeLine) { l.paceAt = noon.Add(time.Minute) }, []time.Time{noon.Add(time.Minute - ms(250)), close}},
	} {
		l := newFakeLine(DefaultPolicy())
		l.show.SalesCloseAt = &close
		l.join(3, 1, "")
		o := l.record(1, nil)
		c.with(l)
		plan, err := Decide(context.Background(), l.situation(), l)
		if err != nil || len(plan.Waves) != 0 || len(plan.Exhausted) != 0 || len(toldOf(o)) != 0 {
			t.Errorf("%s: decided %+v, %v", c.name, plan, err)
			continue
		}
		if !slices.EqualFunc(plan.Due, c.due, time.Time.Equal) {
			t.Errorf("%s: due at %v, want %v", c.name, plan.Due, c.due)
		}
		if !plan.PaceAt.Equal(l.paceAt) {
			t.Errorf("%s: the pace moved to %v", c.name, plan.PaceAt)
		}
	}
}

func TestWaveMayBePlannedAQuarterSecondAhead(t *testing.T) {
	l := newFakeLine(DefaultPolicy())
	l.join(1, 1, "")
	o := l.record(1, nil)
	l.paceAt = noon.Add(249*time.Millisecond + time.Microsecond)
	l.mustDecide(t)
	wantTold(t, o, 1)
	if got := o.waves[0].OpensAt.Sub(noon); got != ms(250) {
		t.Errorf("opens after %v, want the pace rounded up to a millisecond", got)
	}
}

func TestWaveEndsBeforeQuietHoursAndGoesOnAfterThem(t *testing.T) {
	p := DefaultPolicy()
	p.QuietHours = &Quiet{From: "12:00", To: "12:10", Zone: "UTC"}
	p.ReleasePerS = 10_000
	l := newFakeLine(p)
	l.now = noon.Add(-ms(450))
	l.paceAt = l.now
	l.join(20, 1, "")
	o := l.record(20, nil)
	plan := l.mustDecide(t)
	wantTold(t, o, 1, 2, 3, 4, 5) // at -450, -350 ... -50 ms
	end := noon.Add(10 * time.Minute)
	if !slices.ContainsFunc(plan.Due, end.Equal) {
		t.Errorf("due at %v, which lacks the end of the quiet hours", plan.Due)
	}
	l.now = noon.Add(-ms(1))
	if plan = l.mustDecide(t); len(plan.Waves) != 0 {
		t.Errorf("a wave was made that would open in quiet hours: %+v", plan.Waves[0].Wave)
	}
	l.now = end
	l.mustDecide(t)
	if got := o.waves[1]; got.Size != 15 || !got.OpensAt.Equal(end) {
		t.Errorf("after the quiet hours: %+v", got.Wave)
	}
}

func TestNoTurnOpensAtOrAfterTheCloseOfSales(t *testing.T) {
	p := DefaultPolicy()
	p.ReleasePerS = 10_000
	l := newFakeLine(p)
	l.show.SalesCloseAt = ptr(noon.Add(ms(300)))
	l.join(20, 1, "")
	o := l.record(20, nil)
	l.mustDecide(t)
	wantTold(t, o, 1, 2, 3) // at 0, 100, 200; 300 is the close
	for _, m := range o.waves[0].Members {
		if turn := l.telling(o, l.entry(m.EntryNo)); !turn.Closes.Equal(noon.Add(ms(300))) {
			t.Errorf("turn %d closes at %v", m.K, turn.Closes)
		}
	}
	l.now = noon.Add(ms(299))
	l.mustDecide(t)
	wantTold(t, o, 1, 2, 3)
}

func TestMarkStopsWhereTheWalkStoppedReading(t *testing.T) {
	p := DefaultPolicy()
	p.ReleasePerS = 1_000_000
	l := newFakeLine(p)
	l.join(50, 1, "")
	const page = 32
	o := l.record(page-1, nil)
	l.mustDecide(t)
	for want := int64(page); want <= 40; want++ { // the first takes the last of a page
		l.decline(o, l.entry(want-page+1))
		l.now = l.now.Add(ms(100))
		l.mustDecide(t)
		if got := toldOf(o); got[len(got)-1] != want {
			t.Fatalf("told %v, want %d next", got, want)
		}
	}
}

func TestNextCloseOfATurnIsDueRoundedUpToFiftyMilliseconds(t *testing.T) {
	for mode, want := range map[Mode]time.Duration{
		ModeTurns:    10 * time.Second,        // the first turn's
		ModeEveryone: 10*time.Second + ms(50), // the last turn's, at 10.020
	} {
		l := newFakeLine(DefaultPolicy())
		l.join(2, 1, "")
		l.record(2, func(o *Opening) { o.Window, o.Mode = 10*time.Second, mode })
		if plan := l.mustDecide(t); len(plan.Due) != 2 || !plan.Due[0].Equal(noon.Add(want)) {
			t.Errorf("mode %s: due at %v, want +%v and the close of sales", mode, plan.Due, want)
		}
		l.now = noon.Add(10 * time.Second) // the first turn has closed
		plan := l.mustDecide(t)
		if at := noon.Add(10*time.Second + ms(50)); !plan.Due[0].Equal(at) {
			t.Errorf("mode %s: then due at %v, want %v", mode, plan.Due, at)
		}
	}
}

func TestTurnsThatAnEarlierCloseOfSalesCutOffAreNotLive(t *testing.T) {
	p := DefaultPolicy()
	p.ReleasePerS = 1000
	l := newFakeLine(p)
	l.join(2, 1, "")
	o := l.record(2, nil)
	l.mustDecide(t)
	wantTold(t, o, 1, 2)
	// Sales now close between the two turns.
	l.show.SalesCloseAt = ptr(noon.Add(ms(500)))
	o.waves[0].CloseCap = *l.show.SalesCloseAt
	live := o.live(noon)
	if parties, turns := live.liveParties(noon); parties != 1 || turns != 1 {
		t.Errorf("%d parties in %d live turns, want the first alone", parties, turns)
	}
	if busy := l.situation().busy(); busy[2] || !busy[1] {
		t.Errorf("busy %v", busy)
	}
	l.now = noon.Add(ms(500))
	l.mustDecide(t)
	wantState(t, o, OpeningExhausted)
}
