package waitlist

import (
	"errors"
	"testing"
	"time"
)

// bareFacts is an entry in an open opening that no decision walked past.
func bareFacts() Facts {
	s := testShow()
	return Facts{
		Now: noon, Show: &s,
		Opening: &Opening{No: 7, ID: "o7", Mode: ModeTurns, State: OpeningOpen, Quantity: 1, Free: 1},
		Entry: &Entry{
			No: 1, FanID: "fan", Place: 40, Party: 2, State: Waiting, Position: 4, JoinedDecision: 1,
		},
		Members: func(*Wave) ([]Member, error) { return nil, nil },
	}
}

// walkedPast adds a wave that walked past the entry and took nobody.
func walkedPast(f *Facts) {
	f.Waves = []Wave{{OpeningNo: 7, N: 1, Decision: 5, DecidedAt: noon, Free: 4, Demand: 4, WalkedTo: 100}}
}

func openTurn(f *Facts) {
	f.Tellings = []Telling{{OpeningNo: 7, Mode: ModeTurns, Party: 2, Decision: 5, Opens: noon, Closes: noon.Add(time.Minute)}}
}

func ended(as OpeningState, after time.Duration) func(*Facts) {
	return func(f *Facts) {
		at := noon.Add(after)
		f.Opening.State, f.Opening.FinalAt, f.Opening.FinalDecision = as, &at, 6
		for i := range f.Tellings {
			f.Tellings[i].Final, f.Tellings[i].FinalAt, f.Tellings[i].FinalDecision = as, &at, 6
		}
	}
}

func acted(as ActState) func(*Facts) {
	return func(f *Facts) { f.Tellings[0].Act = &Act{State: as, At: noon, Decision: 5} }
}

func own(as ClaimState) func(*Facts) {
	return func(f *Facts) { f.Own = &Claim{ID: "c1", State: as, ClaimedAt: noon, ExpiresAt: noon.Add(time.Minute)} }
}

// holding is a change of an entry that held, that long after the claim.
func holding(what string, after time.Duration) func(*Facts) {
	return func(f *Facts) {
		f.Log = append(f.Log, Change{Decision: 5, At: noon.Add(after), What: what, Before: Entry{State: Holding}})
	}
}

func at(d time.Duration) func(*Facts) { return func(f *Facts) { f.Now = noon.Add(d) } }

