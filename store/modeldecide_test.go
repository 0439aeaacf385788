package store_test

import (
	"slices"
	"time"

	"fanline/waitlist"
)

// decide lets time take effect and makes the next waves. It says what came of it.
func (m *model) decide() (made []string) {
	made = slices.Concat(m.lapseHolds(), m.countMisses(), m.endOpenings())
	if m.pausedApp || m.pausedStaff || !m.now.Before(m.close) || m.paceAt.Sub(m.now) > 250*time.Millisecond {
		return made
	}
	room := max(1, int(2*m.policy.ReleasePerS/1000))
	for _, o := range m.openings {
		if room == 0 {
			break
		}
		if o.state != waitlist.OpeningOpen || o.count("free") == 0 {
			continue
		}
		n, ended, stop := m.serve(o, room)
		room -= n
		if n > 0 || ended {
			made = append(made, o.id+" told or exhausted")
		}
		if stop {
			break
		}
	}
	return append(made, m.handBack()...)
}

func (m *model) lapseHolds() (made []string) {
	for _, o := range m.openings {
		for fan, c := range o.claims {
			if c.state == waitlist.ClaimHeld && !m.now.Before(c.expiry) {
				m.endClaim(o, fan, waitlist.ClaimLapsed)
				e := m.entry(fan)
				e.state = waitlist.Waiting
				m.miss(e)
				made = append(made, "hold of "+fan+" lapsed")
			}
		}
	}
	return made
}

func (m *model) miss(e *mEntry) {
	if e.state != waitlist.Waiting {
		return
	}
	e.missed++
	if m.policy.MaxMissed > 0 && e.missed >= m.policy.MaxMissed {
		e.dormant = true
	}
}

// countMisses looks once at each turn that closed by time before its opening
// ended.
func (m *model) countMisses() (made []string) {
	for _, o := range m.openings {
		if o.mode != waitlist.ModeTurns {
			continue
		}
		for fan, t := range o.turns {
			if t.counted || m.now.Before(t.closes) || o.state != waitlist.OpeningOpen && t.closes.After(o.finalAt) {
				continue
			}
			t.counted = true
			if t.act == "" && t.opens.Before(t.closes) && (o.state == waitlist.OpeningOpen || t.opens.Before(o.finalAt)) {
				m.miss(m.entry(fan))
				made = append(made, fan+" missed "+o.id)
			}
		}
	}
	return made
}

func (m *model) endOpenings() (made []string) {
	for _, o := range m.openings {
		if o.state != waitlist.OpeningOpen {
			continue
		}
		live := slices.ContainsFunc(m.entries, func(e *mEntry) bool {
			t := o.turns[e.fan]
			return t != nil && m.live(o, t)
		})
		switch {
		case o.count("confirmed") == len(o.seats):
			m.end(o, waitlist.OpeningFilled)
			made = append(made, o.id+" filled")
		case !m.now.Before(m.close) && !live && o.count("held") == 0:
			m.end(o, waitlist.OpeningExhausted)
			made = append(made, o.id+" exhausted")
		}
	}
	return append(made, m.handBack()...)
}

// handBack hands the free seats of final openings back, once, when no hold stands
// on them.
func (m *model) handBack() (made []string) {
	for _, o := range m.openings {
		if o.state == waitlist.OpeningOpen || o.handedBack || o.count("held") > 0 {
			continue
		}
		o.handedBack = true
		var r mReturn
		for i := range o.seats {
			if s := &o.seats[i]; s.state == "free" {
				s.state = "returned"
				r.quantity++
				if o.labelled {
					r.labels = append(r.labels, s.label)
				}
			}
		}
		if r.quantity > 0 {
			o.returned = append(o.returned, r)
			made = append(made, o.id+" handed back")
		}
	}
	return made
}

// mWalk is one opening's walk down the line.
type mWalk struct {
	m          *model
	o          *mOpening
	room, left int
	fits       int
	fans       []string
	skipped    map[waitlist.Reason]int
	givenWait  bool // somebody staff chose has to wait, and could take the seats
	atEnd      bool
}

