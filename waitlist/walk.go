package waitlist

import (
	"context"
	"slices"
)

// walk is one opening's walk down the line.
type walk struct {
	*decider
	o     *LiveOpening
	w     *Wave
	room  int // turns the wave may have
	left  int // of the demand
	given []int64
	taken []Member

	streams []*stream
	told    map[int64]bool // those checked
	// atEnd: the walk came to the end of the line.
	atEnd bool
	// waits: somebody was skipped as busy who could take the seats later.
	waits bool
}

// stream is one group's candidates for one opening: those changed before its
// mark, then the stretch from the mark on.
type stream struct {
	*stretch
	mark      *Mark // as it was
	changed   []Candidate
	i         int  // the next of changed, then of the stretch
	untold    bool // somebody was left untold
	untoldAt  int64
	passed    bool // somebody told was passed
	toldUntil int  // how many were checked
}

func (s *stream) peek() *Candidate {
	if s.i < len(s.changed) {
		return &s.changed[s.i]
	}
	if j := s.i - len(s.changed); j < len(s.entries) {
		return &s.entries[j]
	}
	return nil
}

func (s *stream) leave(c *Candidate) {
	if !s.untold {
		s.untold, s.untoldAt = true, c.Place
	}
}

func (k *walk) run(ctx context.Context) error {
	if err := k.takeGiven(ctx); err != nil {
		return err
	}
	if k.done() {
		return nil
	}
	if err := k.open(ctx); err != nil {
		return err
	}
	for !k.done() {
		s, err := k.nearest(ctx)
		if err != nil {
			return err
		}
		if s == nil {
			k.atEnd = true
			k.w.WalkedTo = k.LineEnd
			return nil
		}
		c := s.peek()
		s.i++
		switch {
		case k.told[c.EntryNo]:
			s.passed = true
		case k.o.Mode == ModeTurns && k.busy[c.EntryNo]:
			k.waits = true
			s.leave(c)
		default:
			k.take(c, false)
			k.w.WalkedTo = c.Place
		}
	}
	return nil
}

func (k *walk) done() bool {
	return len(k.taken) == k.room || k.o.Mode == ModeTurns && k.left <= 0
}

func (k *walk) take(c *Candidate, given bool) {
	k.taken = append(k.taken, Member{
		EntryNo: c.EntryNo, FanNo: c.FanNo, Place: c.Place, Party: c.Party, K: len(k.taken), Given: given,
	})
	if k.o.Mode == ModeTurns {
		k.left -= c.Party
		k.busy[c.EntryNo] = true
	}
}

// largest is the largest party that may still be taken.
func (k *walk) largest() int {
	if k.o.Mode == ModeEveryone {
		return k.w.Free
	}
	return min(k.left, k.w.Free)
}

// takeGiven serves the entries that staff gave the next turn. One that is busy or
// does not fit now keeps its turn for a later decision; one that left or was told
// has lost it.
func (k *walk) takeGiven(ctx context.Context) error {
	if len(k.given) == 0 {
		return nil
	}
	told, err := k.src.Told(ctx, k.o.No, k.given)
	if err != nil {
		return err
	}
	waiting, err := k.src.Entries(ctx, k.given)
	if err != nil {
		return err
	}
	byNo := map[int64]*Candidate{}
	for i := range waiting {
		byNo[waiting[i].EntryNo] = &waiting[i]
	}
	k.given = slices.DeleteFunc(k.given, func(no int64) bool {
		c := byNo[no]
		switch {
		case told[no] || c == nil || !k.o.Takes(c.Tier):
			return true
		case k.done() || c.Party > k.largest() || k.o.Mode == ModeTurns && k.busy[no]:
			k.waits = k.waits || c.Party <= k.w.Free
			return false
		}
		k.take(c, true)
		delete(byNo, no) // given twice, it is served once
		return true
	})
	return nil
}