func TestVerdictGivesEveryReasonOfTheContract(t *testing.T) {
	busy := func(f *Facts) {
		f.Tellings = []Telling{{OpeningNo: 6, Mode: ModeTurns, Decision: 4, Opens: noon, Closes: noon.Add(time.Hour)}}
	}
	quiet := func(f *Facts) { f.Show.Policy.QuietHours = &Quiet{From: "11:00", To: "13:00", Zone: "UTC"} }
	paused := func(f *Facts) { f.Show.PausedApp = true }
	closed := func(f *Facts) { f.Show.SalesCloseAt = &noon }
	is := func(change func(*Entry)) func(*Facts) { return func(f *Facts) { change(f.Entry) } }
	type with = []func(*Facts)
	for _, c := range []struct {
		name   string
		with   with
		state  VerdictState
		reason Reason
	}{
		{"no entry", with{func(f *Facts) { f.Entry = nil }}, VerdictNone, NotOnList},
		{"joined after the end", with{ended(OpeningFilled, 0), is(func(e *Entry) { e.JoinedDecision = 7 })}, VerdictNone, NotOnList},
		{"behind", with{}, VerdictWaiting, Behind},

		{"upcoming", with{openTurn, at(-1)}, VerdictUpcoming, TurnUpcoming},
		{"open", with{openTurn}, VerdictOpen, TurnOpen},
		{"open to the last", with{openTurn, at(time.Minute - 1)}, VerdictOpen, TurnOpen},
		{"lapsed", with{openTurn, at(time.Minute)}, VerdictOver, TurnLapsed},
		{"declined", with{openTurn, acted(ActDeclined)}, VerdictOver, TurnDeclined},
		{"left with a turn", with{openTurn, acted(ActLeft)}, VerdictOver, HasLeft},
		{"bought on another opening", with{openTurn, acted(ActBought)}, VerdictOver, HasLeft},
		{"removed with a turn", with{openTurn, acted(ActRemoved)}, VerdictOver, WasRemoved},
		{"cut short by filled", with{openTurn, ended(OpeningFilled, time.Second), at(time.Hour)}, VerdictOver, EndFilled},
		{"cut short by cancelled", with{openTurn, ended(OpeningCancelled, time.Second), at(time.Hour)}, VerdictOver, EndCancelled},
		{"lapsed before the end", with{openTurn, ended(OpeningFilled, time.Minute), at(time.Hour)}, VerdictOver, TurnLapsed},
		{"a turn that never opened", with{openTurn, ended(OpeningFilled, 0)}, VerdictNone, EndFilled},

		{"held", with{openTurn, acted(ActClaimed), own(ClaimHeld)}, VerdictClaimed, IsClaimed},
		{"held to the last", with{openTurn, own(ClaimHeld), at(time.Minute - 1)}, VerdictClaimed, IsClaimed},
		{"held too long", with{openTurn, own(ClaimHeld), at(time.Minute)}, VerdictOver, HoldLapsed},
		{"lapsed hold", with{openTurn, acted(ActClaimed), own(ClaimLapsed)}, VerdictOver, HoldLapsed},
		{"released", with{openTurn, acted(ActClaimed), own(ClaimReleased)}, VerdictOver, HoldReleased},
		{"left with a hold", with{openTurn, acted(ActClaimed), own(ClaimReleased), holding("front", 0), holding("left", 1)}, VerdictOver, HasLeft},
		{"removed with a hold", with{openTurn, acted(ActClaimed), own(ClaimReleased), holding("removed", 0)}, VerdictOver, WasRemoved},
		{"released, and left with another hold", with{openTurn, acted(ActClaimed), own(ClaimReleased), holding("released", 0), holding("left", 1)}, VerdictOver, HoldReleased},
		{"left with an earlier hold", with{openTurn, acted(ActClaimed), own(ClaimReleased), holding("left", -1), holding("released", 0)}, VerdictOver, HoldReleased},
		{"confirmed", with{openTurn, acted(ActClaimed), own(ClaimConfirmed), at(time.Hour)}, VerdictClaimed, IsConfirmed},
		{"hold before the opening's end", with{openTurn, own(ClaimHeld), ended(OpeningCancelled, 0)}, VerdictClaimed, IsClaimed},

		{"skipped: left", with{walkedPast, is(func(e *Entry) { e.State = Left })}, VerdictNone, HasLeft},
		{"skipped: bought", with{walkedPast, is(func(e *Entry) { e.State = Bought })}, VerdictNone, HasLeft},
		{"skipped: removed", with{walkedPast, is(func(e *Entry) { e.State = Removed })}, VerdictNone, WasRemoved},
		{"skipped: tier", with{walkedPast, is(func(e *Entry) { e.Tier = "B" }), func(f *Facts) { f.Opening.Tier = "A" }}, VerdictWaiting, TierMismatch},
		{"skipped: party", with{walkedPast, is(func(e *Entry) { e.Party = 5 })}, VerdictWaiting, PartyTooBig},
		{"skipped: dormant", with{walkedPast, is(func(e *Entry) { e.Dormant = true })}, VerdictWaiting, IsDormant},
		{"skipped: holding", with{walkedPast, is(func(e *Entry) { e.State = Holding })}, VerdictWaiting, Busy},
		{"skipped: in another turn", with{walkedPast, busy}, VerdictWaiting, Busy},
		{"skipped, and the opening ended", with{walkedPast, busy, ended(OpeningFilled, time.Second)}, VerdictNone, Busy},
		{"skipped, and sales closed", with{walkedPast, busy, closed}, VerdictWaiting, Busy},

		{"filled", with{ended(OpeningFilled, 0)}, VerdictNone, EndFilled},
		{"exhausted", with{ended(OpeningExhausted, 0)}, VerdictNone, EndExhausted},
		{"cancelled", with{ended(OpeningCancelled, 0)}, VerdictNone, EndCancelled},
		{"the end before sales_closed", with{ended(OpeningFilled, 0), closed, quiet, paused}, VerdictNone, EndFilled},
		{"sales_closed before quiet_hours", with{closed, quiet, paused}, VerdictNone, SalesClosed},
		{"quiet_hours before paused", with{quiet, paused}, VerdictWaiting, QuietHours},
		{"paused before behind", with{paused}, VerdictWaiting, IsPaused},
		{"left, not walked past", with{is(func(e *Entry) { e.State = Left })}, VerdictNone, HasLeft},
		{"removed, not walked past", with{is(func(e *Entry) { e.State = Removed }), quiet}, VerdictNone, WasRemoved},
		{"holding, not walked past", with{is(func(e *Entry) { e.State = Holding })}, VerdictWaiting, Busy},
		{"dormant, not walked past", with{is(func(e *Entry) { e.Dormant = true })}, VerdictWaiting, IsDormant},
		{"left before the end", with{ended(OpeningFilled, 0), is(func(e *Entry) { e.State = Left })}, VerdictNone, HasLeft},
		{"removed before the end", with{ended(OpeningFilled, 0), is(func(e *Entry) { e.State = Removed })}, VerdictNone, WasRemoved},
	} {
		f := bareFacts()
		for _, with := range c.with {
			with(&f)
		}
		v, err := Judge(f)
		if err != nil || v.State != c.state || v.Reason != c.reason {
			t.Errorf("%s: %s, %s (%v); want %s, %s", c.name, v.State, v.Reason, err, c.state, c.reason)
		}
		if f.Entry != nil && (v.ShowID != f.Show.ID || v.OpeningID != "o7" || v.FanID != "fan") {
			t.Errorf("%s: names %q, %q, %q", c.name, v.ShowID, v.OpeningID, v.FanID)
		}
		if (v.Ahead != nil) != (v.Reason == Behind) {
			t.Errorf("%s: ahead is %v", c.name, v.Ahead)
		}
		if (v.ClaimID != "") != (f.Own != nil) {
			t.Errorf("%s: claim %q", c.name, v.ClaimID)
		}
	}
}

