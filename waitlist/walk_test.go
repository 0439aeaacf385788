package waitlist

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lineMachine drives a fakeLine with random acts, and holds each decision against
// the naive walk, and each verdict against what the naive walk said.
type lineMachine struct {
	*fakeLine
	// last is why the last decision that walked past did not take, by opening
	// and entry.
	last map[int64]map[int64]Reason
}

func newLineMachine(t *rapid.T) *lineMachine {
	p := DefaultPolicy()
	p.ReleasePerS = rapid.SampledFrom([]Milli{500, 1000, 5_000, 20_000, 1_000_000}).Draw(t, "rate")
	p.ClaimWindowS = rapid.IntRange(1, 6).Draw(t, "window")
	p.HoldS = rapid.IntRange(1, 4).Draw(t, "hold")
	m := &lineMachine{fakeLine: newFakeLine(p), last: map[int64]map[int64]Reason{}}
	if rapid.IntRange(0, 3).Draw(t, "sales") == 0 {
		m.show.SalesCloseAt = ptr(noon.Add(ms(rapid.IntRange(1000, 60_000).Draw(t, "close"))))
	}
	if rapid.IntRange(0, 3).Draw(t, "quiet") == 0 {
		m.show.Policy.QuietHours = &Quiet{From: "12:01", To: "12:02", Zone: "UTC"}
	}
	m.Join(t)
	return m
}

func (m *lineMachine) anyEntry(t *rapid.T) *Entry {
	return rapid.SampledFrom(m.entries).Draw(t, "entry")
}

func (m *lineMachine) anyOpening(t *rapid.T) *fakeOpening {
	if len(m.openings) == 0 {
		t.Skip("no opening")
	}
	return rapid.SampledFrom(m.openings).Draw(t, "opening")
}

var tiers = []string{"", "A", "B"}

func (m *lineMachine) Join(t *rapid.T) {
	n := rapid.IntRange(1, 45).Draw(t, "fans")
	if rapid.Bool().Draw(t, "alike") {
		m.join(n, rapid.IntRange(1, 3).Draw(t, "party"), rapid.SampledFrom(tiers).Draw(t, "tier"))
		return
	}
	for range min(n, 12) {
		m.join(1, rapid.IntRange(1, 4).Draw(t, "party"), rapid.SampledFrom(tiers).Draw(t, "tier"))
	}
}

func (m *lineMachine) Record(t *rapid.T) {
	if len(m.openings) == 6 {
		t.Skip("enough openings")
	}
	m.record(rapid.IntRange(1, 8).Draw(t, "seats"), func(o *Opening) {
		o.Tier = rapid.SampledFrom(tiers).Draw(t, "tier")
		o.Adjacent = rapid.Bool().Draw(t, "adjacent")
		o.FansPerSeat = rapid.SampledFrom([]Milli{1000, 1000, 1500, 2000, 100_000}).Draw(t, "fans per seat")
		if rapid.IntRange(0, 3).Draw(t, "mode") == 0 {
			o.Mode = ModeEveryone
		}
	})
}

func (m *lineMachine) Move(t *rapid.T) {
	if e := m.anyEntry(t); e.State == Waiting {
		m.moveFront(e)
	}
}

func (m *lineMachine) SleepOrWake(t *rapid.T) {
	if e := m.anyEntry(t); e.State == Waiting {
		m.change(e, "dormancy", func(e *Entry) { e.Dormant = !e.Dormant })
	}
}

func (m *lineMachine) ChangeGroup(t *rapid.T) {
	e := m.anyEntry(t)
	for _, turn := range m.tellings(e) {
		if turn.Live(m.now) || e.State != Waiting {
			t.Skip("not while a turn is live")
		}
	}
	m.change(e, "changed", func(e *Entry) {
		e.Party = rapid.IntRange(1, 4).Draw(t, "party")
		e.Tier = rapid.SampledFrom(tiers).Draw(t, "tier")
	})
}

func (m *lineMachine) LeaveOrRejoin(t *rapid.T) {
	switch e := m.anyEntry(t); {
	case e.State.InLine():
		m.leave(e, rapid.SampledFrom([]State{Left, Removed}).Draw(t, "as"))
	default:
		m.rejoin(e)
	}
}

func (m *lineMachine) Claim(t *rapid.T) {
	o := m.anyOpening(t)
	for range 4 {
		_ = m.claim(o, m.told1(t, o))
	}
	if o.Held+o.Confirmed > o.Quantity || o.Free < 0 {
		t.Fatalf("opening %d claimed more seats than it has", o.No)
	}
}

// told1 is an entry told of the opening, or any.
func (m *lineMachine) told1(t *rapid.T, o *fakeOpening) *Entry {
	var told []*Entry
	for _, e := range m.entries {
		if m.fakeLine.told(o, e.No) && e.State == Waiting {
			told = append(told, e)
		}
	}
	if len(told) == 0 {
		return m.anyEntry(t)
	}
	return rapid.SampledFrom(told).Draw(t, "told")
}

func (m *lineMachine) Decline(t *rapid.T) {
	o := m.anyOpening(t)
	e := m.told1(t, o)
	if turn := m.telling(o, e); turn != nil && turn.At(m.now) == PhaseOpen {
		m.decline(o, e)
	}
}

