package waitlist

import (
	"context"
	"fmt"
	"slices"
)

// OrderFacts is what a stretch of an opening's waves is replayed from: the waves with
// whom they told, and the entries with what became of them since. Nothing of it is a
// note that a decision left about whom it skipped.
type OrderFacts struct {
	Opening *Opening
	// Waves are in their order, each with its members by turn.
	Waves []LiveWave
	// Entries are the members, and everybody who may have stood before one of them.
	Entries []Entry
	Logs    map[int64][]Change
	// Tellings are the entries' turns at all openings of the show.
	Tellings map[int64][]Telling
	// Partly says that not everybody who may have stood before could be read.
	Partly bool
	// More is the number of the wave to go on from; 0: these were the last.
	More int
}

// WrongKind is how an order was broken.
type WrongKind string

// The ways to break it.
const (
	WrongPassed WrongKind = "passed" // somebody eligible and untold stood before
	WrongTwice  WrongKind = "twice"  // told twice of one opening
	WrongRow    WrongKind = "row"    // a wave's members are not in line order, or not whole
	WrongTaken  WrongKind = "taken"  // somebody was told who could not use it then
	WrongPlace  WrongKind = "place"  // the place in the wave is not the entry's of then
)

// WrongOrder is the first thing that a replay found wrong.
type WrongOrder struct {
	Kind WrongKind
	N    int // the wave
	// Told is whom the wave told; Passed, with WrongPassed, who stood before them.
	Told, Passed      int64
	ToldAt, PassedAt  int64 // their places then
	Party             int   // of Passed
	Why               Reason
	First             int // with WrongTwice, the other wave
	ToldFan, PassedBy string
}

// OrderReport is what a replay of some waves found.
type OrderReport struct {
	Opening Opening
	Waves   []Wave // replayed, in order
	Told    int    // by them
	Looked  int    // entries looked at
	Wrong   *WrongOrder
	Partly  bool
	More    int // the wave to go on from; 0: these were the last
}

// OrderStore reads what replays are made from.
type OrderStore interface {
	// OrderFacts reads a bounded number of waves from number from on, and whom they
	// concern, as of one moment.
	OrderFacts(ctx context.Context, ref OpeningRef, from int) (OrderFacts, error)
	// FanNames are the ids of the fans of a show's entries.
	FanNames(ctx context.Context, showNo int32, enos []int64) (map[int64]string, error)
}

// Order replays some of an opening's waves, from a number on, and says whether each
// told the first in line who could use it.
func (s *Service) Order(ctx context.Context, ref OpeningRef, from int) (OrderReport, error) {
	f, err := s.store.OrderFacts(ctx, ref, from)
	if err != nil {
		return OrderReport{}, err
	}
	r := OrderReport{Opening: *f.Opening, Looked: len(f.Entries), Partly: f.Partly, More: f.More}
	for i := range f.Waves {
		r.Waves, r.Told = append(r.Waves, f.Waves[i].Wave), r.Told+f.Waves[i].Size
	}
	if r.Wrong = f.Replay(); r.Wrong == nil {
		return r, nil
	}
	names, err := s.store.FanNames(ctx, f.Opening.ShowNo, []int64{r.Wrong.Told, r.Wrong.Passed})
	r.Wrong.ToldFan, r.Wrong.PassedBy = names[r.Wrong.Told], names[r.Wrong.Passed]
	return r, err
}

// Replay goes through the waves in their order and returns the first thing wrong, or
// nil where the order held.
func (f *OrderFacts) Replay() *WrongOrder {
	at := make(map[int64]*Entry, len(f.Entries))
	for i := range f.Entries {
		at[f.Entries[i].No] = &f.Entries[i]
	}
	for i := range f.Waves {
		w := &f.Waves[i]
		if wrong := f.rowOf(w, at); wrong != nil {
			return wrong
		}
		if wrong := f.passedBy(w); wrong != nil {
			return wrong
		}
	}
	return nil
}

// toldBefore is another turn that the entry had of the opening up to a wave.
func (f *OrderFacts) toldBefore(eno int64, w *LiveWave) *Telling {
	for i, n := 0, 0; i < len(f.Tellings[eno]); i++ {
		t := &f.Tellings[eno][i]
		if t.OpeningNo != f.Opening.No || t.Decision > w.Decision {
			continue
		}
		if n++; t.N != w.N || n > 1 {
			return t
		}
	}
	return nil
}

