package waitlist

import (
	"cmp"
	"slices"
	"time"
)

// naive is the decision as the rules tell it in words: a walk over the whole line,
// entry by entry, without groups, pages or marks. It decides nothing; it says what
// Decide must have decided.
type naive struct {
	*fakeLine
	waves     []naiveWave
	exhausted []int64
	paceAt    time.Time
	busy      map[int64]bool
	// skipped holds why the entries walked past were not taken, by opening.
	skipped map[int64]map[int64]Reason
}

type naiveWave struct {
	opening      int64
	members      []Member
	opensAt      time.Time
	free, demand int
	walkedTo     int64
}

func (l *fakeLine) naive() *naive {
	n := &naive{fakeLine: l, paceAt: l.paceAt, busy: map[int64]bool{}, skipped: map[int64]map[int64]Reason{}}
	s := &l.show
	if s.PausedApp || s.PausedStaff || !l.now.Before(s.SalesClose()) ||
		s.Policy.QuietHours.At(l.now) || l.paceAt.Sub(l.now) > 250*time.Millisecond {
		return n
	}
	for _, e := range l.entries {
		for _, o := range l.openings {
			if t := l.telling(o, e); t != nil && o.Mode == ModeTurns && t.Live(l.now) {
				n.busy[e.No] = true
			}
		}
	}
	room := max(1, int(2*s.Policy.ReleasePerS/1000))
	for _, o := range l.openings {
		if o.State != OpeningOpen || o.Free == 0 {
			continue
		}
		if room == 0 {
			break
		}
		took, any := n.serve(o, room)
		if !any {
			break
		}
		room -= took
	}
	return n
}

// most is how many of room turns from opens on may open.
func (n *naive) most(opens time.Time, room int) int {
	for k := range room {
		at := opens.Add(time.Duration(int64(k)*1_000_000/int64(n.show.Policy.ReleasePerS)) * time.Millisecond)
		if !at.Before(n.show.SalesClose()) {
			return k
		}
		// Quiet at its moment or at a whole minute since the first.
		for m := opens; !m.After(at); m = m.Truncate(time.Minute).Add(time.Minute) {
			if n.show.Policy.QuietHours.At(m) {
				return k
			}
		}
	}
	return room
}

// serve walks the line for one opening. any is false when no turn may open.
func (n *naive) serve(o *fakeOpening, room int) (took int, any bool) {
	w := naiveWave{opening: o.No, opensAt: n.now.Truncate(time.Millisecond), free: o.Free, walkedTo: NoWalk}
	for w.opensAt.Before(n.paceAt) {
		w.opensAt = w.opensAt.Add(time.Millisecond)
	}
	most := n.most(w.opensAt, room)
	if most == 0 {
		return 0, false
	}
	if o.Adjacent {
		w.free = LongestRun(o.freeSeats())
	}
	live, turns := n.live(o, w.free)
	w.demand = max(0, int((int64(o.Free)*int64(o.FansPerSeat)+999)/1000)-live)
	if o.Mode == ModeTurns && w.demand == 0 {
		return 0, true
	}
	waits := n.walk(o, &w, most)
	if len(w.members) == 0 && turns == 0 && o.Held == 0 && !waits {
		n.exhausted = append(n.exhausted, o.No)
	}
	if len(w.members) > 0 {
		us := (int64(len(w.members))*1_000_000_000 + int64(n.show.Policy.ReleasePerS) - 1) / int64(n.show.Policy.ReleasePerS)
		n.paceAt = w.opensAt.Add(time.Duration(us) * time.Microsecond)
	}
	n.waves = append(n.waves, w)
	return len(w.members), true
}

// live sums the parties of the opening's live turns that can still fit, and counts
// its live turns.
func (n *naive) live(o *fakeOpening, fits int) (parties, turns int) {
	for _, e := range n.entries {
		t := n.telling(o, e)
		if t == nil || !t.Live(n.now) {
			continue
		}
		turns++
		if t.Party <= fits {
			parties += t.Party
		}
	}
	return parties, turns
}

// walk says, of an opening that took nobody, whether somebody skipped may come
// free for it.
func (n *naive) walk(o *fakeOpening, w *naiveWave, most int) (waits bool) {
	left := w.demand
	largest := func() int {
		if o.Mode == ModeEveryone {
			return w.free
		}
		return min(left, w.free)
	}
	told := map[int64]bool{}
	for _, e := range n.entries {
		told[e.No] = n.told(o, e.No)
	}
	done := func() bool { return len(w.members) == most || o.Mode == ModeTurns && left <= 0 }
	take := func(e *Entry, given bool) {
		w.members = append(w.members, Member{EntryNo: e.No, FanNo: e.FanNo, Place: e.Place, Party: e.Party, K: len(w.members), Given: given})
		told[e.No] = true
		if o.Mode == ModeTurns {
			left -= e.Party
			n.busy[e.No] = true
		}
	}
	for _, no := range o.Given {
		e := n.entry(no)
		if told[no] || e.State != Waiting || !o.Takes(e.Tier) {
			continue
		}
		if done() || e.Party > largest() || o.Mode == ModeTurns && n.busy[no] {
			waits = waits || e.Party <= w.free
			continue
		}
		take(e, true)
	}
	if done() {
		return waits
	}
	line := slices.Clone(n.entries)
	slices.SortFunc(line, func(a, b *Entry) int { return cmp.Compare(a.Place, b.Place) })
	reasons := map[int64]Reason{}
	n.skipped[o.No] = reasons
	for _, e := range line {
		if done() {
			return waits
		}
		if told[e.No] {
			continue
		}
		if r := n.unfit(o, e, largest()); r != "" {
			reasons[e.No] = r
			waits = waits || r == Busy && e.Party <= w.free
			continue
		}
		take(e, false)
		w.walkedTo = e.Place
	}
	if !done() {
		w.walkedTo = n.tail
	}
	return waits
}

func (n *naive) unfit(o *fakeOpening, e *Entry, largest int) Reason {
	switch {
	case e.State == Left || e.State == Bought:
		return HasLeft
	case e.State == Removed:
		return WasRemoved
	case !o.Takes(e.Tier):
		return TierMismatch
	case e.Party > largest:
		return PartyTooBig
	case e.Dormant:
		return IsDormant
	case e.State == Holding, o.Mode == ModeTurns && n.busy[e.No]:
		return Busy
	}
	return ""
}