func TestAheadIsOneLessThanThePosition(t *testing.T) {
	for position, want := range map[int64]int64{0: 0, 1: 0, 2: 1, 4711: 4710} {
		f := bareFacts()
		f.Entry.Position = position
		v, err := Judge(f)
		if err != nil || v.Ahead == nil || *v.Ahead != want {
			t.Errorf("position %d: %+v, %v", position, v, err)
		}
	}
}

func TestVerdictShowsTheTimesOfATurnThatExists(t *testing.T) {
	f := bareFacts()
	openTurn(&f)
	v, err := Judge(f)
	if err != nil || v.OpensAt == nil || !v.OpensAt.Equal(noon) || !v.ClosesAt.Equal(noon.Add(time.Minute)) {
		t.Errorf("%+v, %v", v, err)
	}
	ended(OpeningFilled, 0)(&f)
	if v, err = Judge(f); err != nil || v.OpensAt != nil || v.ClosesAt != nil {
		t.Errorf("a turn that never opened: %+v, %v", v, err)
	}
}

func TestVerdictIsNeverOpenFromClosesAtOn(t *testing.T) {
	for _, after := range []time.Duration{time.Minute - 1, time.Minute, time.Minute + 1} {
		f := bareFacts()
		openTurn(&f)
		f.Now = noon.Add(after)
		v, err := Judge(f)
		if err != nil || (v.State == VerdictOpen) != f.Now.Before(*v.ClosesAt) {
			t.Errorf("at %v: %+v, %v", after, v, err)
		}
	}
}

