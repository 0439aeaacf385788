package notifier

import (
	"context"
	"encoding/json"
	"slices"
)

// StreamTypes are the types of the events that the stream shows. The others are
// for instances alone.
var StreamTypes = []EventType{
	OpeningRecorded, OpeningWave, OpeningFilled, OpeningExhausted, OpeningCancelled, SeatsReturned,
	TurnOpened, TurnDeclined, TurnLapsed, ClaimHeld, ClaimConfirmed, ClaimReleased, ClaimLapsed,
	EntryJoined, EntryLeft, EntryMoved, EntryDormant,
	EventOf(PhaseAccepted), EventOf(PhaseQueued), EventOf(PhaseThrottled), EventOf(PhaseSent), EventOf(PhaseDelivered),
	EventOf(PhaseOpened), EventOf(PhaseFailed), EventOf(PhaseBounced), EventOf(PhaseSkipped), EventOf(PhaseDeduplicated),
	DeviceRetired, FanErased,
}

// IsStreamed says whether the stream shows events of that type.
func IsStreamed(t EventType) bool { return slices.Contains(StreamTypes, t) }

// StreamEvent is an event as readers of the stream get it.
type StreamEvent struct {
	// ID names the event for ever, and is where the stream goes on after it.
	ID        string          `json:"id"`
	Type      EventType       `json:"type"`
	At        Stamp           `json:"at"`
	ShowID    string          `json:"show_id,omitempty"`
	OpeningID string          `json:"opening_id,omitempty"`
	Fan       int64           `json:"fan,omitempty"`
	FanID     string          `json:"fan_id,omitempty"` // gone after erasure
	Data      json.RawMessage `json:"data"`
}

// StreamQuery selects a page of the stream.
type StreamQuery struct {
	After string      // an event's ID or a page's Next; "": from the oldest that is kept
	Types []EventType // none: all
	Limit int
	// WithoutFanID leaves out who the fans are.
	WithoutFanID bool
}

// StreamPage is a page of the stream. Next is where to go on: behind the last
// event, or further when what follows is of other types. It is After where nothing
// follows.
type StreamPage struct {
	Events []StreamEvent
	Next   string
}

// Stream is the log of what happened, in the order of the transactions. A reader
// who goes on from each page's Next gets every event once, also those of
// transactions that commit late. store implements it.
type Stream interface {
	// Stream returns a page. It refuses an After that is not of this stream, or so
	// old that what followed it is not kept any more.
	Stream(ctx context.Context, q StreamQuery) (StreamPage, error)
	// StreamHead is where the stream ends for now.
	StreamHead(ctx context.Context) (string, error)
}
