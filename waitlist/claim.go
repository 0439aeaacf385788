package waitlist

import "time"

// ClaimState is where a claim stands.
type ClaimState string

// The states of a claim.
const (
	ClaimHeld      ClaimState = "held"
	ClaimConfirmed ClaimState = "confirmed"
	ClaimReleased  ClaimState = "released"
	ClaimLapsed    ClaimState = "lapsed"
)

// Claim is a fan using a turn.
type Claim struct {
	ID        string
	ShowNo    int32
	ShowID    string
	OpeningNo int64
	OpeningID string
	EntryNo   int64
	FanNo     int64
	FanID     string
	Seats     int
	Labels    []string
	State     ClaimState
	ClaimedAt time.Time
	ExpiresAt time.Time
}

// Take asks for the seats of a fan's turn.
type Take struct {
	FanID string
	// Once is the idempotency key of the request, or nil.
	Once *Once
}

// Claimed is the answer to one claim of a gathered batch.
type Claimed struct {
	Claim Claim
	// New is false when the claim that stands was returned.
	New bool
	Err error
}

// ClaimFacts is what decides a claim, read under the opening's and the entry's
// locks.
type ClaimFacts struct {
	Now       time.Time
	Opening   *Opening
	Cancelled bool // the show is
	Entry     *Entry
	// Own is the fan's latest claim on this opening.
	Own *Claim
	// Told is the fan's turn; nil when never told of this opening.
	Told *Telling
	// Fits says whether the party's seats are free now (for adjacent seats a
	// free run of that length).
	Fits bool
	// Never says that the seats not confirmed can never serve the party, even when
	// every hold ends.
	Never bool
}

// CheckClaim returns nil when the claim may take its seats, or why not.
func CheckClaim(f ClaimFacts) error {
	o := f.Opening
	switch {
	case o.State == OpeningCancelled || f.Cancelled:
		return Refuse(Closed, "this opening was cancelled")
	case f.Own != nil:
		return Refuse(TurnOver, "the claim on this turn was released or lapsed; the turn is over")
	case f.Entry != nil && (f.Entry.State == Holding || f.Entry.State == Bought):
		return Refuse(AlreadyClaimed, "this fan has a claim on this show already")
	case o.State == OpeningFilled:
		return Refuse(Filled, "every seat of this opening is taken")
	case f.Told == nil:
		return Refuse(NotYourTurn, "this fan has no turn for this opening")
	}
	switch f.Told.At(f.Now) {
	case PhaseNever, PhaseUpcoming:
		return Refuse(NotYourTurn, "the turn has not opened yet")
	case PhaseOver:
		return Refuse(TurnOver, "the turn is over")
	}
	switch party := f.Entry.Party; {
	case party > o.SeatsLeft(), f.Never:
		return Refuse(Filled, "the seats left are fewer than the party of %d", party)
	case !f.Fits:
		e := Refuse(AllHeld, "every seat is held right now; try again, one may come back")
		e.RetryAfter = time.Second
		return e
	}
	return nil
}

// ExtendTo returns the new expiry of a held claim extended by d, at most twice
// the hold after the claim.
func (c *Claim) ExtendTo(d, hold time.Duration) (time.Time, error) {
	t := c.ExpiresAt.Add(d)
	if last := c.ClaimedAt.Add(2 * hold); t.After(last) {
		return time.Time{}, Refuse(Conflict, "a hold lasts at most %d s in all; extend by less", int(2*hold/time.Second))
	}
	return t, nil
}

// Run returns the index of the first run of n free seats, or -1.
func Run(free []bool, n int) int {
	run := 0
	for i, f := range free {
		if !f {
			run = 0
			continue
		}
		if run++; run == n {
			return i - n + 1
		}
	}
	return -1
}

// LongestRun is the length of the longest run of free seats.
func LongestRun(free []bool) int {
	best, run := 0, 0
	for _, f := range free {
		if !f {
			run = 0
			continue
		}
		run++
		best = max(best, run)
	}
	return best
}
