package admin

import (
	"fmt"
	"time"

	"fanline/waitlist"
)

// answer says why a fan was or was not told of an opening.
type answer struct {
	// Shows is the state whose colour stands beside it.
	Shows waitlist.SpotState
	Lead  string // "Told", "Not told": the answer in a word or two
	Text  string // the rest of it, a sentence or two
}

// asked is what an answer is made from.
type asked struct {
	verdict waitlist.Verdict
	opening waitlist.Opening
	entry   waitlist.Entry
	show    *waitlist.Show
	zone    *time.Location
	// sameParty says that party and tier were never changed, so that today's are
	// those of the decision.
	sameParty bool
}

// explain puts a verdict into words.
func explain(q asked) answer {
	v := q.verdict
	kept := " They keep their place for other openings."
	if q.opening.State == waitlist.OpeningOpen {
		kept = " They keep their place and are looked at again by its next decision."
	}
	switch v.Reason {
	case waitlist.NotOnList:
		return answer{waitlist.SpotGone, "Not told", "They were not on this list then."}
	case waitlist.HasLeft:
		return answer{waitlist.SpotGone, q.lead(), q.left()}
	case waitlist.WasRemoved:
		return answer{waitlist.SpotGone, q.lead(), "They were removed from the line by staff."}
	case waitlist.Behind:
		return answer{waitlist.SpotWaiting, "Not told yet", q.behind()}
	case waitlist.TierMismatch:
		return answer{waitlist.SpotSkipped, "Skipped", q.tier() + kept}
	case waitlist.PartyTooBig:
		return answer{waitlist.SpotSkipped, "Skipped", q.party() + kept}
	case waitlist.Busy:
		return answer{waitlist.SpotSkipped, "Skipped", "They had another turn, or held seats, at this show just then." + kept}
	case waitlist.IsDormant:
		return answer{waitlist.SpotDormant, "Skipped", "They are dormant: they missed too many turns in a row. " +
			"They keep their place and wake as soon as they open the app or answer."}
	case waitlist.QuietHours:
		return answer{waitlist.SpotWaiting, "Not told yet", "It is quiet time" + q.quiet() + "; nobody gets a turn until it ends."}
	case waitlist.IsPaused:
		return answer{waitlist.SpotWaiting, "Not told yet", "The show is paused; nothing is decided until it goes on."}
	case waitlist.SalesClosed:
		return answer{waitlist.SpotGone, "Not told", "Sales closed at " + clock(q.show.SalesClose(), q.zone) + ", before it came to them."}
	}
	return q.turn()
}

// turn answers for those who had, have or will have a turn, and for openings that
// ended.
func (q asked) turn() answer {
	switch q.verdict.Reason {
	case waitlist.TurnUpcoming:
		return answer{waitlist.SpotUpcoming, "Chosen", "Their turn opens at " + q.at(q.verdict.OpensAt) + "."}
	case waitlist.TurnOpen:
		return answer{waitlist.SpotOpen, "Told", "Their turn is open until " + q.at(q.verdict.ClosesAt) + "."}
	case waitlist.TurnLapsed:
		return answer{waitlist.SpotMissed, "Told", "Their turn ran out at " + q.at(q.verdict.ClosesAt) + " without an answer."}
	case waitlist.TurnDeclined:
		return answer{waitlist.SpotMissed, "Told", "They passed, and the seat went on at once."}
	case waitlist.IsUnreachable:
		return answer{waitlist.SpotMissed, "Not reached", "They had a turn until " + q.at(q.verdict.ClosesAt) + ", but no channel could take the message."}
	case waitlist.IsClaimed:
		return answer{waitlist.SpotHolding, "Told", "They took it, and the seats are held for them until they have paid."}
	case waitlist.IsConfirmed:
		return answer{waitlist.SpotBought, "Told", "They took it and bought."}
	case waitlist.HoldReleased:
		return answer{waitlist.SpotMissed, "Told", "They took it and then gave the seats back."}
	case waitlist.HoldLapsed:
		return answer{waitlist.SpotMissed, "Told", "They took it, but did not pay in time, so the seats went on."}
	case waitlist.EndFilled:
		if q.verdict.State == waitlist.VerdictOver {
			return answer{waitlist.SpotMissed, "Told", "Others took the last seat while their turn was open."}
		}
		return answer{waitlist.SpotWaiting, "Not told", "Every seat was taken before it came to them."}
	case waitlist.EndExhausted:
		return answer{waitlist.SpotWaiting, "Not told", "The opening ended with seats left that nobody then waiting could take."}
	case waitlist.EndCancelled:
		if q.verdict.State == waitlist.VerdictOver {
			return answer{waitlist.SpotMissed, "Told", "The opening was cancelled while their turn was open, and they were told so."}
		}
		return answer{waitlist.SpotWaiting, "Not told", "The opening was cancelled before it came to them."}
	}
	return answer{waitlist.SpotWaiting, "Not known", "The reason is " + string(q.verdict.Reason) + "."}
}

// lead is for reasons that can end a turn or come before one.
func (q asked) lead() string {
	if q.verdict.State == waitlist.VerdictOver {
		return "Turn ended"
	}
	return "Not told"
}

// left tells having left from having bought, as far as today's entry shows it.
func (q asked) left() string {
	switch q.entry.State {
	case waitlist.Bought:
		return "They had bought seats of this show already."
	case waitlist.Left:
		return "They had left the line."
	}
	return "They had left the line, or had bought seats of this show."
}

func (q asked) behind() string {
	if q.verdict.Ahead == nil || *q.verdict.Ahead == 0 {
		return "They are first in line and get the next turn."
	}
	return plural(*q.verdict.Ahead, "fan is", "fans are") + " ahead of them, and seats go to those first."
}

func (q asked) tier() string {
	if !q.sameParty || q.entry.Tier == "" {
		return "They asked for another tier than this opening’s, which is " + tierWords(q.opening.Tier) + "."
	}
	return fmt.Sprintf("They want %s, and this opening is for %s.", q.entry.Tier, tierWords(q.opening.Tier))
}

func (q asked) party() string {
	if !q.sameParty {
		return "They wanted more seats together than were left."
	}
	return fmt.Sprintf("They want %s together, and fewer were left for them.", plural(q.entry.Party, "seat", "seats"))
}

func (q asked) quiet() string {
	if h := q.show.Policy.QuietHours; h != nil {
		return " (" + h.From + " to " + h.To + ", " + h.Zone + ")"
	}
	return ""
}

// at writes a moment of the verdict.
func (q asked) at(t *time.Time) string {
	if t == nil {
		return "a time that is not known"
	}
	return clock(*t, q.zone)
}
