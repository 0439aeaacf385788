package waitlist

import "time"

// Reason is why a fan was or was not told of an opening.
type Reason string

// The reasons of the contract.
const (
	NotOnList     Reason = "not_on_list"
	HasLeft       Reason = "left"
	Behind        Reason = "behind"
	TierMismatch  Reason = "tier_mismatch"
	PartyTooBig   Reason = "party_too_big"
	Busy          Reason = "busy"
	IsDormant     Reason = "dormant"
	QuietHours    Reason = "quiet_hours"
	IsPaused      Reason = "paused"
	TurnUpcoming  Reason = "turn_upcoming"
	TurnOpen      Reason = "turn_open"
	TurnLapsed    Reason = "turn_lapsed"
	TurnDeclined  Reason = "turn_declined"
	IsClaimed     Reason = "claimed"
	IsConfirmed   Reason = "confirmed"
	HoldReleased  Reason = "hold_released"
	HoldLapsed    Reason = "hold_lapsed"
	EndFilled     Reason = "filled"
	EndExhausted  Reason = "exhausted"
	EndCancelled  Reason = "cancelled"
	SalesClosed   Reason = "sales_closed"
	WasRemoved    Reason = "removed"
	IsUnreachable Reason = "unreachable"
)

// VerdictState is where a fan stands with an opening.
type VerdictState string

// The states of a verdict. VerdictNone: no turn was had and none will come.
const (
	VerdictWaiting  VerdictState = "waiting"
	VerdictUpcoming VerdictState = "upcoming"
	VerdictOpen     VerdictState = "open"
	VerdictClaimed  VerdictState = "claimed"
	VerdictOver     VerdictState = "over"
	VerdictNone     VerdictState = "none"
)

// Verdict answers "why was I (not) told?" for one opening and fan.
type Verdict struct {
	ShowID    string
	OpeningID string
	FanID     string
	State     VerdictState
	Reason    Reason
	OpensAt   *time.Time
	ClosesAt  *time.Time
	Ahead     *int64 // with Behind: how many stand before
	ClaimID   string
}

// Facts is everything a verdict is worked out from; nothing was written for it.
type Facts struct {
	Now     time.Time
	Show    *Show
	Opening *Opening
	// Entry is the fan's entry as it is now; nil when there is none.
	Entry *Entry
	// Log holds the changes of the entry, oldest first.
	Log []Change
	// Tellings are the entry's turns at all openings of the show.
	Tellings []Telling
	// Own is the fan's latest claim on this opening.
	Own *Claim
	// Waves are those of the opening, newest first, with the members that
	// Members returns for one of them.
	Waves   []Wave
	Members func(w *Wave) ([]Member, error)
}

// Judge works out the verdict. Where several reasons hold: own act, hold, turn;
// then why the last decision that walked past the entry did not take it; then the
// opening's end and what holds the line up.
func Judge(f Facts) (Verdict, error) {
	v := Verdict{ShowID: f.Show.ID, OpeningID: f.Opening.ID, State: VerdictNone, Reason: NotOnList}
	if f.Entry == nil {
		return v, nil
	}
	v.FanID = f.Entry.FanID
	told := f.told()
	if told != nil {
		v.OpensAt, v.ClosesAt = &told.Opens, &told.Closes
	}
	if f.Own != nil {
		v.ClaimID = f.Own.ID
		if v.State, v.Reason = f.Own.verdict(f.Now); v.Reason == HoldReleased {
			v.Reason = f.releasedBy()
		}
		return v, nil
	}
	if told != nil {
		if state, reason, ok := told.verdict(f.Now); ok {
			v.State, v.Reason = state, reason
			return v, nil
		}
		v.OpensAt, v.ClosesAt = nil, nil
	}
	if f.Opening.State == OpeningOpen && f.Entry.State.InLine() {
		v.State = VerdictWaiting
	}
	if told == nil {
		reason, err := f.skipped()
		if err != nil || reason != "" {
			v.Reason = reason
			return v, err
		}
	}
	v.Reason = f.untouched()
	if v.Reason == Behind {
		ahead := max(0, f.Entry.Position-1)
		v.Ahead = &ahead
	}
	if v.Reason == NotOnList || v.Reason == SalesClosed {
		v.State = VerdictNone
	}
	return v, nil
}

// releasedBy is why the own hold was released: an act of its own, or with the place
// in line, which was given up while the hold was live and is what says more.
func (f *Facts) releasedBy() Reason {
	for i := range f.Log {
		c := &f.Log[i]
		if c.Before.State != Holding || c.At.Before(f.Own.ClaimedAt) {
			continue
		}
		switch c.What {
		case "released":
			return HoldReleased
		case string(Left):
			return HasLeft
		case string(Removed):
			return WasRemoved
		}
	}
	return HoldReleased
}

