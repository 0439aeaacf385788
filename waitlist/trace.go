package waitlist

import (
	"context"
	"errors"
	"time"
)

// Trace explains a show's openings to those who ask about one fan.
type Trace struct {
	// Entry is the fan's entry, or nil where they never were in this line.
	Entry *Entry
	// Log holds the entry's changes, newest first.
	Log []LoggedChange
	// Items are the openings' verdicts, newest opening first.
	Items []Traced
}

// Traced is the verdict of one opening.
type Traced struct {
	Verdict
	OpeningNo  int64
	RecordedAt time.Time
}

// LoggedChange is a change with what came of it.
type LoggedChange struct {
	Change
	// OpeningID is the opening whose next turn was given; empty otherwise.
	OpeningID string
	After     Entry
}

// TraceFacts is what a page of a trace is worked out from. Show, Entry, Log,
// Tellings and Now are those of every opening.
type TraceFacts struct {
	Facts
	Openings []TraceOpening
	// GivenAt says of which opening a change of the log gave the next turn, by the
	// change's index.
	GivenAt map[int]string
	// MembersOf reads the members of waves, all at once.
	MembersOf func(waves []Wave) (map[WaveRef][]Member, error)
}

// TraceOpening is an opening with what is its own.
type TraceOpening struct {
	Opening
	Own *Claim
	// Waves are the newest, newest first, of those that may have walked past the
	// entry without telling it.
	Waves []Wave
}

// TraceStore reads traces.
type TraceStore interface {
	// Trace reads a page of openings, newest first, those before the number (0:
	// from the newest), in a number of statements that does not grow with it.
	Trace(ctx context.Context, show, fan string, before int64, limit int) (TraceFacts, error)
}

// Trace explains a page of a show's openings to who asks about a fan.
func (s *Service) Trace(ctx context.Context, show, fan string, before int64, limit int) (Trace, error) {
	if err := CheckFanID("fan", fan); err != nil {
		return Trace{}, err
	}
	f, err := s.store.Trace(ctx, show, fan, before, limit)
	if err != nil {
		return Trace{}, err
	}
	items, err := f.judge()
	for i := range items {
		items[i].FanID = fan
	}
	return Trace{Entry: f.Entry, Log: f.logged(), Items: items}, err
}

// errMembers asks for the members of a wave.
var errMembers = errors.New("members are not read yet")

// judge works out the verdicts. Those that need the members of a wave are worked
// out again when these were read, for all openings at once: few need any, and
// hardly one needs those of a second wave.
func (f *TraceFacts) judge() ([]Traced, error) {
	items := make([]Traced, len(f.Openings))
	members := map[WaveRef][]Member{}
	open := make([]int, len(items))
	for i := range open {
		open[i] = i
	}
	for len(open) > 0 {
		var again []int
		var missing []Wave
		for _, i := range open {
			o := &f.Openings[i]
			facts := f.Facts
			facts.Opening, facts.Own, facts.Waves = &o.Opening, o.Own, o.Waves
			facts.Members = func(w *Wave) ([]Member, error) {
				ms, ok := members[w.Ref()]
				if !ok {
					missing = append(missing, *w)
					return nil, errMembers
				}
				return ms, nil
			}
			v, err := Judge(facts)
			if errors.Is(err, errMembers) {
				again = append(again, i)
			} else if err != nil {
				return nil, err
			}
			items[i] = Traced{v, o.No, o.RecordedAt}
		}
		if len(missing) > 0 {
			found, err := f.MembersOf(missing)
			if err != nil {
				return nil, err
			}
			for _, w := range missing {
				members[w.Ref()] = found[w.Ref()]
			}
		}
		open = again
	}
	return items, nil
}

// logged is the log, newest first, each change with what came of it.
func (f *TraceFacts) logged() []LoggedChange {
	list := make([]LoggedChange, 0, len(f.Log))
	for i := len(f.Log) - 1; i >= 0; i-- {
		after := *f.Entry
		if i+1 < len(f.Log) {
			after = f.Log[i+1].Before
		}
		list = append(list, LoggedChange{f.Log[i], f.GivenAt[i], after})
	}
	return list
}
