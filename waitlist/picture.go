package waitlist

import "time"

// SpotState is what a picture of the line shows of one entry: the newest thing
// that matters about it.
type SpotState string

// The states of a spot.
const (
	SpotWaiting  SpotState = "waiting"
	SpotUpcoming SpotState = "upcoming"
	SpotOpen     SpotState = "open"
	SpotHolding  SpotState = "holding"
	SpotBought   SpotState = "bought"
	SpotMissed   SpotState = "missed" // or declined, or given back
	SpotSkipped  SpotState = "skipped"
	SpotDormant  SpotState = "dormant"
	SpotGone     SpotState = "gone" // left or removed
)

// Spot is one entry in a picture.
type Spot struct {
	Entry
	Shows SpotState
}

// Stretch is a run of places and how many in it wait, dormant ones too.
type Stretch struct {
	From, To int64 // both within
	Waiting  int64
}

// Picture is a show's line as one can look at it: the front entry by entry and
// all of it by stretches of places.
type Picture struct {
	// Front starts a little before the first who waits.
	Front []Spot
	Line  []Stretch
	// Reached is the last place to which the open openings walked; nil when none
	// is open or none has walked yet.
	Reached *int64

	Waiting int64 // dormant ones too
	Dormant int64
	// The seats of the show's openings; free ones of those still open.
	SeatsFree, SeatsHeld, SeatsBought int64
}

// SpotOf is what a picture shows of an entry: skipped says that an opening which
// is still open walked past it.
func SpotOf(e *Entry, now time.Time, tellings []Telling, skipped bool) SpotState {
	switch e.State {
	case Bought:
		return SpotBought
	case Holding:
		return SpotHolding
	case Left, Removed:
		return SpotGone
	}
	had, upcoming := false, false
	for i := range tellings {
		switch tellings[i].At(now) {
		case PhaseOpen:
			return SpotOpen
		case PhaseUpcoming:
			upcoming = true
		case PhaseOver:
			// A turn at another place was before the entry joined again, or was moved.
			had = had || tellings[i].Place == e.Place
		}
	}
	switch {
	case upcoming:
		return SpotUpcoming
	case e.Dormant:
		return SpotDormant
	case skipped:
		return SpotSkipped
	case had:
		return SpotMissed
	}
	return SpotWaiting
}