func TestLastDecisionThatWalkedPastGivesTheReason(t *testing.T) {
	f := bareFacts()
	f.Waves = []Wave{ // newest first
		{N: 4, Decision: 9, DecidedAt: noon, Free: 9, Demand: 9, WalkedTo: NoWalk}, // chosen fans alone
		{N: 3, Decision: 8, DecidedAt: noon, Free: 9, Demand: 9, WalkedTo: 39},     // stopped before
		{N: 2, Decision: 7, DecidedAt: noon, Free: 1, Demand: 9, WalkedTo: 40},     // here: two do not fit one seat
		{N: 1, Decision: 6, DecidedAt: noon, Free: 9, Demand: 9, WalkedTo: 100},    // here: dormant then
	}
	f.Log = []Change{{Decision: 6, Before: Entry{No: 1, Place: 40, Party: 2, State: Waiting, Dormant: true, JoinedDecision: 1}}}
	asked := 0
	f.Members = func(w *Wave) ([]Member, error) {
		asked++
		return nil, nil
	}
	if v, err := Judge(f); err != nil || v.Reason != PartyTooBig || asked != 1 {
		t.Errorf("%s (%v) after reading the members of %d waves", v.Reason, err, asked)
	}
	f.Waves = f.Waves[3:]
	if v, err := Judge(f); err != nil || v.Reason != IsDormant {
		t.Errorf("%s (%v) from the first wave", v.Reason, err)
	}
}

func TestPartyIsTooBigForWhatWasLeftWhenTheWalkCameToIt(t *testing.T) {
	w := &Wave{Free: 4, Demand: 6, WalkedTo: 100}
	members := []Member{
		{EntryNo: 90, Place: 90, Party: 1, Given: true}, // before the walk
		{EntryNo: 10, Place: 10, Party: 2},
		{EntryNo: 50, Place: 50, Party: 2},
	}
	for _, c := range []struct {
		place int64
		want  int
	}{{5, 4}, {10, 4}, {11, 3}, {50, 3}, {51, 1}, {100, 1}} {
		if got := w.leftAt(ModeTurns, c.place, members); got != c.want {
			t.Errorf("at place %d a party of %d was left, want %d", c.place, got, c.want)
		}
		if got := w.leftAt(ModeEveryone, c.place, members); got != 4 {
			t.Errorf("mode everyone: at place %d a party of %d was left", c.place, got)
		}
	}
}

func TestModeEveryoneSkipsNobodyAsBusyButHolders(t *testing.T) {
	o := &Opening{No: 7, Mode: ModeEveryone}
	w := &Wave{Decision: 5, DecidedAt: noon, Free: 4, WalkedTo: 100}
	e := &Entry{No: 1, Place: 40, Party: 2, State: Waiting}
	busy := []Telling{{OpeningNo: 6, Mode: ModeTurns, Decision: 4, Opens: noon, Closes: noon.Add(time.Hour)}}
	if got := o.Skips(w, nil, e, busy); got != "" {
		t.Errorf("skipped as %s", got)
	}
	e.State = Holding
	if got := o.Skips(w, nil, e, busy); got != Busy {
		t.Errorf("a holder: %q", got)
	}
}

func TestVerdictFailsWhenTheWaveCannotBeRead(t *testing.T) {
	f := bareFacts()
	walkedPast(&f)
	f.Members = func(*Wave) ([]Member, error) { return nil, errRead }
	if _, err := Judge(f); !errors.Is(err, errRead) {
		t.Errorf("got %v", err)
	}
}

func TestSkippedReasonsComeInTheOrderOfTheContract(t *testing.T) {
	o := &Opening{No: 7, Mode: ModeTurns, Tier: "A"}
	w := &Wave{Decision: 5, DecidedAt: noon, Free: 1, Demand: 1, WalkedTo: 100}
	busy := []Telling{{OpeningNo: 6, Mode: ModeTurns, Decision: 4, Opens: noon, Closes: noon.Add(time.Hour)}}
	e := Entry{Place: 1, Party: 3, Tier: "B", State: Left, Dormant: true}
	for _, step := range []struct {
		want Reason
		next func()
	}{
		{HasLeft, func() { e.State = Removed }},
		{WasRemoved, func() { e.State = Waiting }},
		{TierMismatch, func() { e.Tier = "A" }},
		{PartyTooBig, func() { e.Party = 1 }},
		{IsDormant, func() { e.Dormant = false }},
		{Busy, func() { busy = nil }},
		{"", func() {}},
	} {
		if got := o.Skips(w, nil, &e, busy); got != step.want {
			t.Errorf("got %q, want %q", got, step.want)
		}
		step.next()
	}
}
