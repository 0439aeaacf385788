package waitlist

import (
	"context"
	"slices"
	"time"
)

const (
	// paceAhead is how far ahead of its moment a decision may plan, so that the
	// pace is not broken by the time a decision takes.
	paceAhead = 250 * time.Millisecond
	// paceSpan is how much of the pace one decision may plan, in seconds.
	paceSpan = 2
	// closeStep gathers the closes that come soon after one another.
	closeStep = 50 * time.Millisecond
)

// Member is an entry taken into a wave.
type Member struct {
	EntryNo int64
	FanNo   int64
	Place   int64
	Party   int
	K       int
	// Given says that staff chose the entry; it was taken out of line order.
	Given bool
}

// LiveWave is a wave with turns that have not closed.
type LiveWave struct {
	Wave
	Members []Member // by K
	// Acted holds the entries whose turn an act ended.
	Acted map[int64]bool
}

// LiveOpening is an open opening as a decision sees it.
type LiveOpening struct {
	Opening
	Waves []LiveWave
	// FreeSeats says, seat by seat in the row's order, which are free; only
	// for adjacent openings.
	FreeSeats []bool
	// LastEmpty says that the opening's newest wave took nobody.
	LastEmpty bool
}

// Situation is what a decision is made from, read under the show's lock.
type Situation struct {
	Now  time.Time // never behind the last decision
	Show *Show
	// Decision is the number of this decision.
	Decision int64
	// PaceAt is when the show's pace has room again.
	PaceAt time.Time
	// LineEnd is the last place given so far.
	LineEnd int64
	// Openings are the open ones, in the order recorded.
	Openings []*LiveOpening
}

// Plan is what a decision decided. Once written it stands.
type Plan struct {
	Waves     []PlannedWave
	Exhausted []int64
	PaceAt    time.Time
	// Due are the moments at which the show must be decided again.
	Due []time.Time
}

// PlannedWave is a new wave, of nobody too when the walk took nobody.
type PlannedWave struct {
	Opening *LiveOpening
	Wave    Wave
	Members []Member
	// Given is what is left of the opening's entries chosen by staff.
	Given []int64
	Marks []Mark
}

// Takes says whether an opening of this tier may go to an entry of that tier.
func (o *Opening) Takes(tier string) bool {
	return o.Tier == "" || tier == "" || o.Tier == tier
}

// fits is the largest party that free seats can serve now.
func (o *LiveOpening) fits() int {
	if o.Adjacent {
		return LongestRun(o.FreeSeats)
	}
	return o.Free
}

// liveParties sums the parties of upcoming and open turns that can still fit, and
// counts all the live turns.
func (o *LiveOpening) liveParties(now time.Time) (parties, turns int) {
	fits := o.fits()
	for i := range o.Waves {
		w := &o.Waves[i]
		for _, m := range w.live(now) {
			turns++
			if m.Party <= fits {
				parties += m.Party
			}
		}
	}
	return parties, turns
}

// live returns the members whose turn is upcoming or open.
func (w *LiveWave) live(now time.Time) []Member {
	closed := w.Closed(now)
	if len(w.Acted) == 0 && (w.Size == 0 || w.Opens(w.Size-1).Before(w.CloseCap)) {
		return w.Members[closed:]
	}
	var live []Member
	for _, m := range w.Members[closed:] {
		if !w.Acted[m.EntryNo] && w.Opens(m.K).Before(w.Closes(m.K)) {
			live = append(live, m)
		}
	}
	return live
}

// Ending is the state in which the opening ends now, or "" while it goes on, as
// far as that can be said without walking the line.
func (o *LiveOpening) Ending(s *Show, now time.Time) OpeningState {
	if o.Confirmed == o.Quantity {
		return OpeningFilled
	}
	if now.Before(s.SalesClose()) || o.Held > 0 {
		return ""
	}
	if _, live := o.liveParties(now); live > 0 {
		return ""
	}
	return OpeningExhausted
}

// Decide makes the waves of one decision: for each open opening with free seats,
// in the order recorded, it walks the line and takes who may have a turn, at the
// show's pace. It changes nothing; src reads, under the same lock.
func Decide(ctx context.Context, s *Situation, src Source) (*Plan, error) {
	d := decider{
		Situation: s, src: src, line: newLine(src),
		plan: &Plan{PaceAt: s.PaceAt}, busy: s.busy(),
	}
	if err := d.run(ctx); err != nil {
		return nil, err
	}
	d.dueForCloses()
	if close := s.Show.SalesClose(); close.After(s.Now) && len(s.Openings) > len(d.plan.Exhausted) {
		d.plan.Due = append(d.plan.Due, close)
	}
	return d.plan, nil
}

// busy is the set of entries with an upcoming or open turn of mode turns.
func (s *Situation) busy() map[int64]bool {
	busy := map[int64]bool{}
	for _, o := range s.Openings {
		if o.Mode != ModeTurns {
			continue
		}
		for i := range o.Waves {
			for _, m := range o.Waves[i].live(s.Now) {
				busy[m.EntryNo] = true
			}
		}
	}
	return busy
}

