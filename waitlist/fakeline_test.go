package waitlist

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// fakeLine is a show's line kept in memory. It is the Source of its decisions,
// applies their plans, and logs every change of an entry as the store does.
type fakeLine struct {
	show     Show
	now      time.Time
	decision int64
	paceAt   time.Time
	tail     int64
	front    int64
	entries  []*Entry // entries[i].No is i+1
	log      map[int64][]Change
	openings []*fakeOpening // in the order recorded
}

type fakeOpening struct {
	Opening
	seats  []ClaimState // by seat; "" is free
	waves  []LiveWave
	acts   map[int64]*Act
	claims map[int64]*Claim // by entry
	taken  map[int64][]int  // the claims' seats
	marks  map[Group]Mark
}

func newFakeLine(policy Policy) *fakeLine {
	l := &fakeLine{show: testShow(), now: noon, paceAt: noon, log: map[int64][]Change{}}
	l.show.Policy = policy
	return l
}

// join appends entries of a party size and tier.
func (l *fakeLine) join(n, party int, tier string) {
	for range n {
		l.tail++
		no := int64(len(l.entries) + 1)
		l.entries = append(l.entries, &Entry{
			No: no, FanNo: no * 10, FanID: fmt.Sprintf("fan-%d", no), Place: l.tail, Party: party, Tier: tier,
			State: Waiting, JoinedDecision: l.decision,
		})
	}
}

func (l *fakeLine) entry(no int64) *Entry { return l.entries[no-1] }

// change logs what the entry was and changes it.
func (l *fakeLine) change(e *Entry, what string, f func(*Entry)) {
	l.log[e.No] = append(l.log[e.No], Change{Decision: l.decision, At: l.now, What: what, Before: *e})
	f(e)
}

func (l *fakeLine) moveFront(e *Entry) {
	l.front--
	l.change(e, "moved", func(e *Entry) { e.Place = l.front })
}

func (l *fakeLine) rejoin(e *Entry) {
	l.tail++
	l.change(e, "rejoined", func(e *Entry) { e.State, e.Place = Waiting, l.tail })
}

func (l *fakeLine) leave(e *Entry, as State) {
	for _, o := range l.openings {
		if c := o.claims[e.No]; c != nil && c.State == ClaimHeld {
			l.endHold(o, c, ClaimReleased)
		}
	}
	l.change(e, string(as), func(e *Entry) { e.State, e.Dormant = as, false })
	l.endTurns(e, ActState(as))
}

// decline ends an open turn, and wakes the fan.
func (l *fakeLine) decline(o *fakeOpening, e *Entry) {
	o.acts[e.No] = l.act(ActDeclined)
	if e.Dormant {
		l.change(e, "woke", func(e *Entry) { e.Dormant = false })
	}
}

// endTurns ends the entry's upcoming and open turns.
func (l *fakeLine) endTurns(e *Entry, as ActState) {
	for _, o := range l.openings {
		if turn := l.telling(o, e); turn != nil && turn.Live(l.now) {
			o.acts[e.No] = l.act(as)
		}
	}
}

func (l *fakeLine) act(s ActState) *Act { return &Act{State: s, At: l.now, Decision: l.decision} }

// record records an opening of n seats, the one with the next number.
func (l *fakeLine) record(n int, with func(*Opening)) *fakeOpening {
	p := l.show.Policy
	no := int64(len(l.openings) + 1)
	o := &fakeOpening{
		Opening: Opening{
			No: no, ID: fmt.Sprintf("opening-%d", no), Mode: p.Mode, Strategy: Write, FansPerSeat: p.FansPerSeat,
			Window: p.Window(), Hold: p.Hold(), State: OpeningOpen, Quantity: n, RecordedAt: l.now,
		},
		seats: make([]ClaimState, n), acts: map[int64]*Act{}, claims: map[int64]*Claim{},
		taken: map[int64][]int{}, marks: map[Group]Mark{},
	}
	if with != nil {
		with(&o.Opening)
	}
	o.count()
	l.openings = append(l.openings, o)
	return o
}

func (o *fakeOpening) count() {
	o.Free, o.Held, o.Confirmed = 0, 0, 0
	for _, s := range o.seats {
		switch s {
		case ClaimHeld:
			o.Held++
		case ClaimConfirmed:
			o.Confirmed++
		default:
			o.Free++
		}
	}
}

func (o *fakeOpening) freeSeats() []bool {
	free := make([]bool, len(o.seats))
	for i, s := range o.seats {
		free[i] = s == ""
	}
	return free
}

