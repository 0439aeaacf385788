package notifier

import "time"

// EventType is what an event says happened.
type EventType string

// The events that subscribers and readers of the stream get.
const (
	OpeningRecorded EventType = "opening.recorded"
	OpeningWave     EventType = "opening.wave"
	// WaveCapped: sales close before turns of a wave would have. For instances
	// alone: the contract's stream has no such event.
	WaveCapped       EventType = "wave.capped"
	OpeningFilled    EventType = "opening.filled"
	OpeningExhausted EventType = "opening.exhausted"
	OpeningCancelled EventType = "opening.cancelled"
	SeatsReturned    EventType = "seats.returned"
	TurnOpened       EventType = "turn.opened"
	TurnDeclined     EventType = "turn.declined"
	TurnLapsed       EventType = "turn.lapsed"
	ClaimHeld        EventType = "claim.held"
	ClaimConfirmed   EventType = "claim.confirmed"
	ClaimReleased    EventType = "claim.released"
	ClaimLapsed      EventType = "claim.lapsed"
	EntryJoined      EventType = "entry.joined"
	EntryLeft        EventType = "entry.left"
	EntryMoved       EventType = "entry.moved"
	EntryDormant     EventType = "entry.dormant"
	// DeviceRetired: a device is forgotten, by a provider's verdict or for another.
	DeviceRetired EventType = "device.retired"
	FanErased     EventType = "fan.erased"
	// FanSignedOut: the fan's sockets of before are to be closed. For instances
	// alone, like WaveCapped.
	FanSignedOut EventType = "fan.signed_out"
	// AnnouncementSent: one was taken; its Ref is the announcement's number. For
	// instances and subscribers alone, as WaveCapped.
	AnnouncementSent EventType = "announcement.sent"
	// MessageAccepted: messages were taken in. For instances alone, as WaveCapped:
	// the stream tells of their deliveries.
	MessageAccepted EventType = "message.accepted"
)

// Event is something that happened, stored with its cause in one transaction. It
// carries numbers and ids, never texts.
type Event struct {
	ID        int64
	Type      EventType
	At        time.Time
	ShowNo    int32
	OpeningNo int64
	FanNo     int64
	Ref       int64 // the announcement's number, of an event about one
}

// Subscriber is a part of the program that gets events, each with its own jobs
// and retries. The table stands here since whoever stores an event must store
// the jobs of all its subscribers, also of those that run elsewhere.
type Subscriber string

// The subscribers.
const (
	WriteStrategy Subscriber = "write"
	ReadStrategy  Subscriber = "read"
	// Blasts bring announcements to those who are not looking.
	Blasts Subscriber = "blasts"
)

var subscribers = map[EventType][]Subscriber{
	OpeningRecorded:  {WriteStrategy, ReadStrategy},
	AnnouncementSent: {Blasts},
}

// SubscribersOf returns who gets events of type t.
func SubscribersOf(t EventType) []Subscriber { return subscribers[t] }

// laneOf is the lane of an event's jobs.
func laneOf(t EventType) Lane {
	if t == AnnouncementSent {
		return Bulk
	}
	return Turns
}
