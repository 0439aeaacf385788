package notifier

import (
	"context"
	"errors"
	"time"
)

// ErrTooOld is joined to the refusal of a place in the stream that lies before what
// is kept.
var ErrTooOld = errors.New("the stream is not kept from there on any more")

// Endpoint is where the ticketing app wants to be told of events.
type Endpoint struct {
	ID        string
	URL       string
	Types     []EventType // nil: all
	Secret    []byte
	CreatedAt time.Time
	// Attempts counts those of the event that is due, so far. They failed since
	// FailingSince; LastError says how the last one did.
	Attempts     int
	FailingSince *time.Time
	LastError    string
	DisabledAt   *time.Time
}

// Follower is the endpoint's name among those who follow the stream.
func (e *Endpoint) Follower() string { return "webhook:" + e.ID }

// EndpointChange is a change of an endpoint; nil leaves a field as it is. Any
// change enables an endpoint that was disabled.
type EndpointChange struct {
	URL    *string
	Types  *[]EventType
	Secret []byte
}

// Endpoints keeps endpoints. store implements it.
type Endpoints interface {
	// PutEndpoint makes or changes an endpoint. A new one hears of what happens from
	// then on.
	PutEndpoint(ctx context.Context, id string, c EndpointChange) (e Endpoint, created bool, err error)
	Endpoint(ctx context.Context, id string) (Endpoint, error)
	// DeleteEndpoint is no error where there is none.
	DeleteEndpoint(ctx context.Context, id string) error
}