// telling is the entry's turn at the opening, or nil when never told.
func (l *fakeLine) telling(o *fakeOpening, e *Entry) *Telling {
	for i := range o.waves {
		w := &o.waves[i]
		for _, m := range w.Members {
			if m.EntryNo != e.No {
				continue
			}
			return &Telling{
				OpeningNo: o.No, OpeningID: o.ID, Mode: o.Mode, N: w.N, K: m.K, Party: m.Party,
				Opens: w.Opens(m.K), Closes: w.Closes(m.K), Decision: w.Decision, Act: o.acts[e.No],
				FinalAt: o.FinalAt, Final: o.State, FinalDecision: o.FinalDecision,
			}
		}
	}
	return nil
}

func (l *fakeLine) tellings(e *Entry) []Telling {
	var ts []Telling
	for _, o := range l.openings {
		if t := l.telling(o, e); t != nil {
			ts = append(ts, *t)
		}
	}
	return ts
}

// facts is what a verdict is worked out from.
func (l *fakeLine) facts(o *fakeOpening, e *Entry) Facts {
	f := Facts{
		Now: l.now, Show: &l.show, Opening: &o.Opening, Entry: e, Log: l.log[e.No],
		Tellings: l.tellings(e), Own: o.claims[e.No],
		Members: func(w *Wave) ([]Member, error) { return o.waves[w.N-1].Members, nil },
	}
	for i := range o.waves {
		f.Waves = append(f.Waves, o.waves[i].Wave)
	}
	slices.Reverse(f.Waves)
	return f
}

// claim asks for the party's seats with the entry's turn.
func (l *fakeLine) claim(o *fakeOpening, e *Entry) error {
	seats := o.pick(e.Party)
	err := CheckClaim(ClaimFacts{
		Now: l.now, Opening: &o.Opening, Entry: e, Own: o.claims[e.No], Told: l.telling(o, e), Fits: seats != nil,
	})
	if err != nil {
		return err
	}
	for _, s := range seats {
		o.seats[s] = ClaimHeld
	}
	o.taken[e.No] = seats
	o.claims[e.No] = &Claim{
		ID: "claim", OpeningNo: o.No, EntryNo: e.No, Seats: e.Party, State: ClaimHeld,
		ClaimedAt: l.now, ExpiresAt: l.now.Add(o.Hold),
	}
	o.acts[e.No] = l.act(ActClaimed)
	o.count()
	l.change(e, "holding", func(e *Entry) { e.State, e.Dormant = Holding, false })
	return nil
}

// pick chooses seats for a party, or nil.
func (o *fakeOpening) pick(party int) []int {
	if o.Adjacent {
		at := Run(o.freeSeats(), party)
		if at < 0 {
			return nil
		}
		seats := make([]int, party)
		for i := range seats {
			seats[i] = at + i
		}
		return seats
	}
	var seats []int
	for i, s := range o.seats {
		if s == "" && len(seats) < party {
			seats = append(seats, i)
		}
	}
	if len(seats) < party {
		return nil
	}
	return seats
}

// endHold releases, lapses or confirms a held claim.
func (l *fakeLine) endHold(o *fakeOpening, c *Claim, as ClaimState) {
	c.State = as
	seat, state := ClaimState(""), Waiting
	if as == ClaimConfirmed {
		seat, state = ClaimConfirmed, Bought
	}
	for _, s := range o.taken[c.EntryNo] {
		o.seats[s] = seat
	}
	o.count()
	e := l.entry(c.EntryNo)
	l.change(e, string(as), func(e *Entry) { e.State = state })
	if as == ClaimConfirmed {
		l.endTurns(e, ActBought)
	}
}

func (l *fakeLine) cancel(o *fakeOpening) { l.end(o, OpeningCancelled, l.decision) }

func (l *fakeLine) end(o *fakeOpening, as OpeningState, decision int64) {
	at := l.now
	o.State, o.FinalAt, o.FinalDecision = as, &at, decision
}

// settle is what a decision does before it walks: lapses and endings, which the
// decision sees.
func (l *fakeLine) settle() {
	for _, o := range l.openings {
		for _, e := range l.entries {
			if c := o.claims[e.No]; c != nil && c.State == ClaimHeld && !l.now.Before(c.ExpiresAt) {
				l.endHold(o, c, ClaimLapsed)
			}
		}
		if o.State == OpeningOpen {
			if as := o.live(l.now).Ending(&l.show, l.now); as != "" {
				l.end(o, as, l.decision)
			}
		}
	}
}

// live is the opening as a decision reads it: waves that are over are left out.
func (o *fakeOpening) live(now time.Time) *LiveOpening {
	live := &LiveOpening{Opening: o.Opening}
	if o.Adjacent {
		live.FreeSeats = o.freeSeats()
	}
	for i := range o.waves {
		w := o.waves[i]
		live.LastEmpty = w.Size == 0
		if w.Closed(now) == w.Size {
			continue
		}
		w.Acted = map[int64]bool{}
		for no := range o.acts {
			w.Acted[no] = true
		}
		live.Waves = append(live.Waves, w)
	}
	return live
}

