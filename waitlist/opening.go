package waitlist

import (
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// OpeningState is where an opening stands. All but OpeningOpen are final.
type OpeningState string

// The states of an opening.
const (
	OpeningOpen      OpeningState = "open"
	OpeningFilled    OpeningState = "filled"
	OpeningExhausted OpeningState = "exhausted"
	OpeningCancelled OpeningState = "cancelled"
)

// MaxQuantity is the largest opening.
const MaxQuantity = 100_000

// MaxLabel is the length of the longest seat label.
const MaxLabel = 64

// Opening is one report of freed seats with its frozen policy.
type Opening struct {
	No       int64
	ShowNo   int32
	ShowID   string
	ID       string
	Tier     string // "": to any entry
	Reason   string
	Adjacent bool
	Mode     Mode
	Strategy Strategy // Write or Read
	// FansPerSeat, Window and Hold are frozen when the opening is recorded.
	FansPerSeat Milli
	Window      time.Duration
	Hold        time.Duration
	State       OpeningState
	Quantity    int
	Free        int
	Held        int
	Confirmed   int
	// Given are the entries that staff gave the next turn, in that order.
	Given      []int64
	Waves      int // how many waves were made
	RecordedAt time.Time
	FinalAt    *time.Time
	// FinalDecision: decisions numbered above it saw the end.
	FinalDecision int64
	HandedBack    bool

	// Told counts the turns that opened; worked out on reading.
	Told int64
}

// SeatsLeft is the number of seats not confirmed.
func (o *Opening) SeatsLeft() int { return o.Quantity - o.Confirmed }

// OpeningPolicy is what an opening may override of its show's policy.
type OpeningPolicy struct {
	Mode         *Mode     `json:"mode,omitempty"`
	FansPerSeat  *Milli    `json:"fans_per_seat,omitempty"`
	ClaimWindowS *int      `json:"claim_window_s,omitempty"`
	HoldS        *int      `json:"hold_s,omitempty"`
	Strategy     *Strategy `json:"strategy,omitempty"`
}

// Over returns p with what the opening overrides.
func (o OpeningPolicy) Over(p Policy) Policy {
	set(&p.Mode, o.Mode)
	set(&p.FansPerSeat, o.FansPerSeat)
	set(&p.ClaimWindowS, o.ClaimWindowS)
	set(&p.HoldS, o.HoldS)
	set(&p.Strategy, o.Strategy)
	return p
}

func set[T any](v *T, o *T) {
	if o != nil {
		*v = *o
	}
}

// NewOpening reports freed seats: a quantity or labelled seats.
type NewOpening struct {
	ID       string
	Quantity int // 0 when Seats are given
	Seats    []string
	Tier     string
	Reason   string
	Adjacent bool
	Policy   OpeningPolicy
}

// Reasons are why seats can be free.
var Reasons = []string{"card_declined", "hold_timeout", "returned", "new_inventory"}

// Check returns an Error that names the first field that is not allowed.
func (o *NewOpening) Check() error {
	if err := CheckID("opening", o.ID); err != nil {
		return err
	}
	switch {
	case o.Quantity != 0 && len(o.Seats) != 0:
		return Wrong("quantity", "send quantity or seats, not both")
	case o.Quantity == 0 && len(o.Seats) == 0:
		return Wrong("quantity", "quantity must be 1 to %d, or name the seats", MaxQuantity)
	case o.Quantity < 0 || o.Quantity > MaxQuantity || len(o.Seats) > MaxQuantity:
		return Wrong("quantity", "quantity must be 1 to %d", MaxQuantity)
	case o.Adjacent && len(o.Seats) == 0:
		return Wrong("adjacent", "adjacent needs seats, in the order of the row")
	case !slices.Contains(Reasons, o.Reason):
		return Wrong("reason", "reason must be one of %s", strings.Join(Reasons, ", "))
	}
	seen := make(map[string]bool, len(o.Seats))
	for _, label := range o.Seats {
		if err := CheckText("seats", label, true, MaxLabel); err != nil {
			return err
		}
		if seen[label] {
			return Wrong("seats", "seats names %s twice", label)
		}
		seen[label] = true
	}
	return CheckTier(o.Tier)
}

// Size is the number of seats reported.
func (o *NewOpening) Size() int { return max(o.Quantity, len(o.Seats)) }

// Fingerprint is what makes two reports of one opening the same, after defaults;
// of the policy it holds what was sent.
func (o *NewOpening) Fingerprint() ([]byte, error) {
	seats := o.Seats
	if len(seats) == 0 {
		seats = nil // an empty list and none say the same
	}
	return json.Marshal(map[string]any{
		"quantity": o.Size(), "seats": seats, "tier": o.Tier, "reason": o.Reason,
		"adjacent": o.Adjacent, "policy": o.Policy,
	})
}

// Demand is how many more parties' seats an opening asks fans for: its free
// seats times fans per seat, rounded up, less the parties of live turns that can
// still fit.
func Demand(free int, perSeat Milli, live int) int {
	hi, lo := bits.Mul64(uint64(free), uint64(perSeat))
	q, r := bits.Div64(hi, lo, 1000)
	if r > 0 {
		q++
	}
	return max(0, int(q)-live)
}
