package waitlist

import "time"

// ActState is how a turn ended other than by time or the opening's end.
type ActState string

// The acts that end a turn.
const (
	ActClaimed  ActState = "claimed"
	ActDeclined ActState = "declined"
	ActLeft     ActState = "left"
	ActRemoved  ActState = "removed"
	// ActBought: a claim on another opening of the show was confirmed.
	ActBought ActState = "bought"
)

// Act is a fan's act on a turn, or one done to it.
type Act struct {
	State ActState
	At    time.Time
	// Decisions numbered above Decision saw the act.
	Decision int64
}

// Telling is one fan's turn at one opening, as its wave and the opening's end
// make it.
type Telling struct {
	OpeningNo int64
	OpeningID string
	Mode      Mode
	N         int // the wave
	K         int // the turn within the wave
	Party     int
	Place     int64 // of the entry, when it was told
	Opens     time.Time
	Closes    time.Time
	// Decision made the wave.
	Decision int64
	Act      *Act
	// FinalAt and Final are the opening's end, if it ended.
	FinalAt       *time.Time
	Final         OpeningState
	FinalDecision int64
	// Unreached: it lapsed, and no channel had taken it. Read for verdicts alone.
	Unreached bool
}

// Phase is where a turn stands at a moment.
type Phase int

// The phases of a turn. PhaseNever: the opening or its sales ended before the
// turn opened, so that it never existed for the fan.
const (
	PhaseNever Phase = iota
	PhaseUpcoming
	PhaseOpen
	PhaseOver
)

// At returns the phase at now. A turn is open while Opens <= now < Closes, unless
// an act or the opening's end came first.
func (t *Telling) At(now time.Time) Phase {
	switch {
	case !t.Opens.Before(t.Closes), t.FinalAt != nil && !t.Opens.Before(*t.FinalAt):
		return PhaseNever
	case t.Act != nil && t.Act.State != ActClaimed && t.Act.At.Before(t.Opens):
		if now.Before(t.Opens) {
			return PhaseOver
		}
		return PhaseNever
	case t.Act != nil, t.FinalAt != nil && !now.Before(*t.FinalAt), !now.Before(t.Closes):
		return PhaseOver
	case now.Before(t.Opens):
		return PhaseUpcoming
	}
	return PhaseOpen
}

// Live says whether the turn is upcoming or open.
func (t *Telling) Live(now time.Time) bool {
	p := t.At(now)
	return p == PhaseUpcoming || p == PhaseOpen
}

// Shown says whether the fan has an item for the turn at now.
func (t *Telling) Shown(now time.Time) bool {
	p := t.At(now)
	return p == PhaseOpen || p == PhaseOver && !now.Before(t.Opens)
}

// CutShort says whether the opening's end took the turn from the fan while it was
// open, which they are told.
func (t *Telling) CutShort() bool {
	return t.Act == nil && t.FinalAt != nil && t.Opens.Before(*t.FinalAt) && t.FinalAt.Before(t.Closes)
}

// busyFor says whether, in the eyes of decision d at the moment at, this turn kept
// its fan from a turn of another opening. What came before what is told by
// decision numbers; within one decision openings are served in the order recorded.
func (t *Telling) busyFor(opening, d int64, at time.Time) bool {
	if t.Mode != ModeTurns || t.OpeningNo == opening {
		return false
	}
	if t.Decision > d || t.Decision == d && t.OpeningNo > opening {
		return false
	}
	if t.Act != nil && t.Act.Decision < d || t.FinalAt != nil && t.FinalDecision < d {
		return false
	}
	// A cap below Opens came later, with an earlier close of sales.
	return at.Before(t.Closes)
}
