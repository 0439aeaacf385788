package waitlist

import "time"

// TurnEnd is a turn with how it stands or ended, for a timeline.
type TurnEnd struct {
	Opens time.Time
	// Ends is when an act or the opening's end closed it, or when it closes.
	Ends  time.Time
	Shows SpotState // bought, holding, open, upcoming or missed
}

// TimedWave is a wave of a timeline. Turns are those that exist, by k; nil where
// the wave is too large or too old for the timeline to tell them apart.
type TimedWave struct {
	Wave
	Turns []TurnEnd
}

// TimedOpening is an opening with its newest waves that told somebody, oldest first.
type TimedOpening struct {
	Opening
	Waves []TimedWave
	// More says that older waves are left out.
	More bool
}

// Timeline is what a show's newest openings did.
type Timeline struct {
	Now      time.Time
	Openings []TimedOpening // newest first
}

// TurnEndOf is how turn k of a wave stands at now. act is what ended it and claim
// the state of the claim that came of it, where there are such; final is when the
// opening ended, or nil. ok is false for a turn that never was.
func TurnEndOf(w *Wave, k int, act *Act, claim ClaimState, final *time.Time, now time.Time) (t TurnEnd, ok bool) {
	told := Telling{Opens: w.Opens(k), Closes: w.Closes(k), Act: act, FinalAt: final}
	t = TurnEnd{Opens: told.Opens, Ends: told.Closes}
	if act != nil {
		t.Ends = act.At
	}
	if final != nil && final.Before(t.Ends) {
		t.Ends = *final
	}
	switch told.At(now) {
	case PhaseNever:
		return t, false
	case PhaseUpcoming:
		t.Shows = SpotUpcoming
	case PhaseOpen:
		t.Shows = SpotOpen
	default:
		t.Shows = endShows(act, claim)
	}
	return t, true
}

func endShows(act *Act, claim ClaimState) SpotState {
	if act == nil || act.State != ActClaimed {
		return SpotMissed
	}
	switch claim {
	case ClaimConfirmed:
		return SpotBought
	case ClaimHeld:
		return SpotHolding
	}
	return SpotMissed
}

// WaveEnds counts how a wave's turns stand or ended.
type WaveEnds struct {
	Upcoming, Open, Held, Bought, GaveBack int
	// Lapsed ran out without an answer; CutShort ended with the opening.
	Declined, Lapsed, Gone, CutShort int
}

// Add counts turn k of a wave; the rest is as for TurnEndOf.
func (n *WaveEnds) Add(w *Wave, k int, act *Act, claim ClaimState, final *time.Time, now time.Time) {
	t := Telling{Opens: w.Opens(k), Closes: w.Closes(k), Act: act, FinalAt: final}
	switch phase := t.At(now); {
	case phase == PhaseNever:
	case phase == PhaseUpcoming:
		n.Upcoming++
	case phase == PhaseOpen:
		n.Open++
	case t.CutShort():
		n.CutShort++
	case act == nil:
		n.Lapsed++
	default:
		n.addAct(act, claim)
	}
}

func (n *WaveEnds) addAct(act *Act, claim ClaimState) {
	switch act.State {
	case ActDeclined:
		n.Declined++
	case ActClaimed:
		switch claim {
		case ClaimConfirmed:
			n.Bought++
		case ClaimHeld:
			n.Held++
		default:
			n.GaveBack++
		}
	default:
		n.Gone++
	}
}

// Rush is how many turns opened and how many seats' claims came, by equal steps of
// time up to now.
type Rush struct {
	From   time.Time
	Step   time.Duration
	Turns  []int // by step
	Claims []int
	// Partly says that there were more than are counted here.
	Partly bool
}

// Now is the end of the last step.
func (r *Rush) Now() time.Time { return r.From.Add(r.Step * time.Duration(len(r.Turns))) }

// AddWave counts the turns of a wave in the steps in which they open.
func (r *Rush) AddWave(w *Wave) {
	for i := range r.Turns {
		from := r.From.Add(r.Step * time.Duration(i))
		to := from.Add(r.Step)
		r.Turns[i] += w.Opened(to.Add(-1)) - w.Opened(from.Add(-1))
	}
}

// AddClaim counts a claim.
func (r *Rush) AddClaim(at time.Time, n int) {
	if i := int(at.Sub(r.From) / r.Step); !at.Before(r.From) && i < len(r.Claims) {
		r.Claims[i] += n
	}
}
