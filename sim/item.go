package sim

import (
	"encoding/json"
	"time"
)

// Item is what a fan can pick up.
type Item struct {
	ID        string          `json:"id"`
	Kind      string          `json:"kind"` // "turn", "result", "announcement" or "message"
	Type      string          `json:"type"`
	Lane      string          `json:"lane"`
	ShowID    string          `json:"show_id"`
	OpeningID string          `json:"opening_id"`
	Title     string          `json:"title"`
	Body      string          `json:"body"`
	Data      json.RawMessage `json:"data"`
	Seats     int             `json:"seats"`
	State     string          `json:"state"` // of a turn: "open", "claimed" or "over"
	OpensAt   time.Time       `json:"opens_at"`
	ClosesAt  time.Time       `json:"closes_at"`
	CreatedAt time.Time       `json:"created_at"`
	ReadAt    *time.Time      `json:"read_at"`

	At time.Time `json:"-"` // when it came over the socket; zero from REST
}

// Frame is one message of the server on a socket. Which fields are set depends
// on Type.
type Frame struct {
	Type         string    `json:"type"`
	Session      string    `json:"session"`
	HeartbeatS   float64   `json:"heartbeat_s"`
	Now          time.Time `json:"now"`
	Reset        bool      `json:"reset"`
	Item         *Item     `json:"item"`
	Cursor       string    `json:"cursor"`
	InS          float64   `json:"in_s"`
	ID           string    `json:"id"`
	State        string    `json:"state"`
	ClosesAt     time.Time `json:"closes_at"`
	ShowID       string    `json:"show_id"`
	Position     int       `json:"position"`
	RetryAfterMS int64     `json:"retry_after_ms"`

	At     time.Time       `json:"-"` // when it arrived
	Raw    json.RawMessage `json:"-"` // as it arrived
	Double bool            `json:"-"` // an item that this fan had before
}