// serve walks the line for one opening. stop says that the close of sales leaves
// no room for more.
func (m *model) serve(o *mOpening, room int) (n int, ended, stop bool) {
	opens := m.now.Truncate(time.Millisecond)
	for opens.Before(m.paceAt) {
		opens = opens.Add(time.Millisecond)
	}
	most := 0
	for most < room && m.opensAt(opens, most).Before(m.close) {
		most++
	}
	if most == 0 {
		return 0, false, true
	}
	w := &mWalk{m: m, o: o, room: most, fits: o.fits()}
	w.left = (o.count("free")*int(o.perSeat) + 999) / 1000
	anyLive := false
	for _, t := range o.turns {
		if m.live(o, t) {
			anyLive = true
			if t.party <= w.fits {
				w.left -= t.party
			}
		}
	}
	if o.mode == waitlist.ModeTurns && w.left <= 0 {
		return 0, false, false
	}
	w.skipped = map[waitlist.Reason]int{}
	w.walk()
	m.tell(o, w.fans, opens)
	if len(w.fans) > 0 {
		o.skipped = append(o.skipped, w.skipped)
	}
	if len(w.fans) == 0 && !anyLive && o.count("held") == 0 && !w.someoneWaited() {
		m.end(o, waitlist.OpeningExhausted)
		ended = true
	}
	return len(w.fans), ended, len(w.fans) == most && most < room && !w.atEnd && (o.mode == waitlist.ModeEveryone || w.left > 0)
}

func (m *model) opensAt(first time.Time, k int) time.Time {
	return first.Add(time.Duration(k*1_000_000/int(m.policy.ReleasePerS)) * time.Millisecond)
}

// tell gives turns to fans, at the pace.
func (m *model) tell(o *mOpening, fans []string, opens time.Time) {
	if len(fans) == 0 {
		return
	}
	o.waves = append(o.waves, fans)
	for k, fan := range fans {
		t := &mTurn{opens: m.opensAt(opens, k), party: m.entry(fan).party}
		t.closes = t.opens.Add(o.window)
		if m.close.Before(t.closes) {
			t.closes = m.close
		}
		o.turns[fan] = t
	}
	us := (len(fans)*1_000_000_000 + int(m.policy.ReleasePerS) - 1) / int(m.policy.ReleasePerS)
	m.paceAt = opens.Add(time.Duration(us) * time.Microsecond)
}

func (w *mWalk) done() bool {
	return len(w.fans) == w.room || w.o.mode == waitlist.ModeTurns && w.left <= 0
}

func (w *mWalk) largest() int {
	if w.o.mode == waitlist.ModeEveryone {
		return w.fits
	}
	return min(w.left, w.fits)
}

func (w *mWalk) busy(fan string) bool {
	if w.o.mode == waitlist.ModeEveryone {
		return false
	}
	_, busy := w.m.liveTurns(fan)
	return busy > 0 || slices.Contains(w.fans, fan)
}

func (w *mWalk) take(e *mEntry) {
	w.fans = append(w.fans, e.fan)
	if w.o.mode == waitlist.ModeTurns {
		w.left -= e.party
	}
}

func (w *mWalk) told(fan string) bool { return w.o.turns[fan] != nil || slices.Contains(w.fans, fan) }

func (w *mWalk) walk() {
	w.takeGiven()
	for _, e := range w.m.line() {
		if w.done() {
			return
		}
		if w.told(e.fan) {
			continue
		}
		r := w.why(e)
		if r == "" {
			w.take(e)
			continue
		}
		w.o.skips[e.fan] = r
		if e.state.InLine() {
			w.skipped[r]++
		}
	}
	w.atEnd = !w.done()
}

func (w *mWalk) takeGiven() {
	var wait []string
	for _, fan := range w.o.given {
		e := w.m.entry(fan)
		switch {
		case w.told(fan), e.state != waitlist.Waiting, !w.o.takes(e.tier):
		case w.done(), e.party > w.largest(), w.busy(fan):
			wait = append(wait, fan)
			w.givenWait = w.givenWait || e.party <= w.fits
		default:
			w.take(e)
		}
	}
	w.o.given = wait
}

// why an entry is skipped, or "".
func (w *mWalk) why(e *mEntry) waitlist.Reason {
	switch {
	case e.state == waitlist.Left, e.state == waitlist.Bought:
		return waitlist.HasLeft
	case e.state == waitlist.Removed:
		return waitlist.WasRemoved
	case !w.o.takes(e.tier):
		return waitlist.TierMismatch
	case e.party > w.largest():
		return waitlist.PartyTooBig
	case e.dormant:
		return waitlist.IsDormant
	case e.state == waitlist.Holding, w.busy(e.fan):
		return waitlist.Busy
	}
	return ""
}

// someoneWaited says whether anybody in line could take the seats later.
func (w *mWalk) someoneWaited() bool {
	return w.givenWait || slices.ContainsFunc(w.m.entries, func(e *mEntry) bool {
		return e.state.InLine() && !e.dormant && !w.told(e.fan) && w.o.takes(e.tier) && e.party <= w.fits
	})
}