func (m *lineMachine) EndHold(t *rapid.T) {
	o := m.anyOpening(t)
	as := rapid.SampledFrom([]ClaimState{ClaimReleased, ClaimConfirmed}).Draw(t, "as")
	for _, e := range m.entries {
		if c := o.claims[e.No]; c != nil && c.State == ClaimHeld && m.now.Before(c.ExpiresAt) {
			m.endHold(o, c, as)
			return
		}
	}
}

func (m *lineMachine) Give(t *rapid.T) {
	o, e := m.anyOpening(t), m.anyEntry(t)
	if o.State == OpeningOpen && e.State == Waiting && o.Takes(e.Tier) && !m.fakeLine.told(o, e.No) {
		o.Given = append(o.Given, e.No)
	}
}

func (m *lineMachine) Cancel(t *rapid.T) {
	if o := m.anyOpening(t); o.State == OpeningOpen && rapid.IntRange(0, 5).Draw(t, "really") == 0 {
		m.cancel(o)
	}
}

func (m *lineMachine) Pause(t *rapid.T) {
	m.show.PausedStaff = rapid.IntRange(0, 3).Draw(t, "paused") == 0
}

func (m *lineMachine) Wait(t *rapid.T) {
	us := rapid.OneOf(rapid.IntRange(1, 5_000), rapid.IntRange(1000, 3_000_000)).Draw(t, "us")
	m.now = m.now.Add(time.Duration(us) * time.Microsecond)
}

func (m *lineMachine) Decide(t *rapid.T) {
	m.settle()
	want := m.naive()
	plan, err := Decide(context.Background(), m.situation(), m)
	if err != nil {
		t.Fatal(err)
	}
	m.compare(t, plan, want)
	m.apply(plan)
	for opening, reasons := range want.skipped {
		if m.last[opening] == nil {
			m.last[opening] = map[int64]Reason{}
		}
		for no, r := range reasons {
			m.last[opening][no] = r
		}
	}
}

func (m *lineMachine) compare(t *rapid.T, plan *Plan, want *naive) {
	var got []naiveWave
	for _, pw := range plan.Waves {
		w := pw.Wave
		if w.Size != len(pw.Members) || w.Decision != m.decision+1 {
			t.Fatalf("wave of size %d, decision %d, with %d members", w.Size, w.Decision, len(pw.Members))
		}
		n := m.openings[w.OpeningNo-1]
		if rewrites := n.Opening.Waves > 0 && n.waves[n.Opening.Waves-1].Size == 0 && w.Size == 0; rewrites != (w.N == n.Opening.Waves) {
			t.Fatalf("wave %d of %d members after %d waves", w.N, w.Size, n.Opening.Waves)
		}
		got = append(got, naiveWave{w.OpeningNo, pw.Members, w.OpensAt, w.Free, w.Demand, w.WalkedTo})
	}
	if d := cmp.Diff(want.waves, got, cmp.AllowUnexported(naiveWave{})); d != "" {
		t.Fatalf("the waves differ from the naive walk's (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want.exhausted, plan.Exhausted); d != "" {
		t.Fatalf("exhausted (-want +got):\n%s", d)
	}
	if !want.paceAt.Equal(plan.PaceAt) {
		t.Fatalf("pace at %v, want %v", plan.PaceAt, want.paceAt)
	}
}

// Check holds after every act.
func (m *lineMachine) Check(t *rapid.T) {
	for _, o := range m.openings {
		m.checkMarks(t, o)
		seen := map[int64]bool{}
		for _, w := range o.waves {
			for _, member := range w.Members {
				if seen[member.EntryNo] {
					t.Fatalf("opening %d told entry %d twice", o.No, member.EntryNo)
				}
				seen[member.EntryNo] = true
			}
		}
		for no, want := range m.last[o.No] {
			if seen[no] {
				continue
			}
			v, err := Judge(m.facts(o, m.entry(no)))
			if err != nil || v.Reason != want {
				t.Fatalf("opening %d, entry %d: verdict %q (%v), the last walk past it said %q", o.No, no, v.Reason, err, want)
			}
		}
	}
}

// checkMarks: all of a mark's group before it were told, or will be found by their
// change.
func (m *lineMachine) checkMarks(t *rapid.T, o *fakeOpening) {
	for g, mark := range o.marks {
		for _, e := range m.entries {
			if e.Active() && (Group{e.Tier, e.Party}) == g && e.Place < mark.Place &&
				!m.fakeLine.told(o, e.No) && !m.changedSince(e, mark.Decision) {
				t.Fatalf("opening %d: the mark of %v at %d hides entry %d, who was never told", o.No, g, mark.Place, e.No)
			}
		}
	}
}

func TestDecideAgreesWithANaiveWalkOverTheWholeLine(t *testing.T) {
	for run := range 8 {
		t.Run(strconv.Itoa(run), rapid.MakeCheck(func(t *rapid.T) {
			m := newLineMachine(t)
			m.Record(t)
			acts := map[string]func(*rapid.T){
				"": m.Check, "join": m.Join, "record": m.Record, "move": m.Move, "sleep or wake": m.SleepOrWake,
				"change group": m.ChangeGroup, "leave or rejoin": m.LeaveOrRejoin, "claim": m.Claim,
				"decline": m.Decline, "end hold": m.EndHold, "give": m.Give, "cancel": m.Cancel, "pause": m.Pause,
				"wait": m.Wait, "wait more": m.Wait, "decide": m.Decide, "decide again": m.Decide, "decide once more": m.Decide,
			}
			t.Repeat(acts)
			t.Repeat(acts)
		}))
	}
}