type decider struct {
	*Situation
	src  Source
	line *line
	plan *Plan
	busy map[int64]bool
}

func (d *decider) run(ctx context.Context) error {
	quiet := d.Show.Policy.QuietHours
	switch {
	case d.Show.Paused(), len(d.Openings) == 0, !d.Now.Before(d.Show.SalesClose()):
		return nil
	case quiet.At(d.Now):
		d.plan.Due = append(d.plan.Due, quiet.End(d.Now))
		return nil
	case d.PaceAt.Sub(d.Now) > paceAhead:
		d.dueForPace()
		return nil
	}
	rate := d.Show.Policy.ReleasePerS
	room := max(1, int(int64(rate)*paceSpan/1000))
	for _, o := range d.Openings {
		if room == 0 {
			d.dueForPace()
			return nil
		}
		if o.Free == 0 {
			continue
		}
		n, cut, err := d.serve(ctx, o, room)
		if err != nil {
			return err
		}
		room -= n
		if cut {
			return nil
		}
	}
	return nil
}

// serve walks the line for one opening and plans its wave of at most room fans.
// cut says that quiet hours or the close of sales leave no room for more.
func (d *decider) serve(ctx context.Context, o *LiveOpening, room int) (n int, cut bool, err error) {
	now := d.Now.Truncate(time.Millisecond)
	w := Wave{
		OpeningNo: o.No, N: o.Opening.Waves + 1, Decision: d.Decision, DecidedAt: d.Now,
		OpensAt: now, Rate: d.Show.Policy.ReleasePerS, Window: o.Window,
		CloseCap: d.Show.SalesClose(), Free: o.fits(), WalkedTo: NoWalk,
	}
	if pace := ceilMilli(d.plan.PaceAt); pace.After(now) {
		w.OpensAt = pace
	}
	w.Size = room
	most := d.roomBefore(&w)
	if most == 0 {
		return 0, true, nil
	}
	live, liveTurns := o.liveParties(d.Now)
	w.Demand = Demand(o.Free, o.FansPerSeat, live)
	if o.Mode == ModeTurns && w.Demand == 0 {
		return 0, false, nil
	}
	k := walk{decider: d, o: o, w: &w, room: most, left: w.Demand, given: slices.Clone(o.Given)}
	if err := k.run(ctx); err != nil {
		return 0, false, err
	}
	w.Size = len(k.taken)
	if w.Size == 0 && k.atEnd && liveTurns == 0 && o.Held == 0 {
		waits, err := k.someoneMayComeFree(ctx)
		if err != nil {
			return 0, false, err
		}
		if !waits {
			d.plan.Exhausted = append(d.plan.Exhausted, o.No)
		}
	}
	if w.Size == 0 && o.LastEmpty {
		w.N = o.Opening.Waves // rewritten: it stands for explanations alone
	}
	d.plan.Waves = append(d.plan.Waves, PlannedWave{Opening: o, Wave: w, Members: k.taken, Given: k.given, Marks: k.marks()})
	if w.Size > 0 {
		d.plan.PaceAt = paceAfter(w.OpensAt, w.Size, w.Rate)
	}
	if !k.atEnd && w.Size == most && (o.Mode == ModeEveryone || k.left > 0) {
		cut = most < room
		d.dueForPace()
	}
	return w.Size, cut, nil
}

// roomBefore is how many turns of w open before quiet hours begin and before
// sales close. Where quiet hours cut it, their end is due.
func (d *decider) roomBefore(w *Wave) int {
	quiet, end := d.Show.Policy.QuietHours, w.CloseCap
	if quiet != nil {
		last := w.Opens(w.Size - 1)
		for t := w.OpensAt; !t.After(last); t = t.Truncate(time.Minute).Add(time.Minute) {
			if quiet.At(t) {
				if t.Before(end) {
					end = t
				}
				d.plan.Due = append(d.plan.Due, quiet.End(t))
				break
			}
		}
	}
	return w.firstK(func(k int) bool { return !w.Opens(k).Before(end) })
}

// dueForPace asks for the next decision as soon as the pace lets one plan.
func (d *decider) dueForPace() {
	at := d.plan.PaceAt.Add(-paceAhead)
	if soon := d.Now.Add(10 * time.Millisecond); at.Before(soon) {
		at = soon
	}
	d.plan.Due = append(d.plan.Due, at)
}

// dueForCloses asks for a decision at the next close of each wave that can free
// or finish something.
func (d *decider) dueForCloses() {
	due := func(o *LiveOpening, w *Wave) {
		k := w.Closed(d.Now)
		if k == w.Size {
			return
		}
		at := w.Closes(k)
		if o.Mode == ModeEveryone {
			at = w.LastCloses()
		}
		if t := at.Truncate(closeStep); !t.Equal(at) {
			at = t.Add(closeStep)
		}
		d.plan.Due = append(d.plan.Due, at)
	}
	for _, o := range d.Openings {
		for i := range o.Waves {
			due(o, &o.Waves[i].Wave)
		}
	}
	for i := range d.plan.Waves {
		due(d.plan.Waves[i].Opening, &d.plan.Waves[i].Wave)
	}
}
