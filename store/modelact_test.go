package store_test

import (
	"slices"
	"time"

	"fanline/waitlist"
)

// ok is the code of a call that is not refused.
const ok waitlist.Code = ""

func (m *model) join(j waitlist.Join) (isNew bool) {
	e := m.entry(j.FanID)
	switch {
	case e == nil:
		e = &mEntry{fan: j.FanID, read: map[string]bool{}}
		m.entries = append(m.entries, e)
	case e.state.InLine():
		m.wake(j.FanID)
		return false
	default:
		was := e.place
		e.prev = &was
	}
	m.tail++
	e.place, e.party, e.tier, e.state = m.tail, j.Party, j.Tier, waitlist.Waiting
	e.dormant, e.missed = false, 0
	return true
}

// wake is a look: it lowers nothing for one who is awake.
func (m *model) wake(fan string) {
	if e := m.entry(fan); e != nil && e.dormant {
		e.dormant, e.missed = false, 0
	}
}

func (m *model) leave(fan string, as waitlist.State) {
	e := m.entry(fan)
	if e == nil || !e.state.InLine() {
		return
	}
	act := waitlist.ActLeft
	if as == waitlist.Removed {
		act = waitlist.ActRemoved
	}
	m.endTurns(fan, act)
	if o, c := m.heldBy(fan); c != nil {
		if c.stands(m.now) {
			m.endClaim(o, fan, waitlist.ClaimReleased)
			c.gaveUp = act
		} else {
			m.endClaim(o, fan, waitlist.ClaimLapsed)
		}
	}
	e.state = as
}

func (m *model) change(fan string, c waitlist.EntryChange) waitlist.Code {
	e := m.entry(fan)
	if e == nil {
		return waitlist.NotFound
	}
	if !e.state.InLine() {
		return waitlist.Conflict
	}
	if c.Party != nil && *c.Party != e.party || c.Tier != nil && *c.Tier != e.tier {
		if live, _ := m.liveTurns(fan); len(live) > 0 || e.state == waitlist.Holding {
			return waitlist.Conflict
		}
	}
	if c.Move == waitlist.MoveRestore && e.prev == nil {
		return waitlist.Conflict
	}
	if c.Party != nil {
		e.party = *c.Party
	}
	if c.Tier != nil {
		e.tier = *c.Tier
	}
	switch c.Move {
	case waitlist.MoveFront:
		was := e.place
		e.prev, e.place = &was, m.front
		m.front--
	case waitlist.MoveRestore:
		e.place, e.prev = *e.prev, nil
	}
	return ok
}

func (m *model) record(n waitlist.NewOpening) waitlist.Code {
	for _, o := range m.openings {
		for _, s := range o.seats {
			if s.label != "" && slices.Contains(n.Seats, s.label) && (s.state == "free" || s.state == "held") {
				return waitlist.Conflict
			}
		}
	}
	p := n.Policy.Over(m.policy)
	o := &mOpening{
		id: n.ID, tier: n.Tier, mode: p.Mode, perSeat: p.FansPerSeat, window: p.Window(), hold: p.Hold(),
		adjacent: n.Adjacent, labelled: len(n.Seats) > 0, state: waitlist.OpeningOpen,
		turns: map[string]*mTurn{}, skips: map[string]waitlist.Reason{}, claims: map[string]*mClaim{},
	}
	o.seats = make([]mSeat, n.Size())
	for i := range o.seats {
		o.seats[i].state = "free"
		if o.labelled {
			o.seats[i].label = n.Seats[i]
		}
	}
	m.openings = append(m.openings, o)
	return ok
}

func (m *model) cancel(o *mOpening) waitlist.Code {
	switch o.state {
	case waitlist.OpeningOpen:
		m.end(o, waitlist.OpeningCancelled)
	case waitlist.OpeningCancelled:
	default:
		return waitlist.Conflict
	}
	return ok
}

func (m *model) give(o *mOpening, fan string) waitlist.Code {
	e := m.entry(fan)
	if e == nil {
		return waitlist.NotFound
	}
	_, busy := m.liveTurns(fan)
	switch {
	case o.state != waitlist.OpeningOpen, e.state != waitlist.Waiting, !o.takes(e.tier), o.turns[fan] != nil,
		e.party > len(o.seats)-o.count("confirmed"), o.adjacent && e.party > o.fits(),
		o.mode == waitlist.ModeTurns && busy > 0:
		return waitlist.Conflict
	}
	if !slices.Contains(o.given, fan) {
		o.given = append(o.given, fan)
	}
	return ok
}

