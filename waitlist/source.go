package waitlist

import "context"

// Group is the entries of one tier and party size. A walk merges the groups that
// may fit, so that it never reads through entries that cannot.
type Group struct {
	Tier  string
	Party int
}

// Candidate is an active entry that a walk comes to.
type Candidate struct {
	EntryNo int64
	FanNo   int64
	Place   int64
	Group
}

// Mark says that all of a group before Place has been told of the opening, as
// decision Decision left it.
type Mark struct {
	Group
	Place    int64
	Decision int64
}

// FirstPlace is before every place.
const FirstPlace = NoWalk

// From asks for the entries of a group from a place on.
type From struct {
	Group
	Place int64
}

// Source is what a decision reads of the line, under the show's lock.
type Source interface {
	// Groups are the groups with active entries.
	Groups(ctx context.Context) ([]Group, error)
	// Pages returns, for each of from, its first limit active entries by place.
	Pages(ctx context.Context, from []From, limit int) ([][]Candidate, error)
	// Marks are those of an opening.
	Marks(ctx context.Context, opening int64) ([]Mark, error)
	// Changed are the active entries before their group's mark with a change
	// that the mark's decision did not see (one logged at its number or above),
	// by place.
	Changed(ctx context.Context, marks []Mark) ([]Candidate, error)
	// Told are those of the entries that have been told of the opening.
	Told(ctx context.Context, opening int64, entries []int64) (map[int64]bool, error)
	// Entries are the waiting ones among the entries, dormant or not.
	Entries(ctx context.Context, entries []int64) ([]Candidate, error)
	// Holding are the entries with a hold.
	Holding(ctx context.Context) ([]Candidate, error)
}

// line reads the show's line for one decision: each stretch of it once, shared by
// the openings that walk it.
type line struct {
	src       Source
	groups    []Group
	known     bool
	stretches map[From]*stretch
}

// stretch is a group's entries from a place on, as far as they were read.
type stretch struct {
	from    From
	entries []Candidate
	next    int64 // where to read on
	end     bool  // there are no more
	pages   int
}

func newLine(src Source) *line { return &line{src: src, stretches: map[From]*stretch{}} }

func (l *line) all(ctx context.Context) ([]Group, error) {
	if !l.known {
		groups, err := l.src.Groups(ctx)
		if err != nil {
			return nil, err
		}
		l.groups, l.known = groups, true
	}
	return l.groups, nil
}

func (l *line) stretch(from From) *stretch {
	s := l.stretches[from]
	if s == nil {
		s = &stretch{from: from, next: from.Place}
		l.stretches[from] = s
	}
	return s
}

// more reads the next page of each stretch, in one round trip. Pages grow as a
// walk goes on.
func (l *line) more(ctx context.Context, ss []*stretch) error {
	pages := 0
	from := make([]From, len(ss))
	for i, s := range ss {
		from[i] = From{s.from.Group, s.next}
		pages = max(pages, s.pages)
	}
	limit := min(1024, 32<<min(2*pages, 10))
	got, err := l.src.Pages(ctx, from, limit)
	if err != nil {
		return err
	}
	for i, s := range ss {
		s.pages++
		s.entries = append(s.entries, got[i]...)
		s.end = len(got[i]) < limit
		if n := len(s.entries); n > 0 {
			s.next = s.entries[n-1].Place + 1
		}
	}
	return nil
}