// open sets up the streams of the groups that may fit, each from its mark.
func (k *walk) open(ctx context.Context) error {
	groups, err := k.line.all(ctx)
	if err != nil {
		return err
	}
	marks := map[Group]*Mark{}
	var changed []Candidate
	if k.o.Opening.Waves > 0 {
		list, err := k.src.Marks(ctx, k.o.No)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			if changed, err = k.src.Changed(ctx, list); err != nil {
				return err
			}
		}
		for i := range list {
			marks[list[i].Group] = &list[i]
		}
	}
	for _, g := range groups {
		if !k.o.Takes(g.Tier) || g.Party > k.largest() {
			continue
		}
		s := &stream{mark: marks[g]}
		from := From{g, FirstPlace}
		if s.mark != nil {
			from.Place = s.mark.Place
			for _, c := range changed {
				if c.Group == g && c.Place < from.Place {
					s.changed = append(s.changed, c)
				}
			}
		}
		s.stretch = k.line.stretch(from)
		k.streams = append(k.streams, s)
	}
	k.told = map[int64]bool{}
	for _, m := range k.taken {
		k.told[m.EntryNo] = true // given turns, which the line must not give again
	}
	return nil
}

// nearest is the stream whose next candidate stands first in the line, among the
// groups that still fit; nil at the end of the line.
func (k *walk) nearest(ctx context.Context) (*stream, error) {
	var short []*stretch
	for _, s := range k.streams {
		if s.from.Party <= k.largest() && s.peek() == nil && !s.end {
			short = append(short, s.stretch)
		}
	}
	if len(short) > 0 {
		if err := k.line.more(ctx, short); err != nil {
			return nil, err
		}
	}
	var best *stream
	for _, s := range k.streams {
		c := s.peek()
		if s.from.Party > k.largest() || c == nil {
			continue
		}
		if best == nil || c.Place < best.peek().Place {
			best = s
		}
	}
	if best == nil {
		return nil, nil
	}
	return best, k.check(ctx)
}

// check finds out which of the candidates read so far were told already.
func (k *walk) check(ctx context.Context) error {
	if k.o.Opening.Waves == 0 {
		return nil // nobody was
	}
	var ask []int64
	for _, s := range k.streams {
		for n := len(s.changed) + len(s.entries); s.toldUntil < n; s.toldUntil++ {
			if j := s.toldUntil - len(s.changed); j < 0 {
				ask = append(ask, s.changed[s.toldUntil].EntryNo)
			} else {
				ask = append(ask, s.entries[j].EntryNo)
			}
		}
	}
	if len(ask) == 0 {
		return nil
	}
	told, err := k.src.Told(ctx, k.o.No, ask)
	for no := range told {
		k.told[no] = true
	}
	return err
}

// marks are the new marks of the groups that were walked: the first entry left
// untold, or the first not looked at.
func (k *walk) marks() []Mark {
	var marks []Mark
	for _, s := range k.streams {
		place := k.LineEnd + 1
		if c := s.peek(); c != nil {
			place = c.Place
		} else if !s.end {
			place = s.next
		}
		if s.untold {
			place = min(place, s.untoldAt)
		}
		if s.mark == nil && !s.passed {
			continue // nothing gained yet
		}
		marks = append(marks, Mark{Group: s.from.Group, Place: place, Decision: k.Decision})
	}
	return marks
}

// someoneMayComeFree says whether an entry that is busy or holding now, and not
// yet told of the opening, could take its seats later.
func (k *walk) someoneMayComeFree(ctx context.Context) (bool, error) {
	if k.waits {
		return true, nil
	}
	holding, err := k.src.Holding(ctx)
	if err != nil {
		return false, err
	}
	var fit []int64
	for _, c := range holding {
		if k.o.Takes(c.Tier) && c.Party <= k.w.Free {
			fit = append(fit, c.EntryNo)
		}
	}
	if len(fit) == 0 {
		return false, nil
	}
	told, err := k.src.Told(ctx, k.o.No, fit)
	return len(told) < len(fit), err
}