func (m *model) decline(o *mOpening, fan string) waitlist.Code {
	t := o.turns[fan]
	switch {
	case t == nil:
		return waitlist.NotYourTurn
	case t.act == waitlist.ActDeclined:
		return ok
	case t.act == waitlist.ActClaimed:
		return waitlist.AlreadyClaimed
	}
	switch m.phase(o, t) {
	case waitlist.PhaseNever, waitlist.PhaseUpcoming:
		return waitlist.NotYourTurn
	case waitlist.PhaseOver:
		return waitlist.TurnOver
	}
	t.act, t.actAt = waitlist.ActDeclined, m.now
	e := m.entry(fan)
	e.dormant, e.missed = false, 0
	return ok
}

// claim holds a party's seats. The claim that stands is returned with isNew false.
func (m *model) claim(o *mOpening, fan string) (c *mClaim, isNew bool, code waitlist.Code) {
	e, t := m.entry(fan), o.turns[fan]
	own := o.claims[fan]
	switch {
	case own != nil && own.stands(m.now):
		return own, false, ok
	case o.state == waitlist.OpeningCancelled:
		return nil, false, waitlist.Closed
	case own != nil:
		return nil, false, waitlist.TurnOver
	case e != nil && (e.state == waitlist.Holding || e.state == waitlist.Bought):
		return nil, false, waitlist.AlreadyClaimed
	case o.state == waitlist.OpeningFilled:
		return nil, false, waitlist.Filled
	case t == nil:
		return nil, false, waitlist.NotYourTurn
	}
	switch p := m.phase(o, t); {
	case p == waitlist.PhaseNever, p == waitlist.PhaseUpcoming:
		return nil, false, waitlist.NotYourTurn
	case p == waitlist.PhaseOver:
		return nil, false, waitlist.TurnOver
	case e.party > len(o.seats)-o.count("confirmed"):
		return nil, false, waitlist.Filled
	case e.party > o.fits():
		return nil, false, waitlist.AllHeld
	}
	c = &mClaim{seats: e.party, state: waitlist.ClaimHeld, at: m.now, expiry: m.now.Add(o.hold).Truncate(time.Millisecond)}
	o.claims[fan] = c
	for _, i := range o.take(e.party) {
		s := &o.seats[i]
		s.state, s.by = "held", fan
		if o.labelled {
			c.labels = append(c.labels, s.label)
		}
	}
	t.act, t.actAt = waitlist.ActClaimed, m.now
	e.state, e.dormant, e.missed = waitlist.Holding, false, 0
	return c, true, ok
}

// take picks seats: the lowest free ones, or the first run of them.
func (o *mOpening) take(n int) (picked []int) {
	for i := range o.seats {
		switch {
		case o.seats[i].state == "free":
			picked = append(picked, i)
		case o.adjacent:
			picked = nil
		}
		if len(picked) == n {
			break
		}
	}
	return picked
}

// settle ends a claim by its owner's wish.
func (m *model) settle(o *mOpening, fan string, as waitlist.ClaimState) waitlist.Code {
	c := o.claims[fan]
	switch {
	case c.state == as:
		return ok
	case c.state == waitlist.ClaimConfirmed:
		return waitlist.Conflict
	case !c.stands(m.now):
		return waitlist.TurnOver
	}
	m.endClaim(o, fan, as)
	e := m.entry(fan)
	e.state = waitlist.Waiting
	if as == waitlist.ClaimConfirmed {
		e.state = waitlist.Bought
		m.endTurns(fan, waitlist.ActBought)
	}
	return ok
}

func (m *model) extend(o *mOpening, fan string, by time.Duration) waitlist.Code {
	c := o.claims[fan]
	switch {
	case c.state == waitlist.ClaimConfirmed:
		return waitlist.Conflict
	case !c.stands(m.now):
		return waitlist.TurnOver
	case c.expiry.Add(by).After(c.at.Add(2 * o.hold)):
		return waitlist.Conflict
	}
	c.expiry = c.expiry.Add(by)
	return ok
}

// closeSales moves the close of sales; a nearer one ends live turns earlier.
func (m *model) closeSales(at time.Time) {
	if at.Before(m.close) {
		for _, o := range m.openings {
			for _, t := range o.turns {
				if last := later(at, m.now.Add(time.Microsecond)); last.Before(t.closes) {
					t.closes = last
				}
			}
		}
	}
	m.close = at
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