func (l *fakeLine) situation() *Situation {
	s := &Situation{Now: l.now, Show: &l.show, Decision: l.decision + 1, PaceAt: l.paceAt, LineEnd: l.tail}
	for _, o := range l.openings {
		if o.State == OpeningOpen {
			s.Openings = append(s.Openings, o.live(l.now))
		}
	}
	return s
}

// decide makes one decision and applies it.
func (l *fakeLine) decide() (*Plan, error) {
	l.settle()
	plan, err := Decide(context.Background(), l.situation(), l)
	if err == nil {
		l.apply(plan)
	}
	return plan, err
}

func (l *fakeLine) apply(p *Plan) {
	for _, no := range p.Exhausted {
		l.end(l.openings[no-1], OpeningExhausted, l.decision)
	}
	l.decision++
	l.paceAt = p.PaceAt
	for _, pw := range p.Waves {
		o := l.openings[pw.Wave.OpeningNo-1]
		o.Given = pw.Given
		for _, m := range pw.Marks {
			o.marks[m.Group] = m
		}
		wave := LiveWave{Wave: pw.Wave, Members: pw.Members}
		if pw.Wave.N <= len(o.waves) {
			o.waves[pw.Wave.N-1] = wave
		} else {
			o.waves = append(o.waves, wave)
		}
		o.Opening.Waves = len(o.waves)
	}
}

// The Source of a decision.

func (l *fakeLine) sorted(ok func(*Entry) bool) []Candidate {
	var cs []Candidate
	for _, e := range l.entries {
		if ok(e) {
			cs = append(cs, Candidate{EntryNo: e.No, FanNo: e.FanNo, Place: e.Place, Group: Group{e.Tier, e.Party}})
		}
	}
	slices.SortFunc(cs, func(a, b Candidate) int { return cmp.Compare(a.Place, b.Place) })
	return cs
}

func (l *fakeLine) Groups(context.Context) ([]Group, error) {
	var gs []Group
	for _, c := range l.sorted((*Entry).Active) {
		if !slices.Contains(gs, c.Group) {
			gs = append(gs, c.Group)
		}
	}
	return gs, nil
}

func (l *fakeLine) Pages(_ context.Context, from []From, limit int) ([][]Candidate, error) {
	active := l.sorted((*Entry).Active)
	pages := make([][]Candidate, len(from))
	for i, f := range from {
		for _, c := range active {
			if c.Group == f.Group && c.Place >= f.Place && len(pages[i]) < limit {
				pages[i] = append(pages[i], c)
			}
		}
	}
	return pages, nil
}

func (l *fakeLine) Marks(_ context.Context, opening int64) ([]Mark, error) {
	var marks []Mark
	for _, m := range l.openings[opening-1].marks {
		marks = append(marks, m)
	}
	return marks, nil
}

func (l *fakeLine) Changed(_ context.Context, marks []Mark) ([]Candidate, error) {
	return l.sorted(func(e *Entry) bool {
		return e.Active() && slices.ContainsFunc(marks, func(m Mark) bool {
			return m.Group == Group{e.Tier, e.Party} && e.Place < m.Place && l.changedSince(e, m.Decision)
		})
	}), nil
}

// changedSince says whether the entry changed after the decision was made.
func (l *fakeLine) changedSince(e *Entry, decision int64) bool {
	return slices.ContainsFunc(l.log[e.No], func(c Change) bool { return c.Decision >= decision })
}

func (l *fakeLine) told(o *fakeOpening, no int64) bool {
	return slices.ContainsFunc(o.waves, func(w LiveWave) bool {
		return slices.ContainsFunc(w.Members, func(m Member) bool { return m.EntryNo == no })
	})
}

func (l *fakeLine) Told(_ context.Context, opening int64, entries []int64) (map[int64]bool, error) {
	asked := map[int64]bool{}
	for _, no := range entries {
		asked[no] = true
	}
	told := map[int64]bool{}
	for _, w := range l.openings[opening-1].waves {
		for _, m := range w.Members {
			if asked[m.EntryNo] {
				told[m.EntryNo] = true
			}
		}
	}
	return told, nil
}

func (l *fakeLine) Entries(_ context.Context, entries []int64) ([]Candidate, error) {
	return l.sorted(func(e *Entry) bool { return e.State == Waiting && slices.Contains(entries, e.No) }), nil
}

func (l *fakeLine) Holding(context.Context) ([]Candidate, error) {
	return l.sorted(func(e *Entry) bool { return e.State == Holding }), nil
}
