package notifier

import (
	"encoding/json"
	"time"
)

// Stamp is a moment as the contract writes it: RFC 3339, UTC, milliseconds.
type Stamp time.Time

const stampLayout = "2006-01-02T15:04:05.000Z07:00"

// MarshalJSON writes the stamp in UTC with milliseconds.
func (s Stamp) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON reads any RFC 3339 time.
func (s *Stamp) UnmarshalJSON(b []byte) error { return (*time.Time)(s).UnmarshalJSON(b) }

// UnmarshalText reads any RFC 3339 time.
func (s *Stamp) UnmarshalText(b []byte) error { return (*time.Time)(s).UnmarshalText(b) }

func (s Stamp) String() string { return time.Time(s).UTC().Format(stampLayout) }

// StampOf is nil for nil.
func StampOf(t *time.Time) *Stamp {
	if t == nil {
		return nil
	}
	s := Stamp(*t)
	return &s
}

// Lane is a class of urgency with its own queues and workers.
type Lane string

// The lanes.
const (
	Transactional Lane = "transactional"
	Turns         Lane = "turns"
	Bulk          Lane = "bulk"
)

// Lanes are all of them, the most urgent first.
var Lanes = []Lane{Transactional, Turns, Bulk}

// Kind is what an item is about.
type Kind string

// The kinds of items.
const (
	KindTurn         Kind = "turn"
	KindResult       Kind = "result"
	KindAnnouncement Kind = "announcement"
	KindMessage      Kind = "message"
	// KindDigest is the daily mail of what is unread. It is in no inbox.
	KindDigest Kind = "digest"
)

// TurnState is the state of a turn's item.
type TurnState string

// The states of a turn's item. A result's state is filled, cancelled, confirmed
// or lapsed.
const (
	StateOpen    TurnState = "open"
	StateClaimed TurnState = "claimed"
	StateOver    TurnState = "over"
)

// Item is what a fan can pick up from the inbox: the same bytes for the live push
// and the pick-up, but for what has changed in between.
type Item struct {
	ID        string          `json:"id"`
	Kind      Kind            `json:"kind"`
	Type      string          `json:"type,omitempty"`
	Lane      Lane            `json:"lane"`
	ShowID    string          `json:"show_id,omitempty"`
	OpeningID string          `json:"opening_id,omitempty"`
	Title     string          `json:"title"`
	Body      string          `json:"body"`
	Data      json.RawMessage `json:"data,omitempty"`
	Seats     int             `json:"seats,omitempty"` // the party size
	State     TurnState       `json:"state,omitempty"`
	OpensAt   *Stamp          `json:"opens_at,omitempty"`
	ClosesAt  *Stamp          `json:"closes_at,omitempty"`
	CreatedAt Stamp           `json:"created_at"`
	ReadAt    *Stamp          `json:"read_at"`
}

// TurnID is the id of the item of a fan's turn.
func TurnID(show, opening string) string { return "turn:" + show + ":" + opening }

// ResultID is the id of the item of what became of a turn.
func ResultID(show, opening string) string { return "result:" + show + ":" + opening }

// AnnouncementID is the id of the item of an announcement.
func AnnouncementID(show, id string) string { return "ann:" + show + ":" + id }

// DigestID is the id of a digest, by its day.
func DigestID(day string) string { return "digest:" + day }

// Update tells a connected fan that the state of an item changed.
type Update struct {
	ID    string    `json:"id"`
	State TurnState `json:"state"`
}