func (f *Facts) told() *Telling {
	for i := range f.Tellings {
		if f.Tellings[i].OpeningNo == f.Opening.No {
			return &f.Tellings[i]
		}
	}
	return nil
}

func (c *Claim) verdict(now time.Time) (VerdictState, Reason) {
	switch {
	case c.State == ClaimConfirmed:
		return VerdictClaimed, IsConfirmed
	case c.State == ClaimReleased:
		return VerdictOver, HoldReleased
	case c.State == ClaimLapsed, !now.Before(c.ExpiresAt):
		return VerdictOver, HoldLapsed
	}
	return VerdictClaimed, IsClaimed
}

// verdict is not ok for a turn that never existed.
func (t *Telling) verdict(now time.Time) (VerdictState, Reason, bool) {
	if t.Act != nil {
		switch t.Act.State {
		case ActDeclined:
			return VerdictOver, TurnDeclined, true
		case ActRemoved:
			return VerdictOver, WasRemoved, true
		case ActLeft, ActBought:
			return VerdictOver, HasLeft, true
		}
	}
	switch t.At(now) {
	case PhaseUpcoming:
		return VerdictUpcoming, TurnUpcoming, true
	case PhaseOpen:
		return VerdictOpen, TurnOpen, true
	case PhaseOver:
		if t.CutShort() {
			return VerdictOver, t.Final.end(), true
		}
		if t.Unreached {
			return VerdictOver, IsUnreachable, true
		}
		return VerdictOver, TurnLapsed, true
	}
	return "", "", false
}

// end is the reason that a final state stands for.
func (s OpeningState) end() Reason { return Reason(s) }

// skipped is why the last decision that walked past the entry did not take it, or
// "" where none walked past.
func (f *Facts) skipped() (Reason, error) {
	for i := range f.Waves {
		w := &f.Waves[i]
		was := f.Entry.AsOf(w.Decision, f.Log)
		if was == nil {
			return "", nil // earlier decisions did not know it either
		}
		if was.Place > w.WalkedTo {
			continue
		}
		members, err := f.Members(w)
		if err != nil {
			return "", err
		}
		if r := f.Opening.Skips(w, members, was, f.Tellings); r != "" {
			return r, nil
		}
	}
	return "", nil
}

// Skips is why decision w of the opening, which walked past an entry as it was
// then, did not take it; "" when it gives no reason to skip it. tellings are the
// entry's turns at the openings of the show.
func (o *Opening) Skips(w *Wave, members []Member, was *Entry, tellings []Telling) Reason {
	switch {
	case was.State == Left, was.State == Bought:
		return HasLeft
	case was.State == Removed:
		return WasRemoved
	case !o.Takes(was.Tier):
		return TierMismatch
	case was.Party > w.leftAt(o.Mode, was.Place, members):
		return PartyTooBig
	case was.Dormant:
		return IsDormant
	case was.State == Holding:
		return Busy
	}
	if o.Mode == ModeTurns {
		for i := range tellings {
			if tellings[i].busyFor(o.No, w.Decision, w.DecidedAt) {
				return Busy
			}
		}
	}
	return ""
}

// leftAt is the largest party that the walk could still take when it came to
// place: what fits, and what was left of the demand after those taken before.
func (w *Wave) leftAt(mode Mode, place int64, members []Member) int {
	if mode == ModeEveryone {
		return w.Free
	}
	left := w.Demand
	for _, m := range members {
		if m.Given || m.Place < place {
			left -= m.Party
		}
	}
	return min(left, w.Free)
}

// untouched is the reason for an entry that no decision walked past.
func (f *Facts) untouched() Reason {
	e, o := f.Entry, f.Opening
	if o.State != OpeningOpen {
		was := e.AsOf(o.FinalDecision+1, f.Log)
		switch {
		case was == nil:
			return NotOnList
		case was.State == Left, was.State == Bought:
			return HasLeft
		case was.State == Removed:
			return WasRemoved
		}
		return o.State.end()
	}
	switch {
	case e.State == Left, e.State == Bought:
		return HasLeft
	case e.State == Removed:
		return WasRemoved
	case !f.Now.Before(f.Show.SalesClose()):
		return SalesClosed
	case f.Show.Policy.QuietHours.At(f.Now):
		return QuietHours
	case f.Show.Paused():
		return IsPaused
	case e.State == Holding:
		return Busy
	case e.Dormant:
		return IsDormant
	}
	return Behind
}