// toldUpTo says whether the opening told the entry by a wave or one before it.
func (f *OrderFacts) toldUpTo(eno int64, w *LiveWave) bool {
	return slices.ContainsFunc(f.Tellings[eno], func(t Telling) bool {
		return t.OpeningNo == f.Opening.No && t.Decision <= w.Decision
	})
}

// rowOf checks the wave's own members.
func (f *OrderFacts) rowOf(w *LiveWave, at map[int64]*Entry) *WrongOrder {
	last := int64(FirstPlace)
	if len(w.Members) != w.Size {
		return &WrongOrder{Kind: WrongRow, N: w.N}
	}
	for k, m := range w.Members {
		wrong := &WrongOrder{N: w.N, Told: m.EntryNo, ToldAt: m.Place}
		e := at[m.EntryNo]
		if m.EntryNo == 0 || m.K != k || e == nil || !m.Given && m.Place <= last {
			wrong.Kind = WrongRow
			return wrong
		}
		if t := f.toldBefore(m.EntryNo, w); t != nil {
			wrong.Kind, wrong.First = WrongTwice, t.N
			return wrong
		}
		was := e.AsOf(w.Decision, f.Logs[e.No])
		if was == nil || was.Place != m.Place || was.Party != m.Party {
			wrong.Kind = WrongPlace
			return wrong
		}
		if m.Given {
			continue // out of the line's order, by staff's reason
		}
		if why := f.Opening.Skips(&w.Wave, w.Members, was, f.Tellings[e.No]); why != "" {
			wrong.Kind, wrong.Why = WrongTaken, why
			return wrong
		}
		last = m.Place
	}
	return nil
}

// passedBy finds the first who stood before one that the wave told, could have used
// the turn and had not been told.
func (f *OrderFacts) passedBy(w *LiveWave) *WrongOrder {
	limits := w.Limits(f.Opening.Mode)
	var first *WrongOrder
	for i := range f.Entries {
		e := &f.Entries[i]
		was := e.AsOf(w.Decision, f.Logs[e.No])
		if was == nil || was.Place >= limits[was.Party] || first != nil && was.Place >= first.PassedAt || f.toldUpTo(e.No, w) {
			continue
		}
		if f.Opening.Skips(&w.Wave, w.Members, was, f.Tellings[e.No]) == "" {
			first = &WrongOrder{Kind: WrongPassed, N: w.N, Passed: e.No, PassedAt: was.Place, Party: was.Party}
		}
	}
	if first != nil {
		for _, m := range w.Members {
			if !m.Given && m.Place > first.PassedAt {
				first.Told, first.ToldAt = m.EntryNo, m.Place
				break
			}
		}
	}
	return first
}

// Limits are, by party, the places before which somebody of that party who was not
// told stood before one who was, and still fitted in.
func (w *LiveWave) Limits(mode Mode) (limits [MaxParty + 1]int64) {
	left := w.Demand
	for _, m := range w.Members {
		if m.Given {
			left -= m.Party
		}
	}
	for party := range limits {
		limits[party] = FirstPlace
	}
	for _, m := range w.Members {
		if m.Given {
			continue
		}
		fits := w.Free
		if mode == ModeTurns {
			fits = min(left, w.Free)
		}
		for party := 1; party <= min(fits, MaxParty); party++ {
			limits[party] = max(limits[party], m.Place)
		}
		left -= m.Party
	}
	return limits
}

// Sentence says what is wrong. It names fans where their ids are known.
func (x *WrongOrder) Sentence() string {
	name := func(id string, no int64) string {
		if id == "" {
			return fmt.Sprintf("entry %d", no)
		}
		return id
	}
	toldFan := name(x.ToldFan, x.Told)
	switch x.Kind {
	case WrongPassed:
		return fmt.Sprintf("Wave %d told %s at place %d, though %s stood before them at place %d, had not been told and could have used it (a party of %d).",
			x.N, toldFan, x.ToldAt, name(x.PassedBy, x.Passed), x.PassedAt, x.Party)
	case WrongTwice:
		return fmt.Sprintf("%s was told twice: by wave %d and again by wave %d.", toldFan, x.First, x.N)
	case WrongTaken:
		return fmt.Sprintf("Wave %d told %s, who could not use it then (%s).", x.N, toldFan, x.Why)
	case WrongPlace:
		return fmt.Sprintf("Wave %d has %s at place %d, which is not the place or party of their entry at that decision.", x.N, toldFan, x.ToldAt)
	}
	if x.Told == 0 {
		return fmt.Sprintf("The members of wave %d are not whole.", x.N)
	}
	return fmt.Sprintf("The members of wave %d are not whole or not in line order (at %s).", x.N, toldFan)
}
