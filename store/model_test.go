package store_test

import (
	"cmp"
	"slices"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

// model is one show's line as the rules tell it in words: everything is sorted,
// walked and counted anew each time, with no marks, groups or decision numbers.
// Calls change it at once; time takes effect in decide alone (modeldecide_test.go).
type model struct {
	now                    time.Time
	close                  time.Time // of sales
	policy                 waitlist.Policy
	paceAt                 time.Time
	pausedApp, pausedStaff bool
	entries                []*mEntry // all who ever joined
	tail, front            int64     // the next places
	openings               []*mOpening
	announcements          []mAnnouncement
}

type mEntry struct {
	fan     string
	place   int64
	prev    *int64
	party   int
	tier    string
	state   waitlist.State
	dormant bool
	missed  int

	read       map[string]bool // items marked read
	readBefore time.Time
}

func (e *mEntry) active() bool { return e.state == waitlist.Waiting && !e.dormant }

type mOpening struct {
	no       int64
	id, tier string
	mode     waitlist.Mode
	perSeat  waitlist.Milli
	window   time.Duration
	hold     time.Duration
	adjacent bool
	labelled bool
	seats    []mSeat
	state    waitlist.OpeningState
	finalAt  time.Time
	// ended is the line at the opening's end.
	ended      map[string]waitlist.State
	given      []string
	waves      [][]string
	skipped    []map[waitlist.Reason]int // by each wave, of those in line
	turns      map[string]*mTurn
	skips      map[string]waitlist.Reason // of the last decision that walked past
	claims     map[string]*mClaim
	handedBack bool
	returned   []mReturn
}

type mSeat struct {
	label string
	state string
	by    string // whose hold or purchase
}

type mReturn struct {
	quantity int
	labels   []string
}

type mTurn struct {
	opens, closes time.Time
	party         int
	act           waitlist.ActState // "" while nobody acted
	actAt         time.Time
	counted       bool // looked at for a miss
}

type mClaim struct {
	id         string
	seats      int
	labels     []string
	state      waitlist.ClaimState
	at, expiry time.Time
	ended      time.Time
	gaveUp     waitlist.ActState // with the place in line
}

func (c *mClaim) stands(now time.Time) bool {
	return c.state == waitlist.ClaimConfirmed || c.state == waitlist.ClaimHeld && now.Before(c.expiry)
}

func (o *mOpening) count(state string) (n int) {
	for _, s := range o.seats {
		if s.state == state {
			n++
		}
	}
	return n
}

// fits is the largest party that the free seats can serve.
func (o *mOpening) fits() int {
	if !o.adjacent {
		return o.count("free")
	}
	best, run := 0, 0
	for _, s := range o.seats {
		run++
		if s.state != "free" {
			run = 0
		}
		best = max(best, run)
	}
	return best
}

func (o *mOpening) takes(tier string) bool { return o.tier == "" || tier == "" || tier == o.tier }

// phase is where a turn stands: never, upcoming, open or over.
func (m *model) phase(o *mOpening, t *mTurn) waitlist.Phase {
	final := o.state != waitlist.OpeningOpen
	switch {
	case !t.opens.Before(t.closes), final && !t.opens.Before(o.finalAt):
		return waitlist.PhaseNever
	case t.act != "" && t.actAt.Before(t.opens):
		if m.now.Before(t.opens) {
			return waitlist.PhaseOver
		}
		return waitlist.PhaseNever
	case t.act != "", final, !m.now.Before(t.closes):
		return waitlist.PhaseOver
	case m.now.Before(t.opens):
		return waitlist.PhaseUpcoming
	}
	return waitlist.PhaseOpen
}

func (m *model) live(o *mOpening, t *mTurn) bool {
	p := m.phase(o, t)
	return p == waitlist.PhaseUpcoming || p == waitlist.PhaseOpen
}

// shown says whether the fan has an item for the turn.
func (m *model) shown(o *mOpening, t *mTurn) bool {
	p := m.phase(o, t)
	return p == waitlist.PhaseOpen || p == waitlist.PhaseOver && !m.now.Before(t.opens)
}

// cutShort: the opening's end took the turn while it was open.
func (o *mOpening) cutShort(t *mTurn) bool {
	return o.state != waitlist.OpeningOpen && t.act == "" && t.opens.Before(o.finalAt) && o.finalAt.Before(t.closes)
}

// liveTurns are an entry's, in all openings.
func (m *model) liveTurns(fan string) (live []*mTurn, turnsMode int) {
	for _, o := range m.openings {
		if t := o.turns[fan]; t != nil && m.live(o, t) {
			live = append(live, t)
			if o.mode == waitlist.ModeTurns {
				turnsMode++
			}
		}
	}
	return live, turnsMode
}

func (m *model) entry(fan string) *mEntry {
	for _, e := range m.entries {
		if e.fan == fan {
			return e
		}
	}
	return nil
}

// line is everybody, by place.
func (m *model) line() []*mEntry {
	l := slices.Clone(m.entries)
	slices.SortFunc(l, func(a, b *mEntry) int { return cmp.Compare(a.place, b.place) })
	return l
}

func (m *model) position(e *mEntry) (n int64) {
	if !e.active() {
		return 0
	}
	for _, x := range m.entries {
		if x.active() && x.place <= e.place {
			n++
		}
	}
	return n
}

// heldBy is the opening on which a fan holds, with the claim.
func (m *model) heldBy(fan string) (*mOpening, *mClaim) {
	for _, o := range m.openings {
		if c := o.claims[fan]; c != nil && c.state == waitlist.ClaimHeld {
			return o, c
		}
	}
	return nil, nil
}

// end makes an opening final and remembers the line.
func (m *model) end(o *mOpening, as waitlist.OpeningState) {
	o.state, o.finalAt, o.ended = as, m.now, map[string]waitlist.State{}
	for _, e := range m.entries {
		o.ended[e.fan] = e.state
	}
}

// endTurns ends an entry's live turns by an act.
func (m *model) endTurns(fan string, act waitlist.ActState) {
	live, _ := m.liveTurns(fan)
	for _, t := range live {
		t.act, t.actAt = act, m.now
	}
}

func (m *model) endClaim(o *mOpening, fan string, as waitlist.ClaimState) {
	c := o.claims[fan]
	c.state, c.ended = as, m.now
	to, by := "free", ""
	if as == waitlist.ClaimConfirmed {
		to, by = "confirmed", fan
	}
	for i := range o.seats {
		if s := &o.seats[i]; s.by == fan && s.state == "held" {
			s.state, s.by = to, by
		}
	}
}

// verdict is a fan's with an opening.
func (m *model) verdict(o *mOpening, fan string) (waitlist.VerdictState, waitlist.Reason) {
	e := m.entry(fan)
	if e == nil {
		return waitlist.VerdictNone, waitlist.NotOnList
	}
	if c := o.claims[fan]; c != nil {
		return c.verdict(m.now)
	}
	state := waitlist.VerdictNone
	if o.state == waitlist.OpeningOpen && e.state.InLine() {
		state = waitlist.VerdictWaiting
	}
	if t := o.turns[fan]; t != nil {
		if s, r := m.turnVerdict(o, t); r != "" {
			return s, r
		}
	} else if r := o.skips[fan]; r != "" {
		return state, r
	}
	r := m.untouched(o, e)
	if r == waitlist.NotOnList || r == waitlist.SalesClosed {
		state = waitlist.VerdictNone
	}
	return state, r
}

func (c *mClaim) verdict(now time.Time) (waitlist.VerdictState, waitlist.Reason) {
	switch {
	case c.state == waitlist.ClaimConfirmed:
		return waitlist.VerdictClaimed, waitlist.IsConfirmed
	case c.gaveUp == waitlist.ActLeft:
		return waitlist.VerdictOver, waitlist.HasLeft
	case c.gaveUp == waitlist.ActRemoved:
		return waitlist.VerdictOver, waitlist.WasRemoved
	case c.state == waitlist.ClaimReleased:
		return waitlist.VerdictOver, waitlist.HoldReleased
	case !c.stands(now):
		return waitlist.VerdictOver, waitlist.HoldLapsed
	}
	return waitlist.VerdictClaimed, waitlist.IsClaimed
}

func (m *model) turnVerdict(o *mOpening, t *mTurn) (waitlist.VerdictState, waitlist.Reason) {
	switch t.act {
	case waitlist.ActDeclined:
		return waitlist.VerdictOver, waitlist.TurnDeclined
	case waitlist.ActRemoved:
		return waitlist.VerdictOver, waitlist.WasRemoved
	case waitlist.ActLeft, waitlist.ActBought:
		return waitlist.VerdictOver, waitlist.HasLeft
	}
	switch p := m.phase(o, t); {
	case p == waitlist.PhaseUpcoming:
		return waitlist.VerdictUpcoming, waitlist.TurnUpcoming
	case p == waitlist.PhaseOpen:
		return waitlist.VerdictOpen, waitlist.TurnOpen
	case p == waitlist.PhaseOver && o.cutShort(t):
		return waitlist.VerdictOver, waitlist.Reason(o.state)
	case p == waitlist.PhaseOver:
		return waitlist.VerdictOver, waitlist.TurnLapsed
	}
	return "", ""
}

// untouched is the reason for an entry that no decision walked past.
func (m *model) untouched(o *mOpening, e *mEntry) waitlist.Reason {
	state, known := e.state, true
	if o.state != waitlist.OpeningOpen {
		state, known = o.ended[e.fan]
	}
	switch {
	case !known:
		return waitlist.NotOnList
	case state == waitlist.Left, state == waitlist.Bought:
		return waitlist.HasLeft
	case state == waitlist.Removed:
		return waitlist.WasRemoved
	case o.state != waitlist.OpeningOpen:
		return waitlist.Reason(o.state)
	case !m.now.Before(m.close):
		return waitlist.SalesClosed
	case m.pausedApp || m.pausedStaff:
		return waitlist.IsPaused
	case state == waitlist.Holding:
		return waitlist.Busy
	case e.dormant:
		return waitlist.IsDormant
	}
	return waitlist.Behind
}

// mAnnouncement is a message to those in line at its moment.
type mAnnouncement struct {
	id string
	at time.Time
	to map[string]bool // fans
}

func (m *model) announce(id string) {
	a := mAnnouncement{id: id, at: m.now, to: map[string]bool{}}
	for _, e := range m.entries {
		a.to[e.fan] = e.state.InLine()
	}
	m.announcements = append(m.announcements, a)
}

// mItem is an item of a fan's inbox.
type mItem struct {
	State  notifier.TurnState
	At     time.Time
	Unread bool
}

// items are a fan's, by id, whatever the strategy.
func (m *model) items(e *mEntry) map[string]mItem {
	items := map[string]mItem{}
	put := func(id string, state notifier.TurnState, at time.Time) {
		at = at.Truncate(time.Millisecond)
		items[id] = mItem{state, at, !e.read[id] && !at.Before(e.readBefore)}
	}
	for _, a := range m.announcements {
		if a.to[e.fan] {
			put(notifier.AnnouncementID("s", a.id), "", a.at)
		}
	}
	for _, o := range m.openings {
		t, c := o.turns[e.fan], o.claims[e.fan]
		result := notifier.ResultID("s", o.id)
		if c != nil && (c.state == waitlist.ClaimConfirmed || c.state == waitlist.ClaimLapsed) {
			put(result, notifier.TurnState(c.state), c.ended)
		}
		if t == nil || !m.shown(o, t) {
			continue
		}
		state := notifier.StateOver
		switch {
		case c != nil && c.stands(m.now):
			state = notifier.StateClaimed
		case m.phase(o, t) == waitlist.PhaseOpen:
			state = notifier.StateOpen
		}
		put(notifier.TurnID("s", o.id), state, t.opens)
		if o.cutShort(t) && o.state != waitlist.OpeningExhausted {
			put(result, notifier.TurnState(o.state), o.finalAt)
		}
	}
	return items
}
