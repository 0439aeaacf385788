package notifier

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// How long a message may take to reach a fan: by default, and at most.
const (
	UrgentTTL = 10 * time.Minute // of transactional messages
	BulkTTL   = 24 * time.Hour
	MaxTTL    = 28 * 24 * time.Hour // what providers keep a message for
)

// For how long another message with the same key is the same one: a key of the
// caller's, and the hash that stands in for one.
const (
	keyLasts  = 24 * time.Hour
	hashLasts = time.Minute
)

// NewMessage is a message for one fan, with the defaults filled in.
type NewMessage struct {
	FanID       string
	Lane        Lane   // Transactional or Bulk
	Type        string // the caller's word
	Title, Body string
	Data        json.RawMessage // an object, or nil
	// Channels take the place of the fan's preference; nil: as the fan prefers.
	Channels []Channel
	DedupKey string
	TTL      time.Duration
	// Inbox: the fan can pick it up there.
	Inbox bool
}

// DedupKey is what two messages of one API key to one fan have in common when the
// second is the first one again.
type DedupKey [sha256.Size]byte

// Key returns the message's key among those of an API key and a fan, and how long
// it lasts from the first message on.
func (m *NewMessage) Key(apiKey string, fanNo int64) (DedupKey, time.Duration) {
	if m.DedupKey != "" {
		return sha256.Sum256(fmt.Appendf(nil, "key %q %d %q", apiKey, fanNo, m.DedupKey)), keyLasts
	}
	return sha256.Sum256(fmt.Appendf(nil, "hash %q %d %q %q %q %q", apiKey, fanNo, m.Type, m.Title, m.Body, m.sameData())), hashLasts
}

// sameData is the data written in one way, whatever the order of its fields, which
// many languages shuffle, and its spaces.
func (m *NewMessage) sameData() []byte {
	var fields any
	dec := json.NewDecoder(bytes.NewReader(m.Data))
	dec.UseNumber() // a float would make long numbers equal
	if m.Data == nil || dec.Decode(&fields) != nil {
		return m.Data
	}
	same, err := json.Marshal(fields)
	if err != nil {
		return m.Data
	}
	return same
}

// Accepted is a message that was taken in: a new one, or the first one again.
type Accepted struct {
	ID        string
	FanNo     int64
	Duplicate bool
}

// Message is a message that was taken in.
type Message struct {
	No    int64
	ID    string
	FanNo int64
	Lane  Lane
	// Item is without its texts once they are erased, and without a read mark.
	Item     Item
	Channels []Channel // nil: as the fan prefers
	Inbox    bool
	// ExpiresAt is when it is of no use any more.
	ExpiresAt time.Time
	Erased    bool
}

// MessageID is the id of the item of a message.
func MessageID(id string) string { return "msg:" + id }

// Messages takes messages in and shows them. store implements it.
type Messages interface {
	// Accept takes messages in, all or none, with an answer for each in the order
	// given: each is on its way, or it is the first one again.
	Accept(ctx context.Context, apiKey string, list []NewMessage) ([]Accepted, error)
	// Message returns a message by its id.
	Message(ctx context.Context, id string) (Message, error)
}

// Intake is Messages that makes known for whom there is something new.
type Intake struct {
	Messages
	// Changed tells the instances that hold sockets of fans to look. It does not
	// block.
	Changed func(fans ...int64)
}

// Accept takes messages in.
func (i *Intake) Accept(ctx context.Context, apiKey string, list []NewMessage) ([]Accepted, error) {
	accepted, err := i.Messages.Accept(ctx, apiKey, list)
	if err != nil {
		return nil, err
	}
	var fans []int64
	for _, a := range accepted {
		if !a.Duplicate {
			fans = append(fans, a.FanNo)
		}
	}
	if len(fans) > 0 {
		i.Changed(fans...)
	}
	return accepted, nil
}
