package notifier

import (
	"context"
	"time"
)

// Delivery is one item for one fan to one address of a channel, as people see it.
type Delivery struct {
	ID      string // of the delivery: its key
	ItemID  string
	FanNo   int64
	Channel Channel
	Address string // masked; "" for live
	Phase   Phase
	Phases  []PhaseAt // oldest first
	At      time.Time // when it began
}

// PhaseAt is a phase that a delivery reached.
type PhaseAt struct {
	Phase  Phase  `json:"phase"`
	At     Stamp  `json:"at"`
	Reason string `json:"reason,omitempty"`
}

// Deliveries tells what became of items on their way to fans, for as long as
// deliveries are kept (30 days).
type Deliveries interface {
	// DeliveriesOf are those of an item to a fan, oldest first.
	DeliveriesOf(ctx context.Context, item ItemRef, fanNo int64) ([]Delivery, error)
	// DeliveriesTo are a fan's newest, newest first.
	DeliveriesTo(ctx context.Context, fanNo int64, limit int) ([]Delivery, error)
}

// phaseRank orders the phases that providers tell of later: none goes back.
var phaseRank = map[Phase]int{
	PhaseAccepted: 1, PhaseQueued: 2, PhaseThrottled: 2, PhaseSkipped: 3, PhaseDeduplicated: 3,
	PhaseSent: 4, PhaseDelivered: 5, PhaseFailed: 5, PhaseBounced: 6, PhaseOpened: 7,
}

// Phases are all of them, in the order in which they follow each other.
var Phases = []Phase{
	PhaseAccepted, PhaseQueued, PhaseThrottled, PhaseSkipped, PhaseDeduplicated, PhaseSent, PhaseDelivered, PhaseFailed, PhaseBounced, PhaseOpened,
}

// Precedes says whether a delivery in phase p may go on to next, which a provider
// may tell of out of order and more than once.
func (p Phase) Precedes(next Phase) bool { return phaseRank[p] < phaseRank[next] }
