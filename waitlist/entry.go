package waitlist

import "time"

// State is where an entry stands.
type State string

// The states of an entry. Only a waiting one can be given a turn.
const (
	Waiting State = "waiting"
	Holding State = "holding"
	Bought  State = "bought"
	Left    State = "left"
	Removed State = "removed"
)

// InLine says whether the fan is in the show's line.
func (s State) InLine() bool { return s == Waiting || s == Holding }

// Limits of the contract for entries.
const (
	MaxParty   = 20
	MaxTier    = 64
	MaxReason  = 500
	MaxPerPage = 500
)

// Entry is one fan in one show's line.
type Entry struct {
	ShowNo int32
	FanNo  int64
	FanID  string
	// No is the entry number: given once, never changed; it keys everything.
	No int64
	// Place is the sort key, unique within the show.
	Place   int64
	Party   int
	Tier    string // "": any
	State   State
	Dormant bool
	// Missed counts the turns missed in a row.
	Missed   int
	JoinedAt time.Time // kept for show; it orders nothing
	// JoinedDecision is the show's decision number when the entry first joined:
	// earlier decisions did not know it.
	JoinedDecision int64
	// Position is the 1-based rank among those waiting and not dormant, or 0.
	Position int64
}

// Active says whether the entry can be given a turn and has a position.
func (e *Entry) Active() bool { return e.State == Waiting && !e.Dormant }

// Join asks for a place in a show's line.
type Join struct {
	FanID    string
	Party    int
	Tier     string
	JoinedAt time.Time // zero: now
	// FanNo is the fan's number where NameFans has filled it in, or 0.
	FanNo int64
	// Once is the idempotency key of the request, or nil.
	Once *Once
}

// Check returns an Error that names the first field that is not allowed.
func (j Join) Check() error {
	if err := CheckFanID("fan_id", j.FanID); err != nil {
		return err
	}
	if j.JoinedAt.Year() > 9999 {
		return Wrong("joined_at", "joined_at must be an RFC 3339 time")
	}
	return checkPlace(j.Party, j.Tier)
}

func checkPlace(party int, tier string) error {
	if party < 1 || party > MaxParty {
		return Wrong("party_size", "party_size must be 1 to %d", MaxParty)
	}
	return CheckTier(tier)
}

// CheckTier returns an Error unless tier is empty or a name the contract allows.
func CheckTier(tier string) error { return CheckText("tier", tier, false, MaxTier) }

// Joined is the answer to one Join.
type Joined struct {
	Entry Entry
	// New is false when the entry that stands was returned.
	New bool
	Err error
}

// Move is what staff may do with an entry's place.
type Move string

// The moves of staff.
const (
	MoveFront   Move = "front"
	MoveRestore Move = "restore"
)

// EntryChange changes an entry; nil leaves the field.
type EntryChange struct {
	Party *int
	Tier  *string
	Move  Move
	// Reason is required with Move and shows in the trace.
	Reason string
}

// Check returns an Error that names the first field that is not allowed.
func (c EntryChange) Check() error {
	if c.Party == nil && c.Tier == nil && c.Move == "" {
		return Wrong("party_size", "nothing to change: send party_size, tier or move")
	}
	if c.Party != nil {
		if err := checkPlace(*c.Party, ""); err != nil {
			return err
		}
	}
	if c.Tier != nil {
		if err := CheckTier(*c.Tier); err != nil {
			return err
		}
	}
	if c.Move != "" && c.Move != MoveFront && c.Move != MoveRestore {
		return Wrong("move", "move must be front or restore")
	}
	return CheckText("reason", c.Reason, c.Move != "", MaxReason)
}

// EntryFilter selects a page of a show's line.
type EntryFilter struct {
	State State // "": all
	// AfterPlace continues behind that place; nil starts at the front.
	AfterPlace *int64
	Limit      int
}

// Change is a row of an entry's log: what the entry was before something changed
// it. Decisions numbered above Decision saw the change; the others did not.
type Change struct {
	Decision int64
	At       time.Time
	What     string // rejoined, left, moved, ...; a first join is not logged
	Reason   string
	Before   Entry
}

// AsOf returns the entry as decision saw it, or nil when it had not joined. log
// holds the changes oldest first.
func (e Entry) AsOf(decision int64, log []Change) *Entry {
	if e.JoinedDecision >= decision {
		return nil
	}
	for i := range log {
		if log[i].Decision >= decision {
			was := log[i].Before
			return &was
		}
	}
	return &e
}
