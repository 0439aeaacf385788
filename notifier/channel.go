package notifier

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"time"
)

// Channel is a way to a fan.
type Channel string

// The channels.
const (
	Live    Channel = "live" // a WebSocket
	APNs    Channel = "apns"
	FCM     Channel = "fcm"
	WebPush Channel = "webpush"
	SMS     Channel = "sms"
	Email   Channel = "email"
)

// Push are the channels to the devices of a fan: "push" in a list of channels
// stands for all three.
var Push = []Channel{APNs, FCM, WebPush}

// Channels are all of them.
var Channels = []Channel{Live, APNs, FCM, WebPush, SMS, Email}

// IsPush says whether the channel goes to a device.
func (c Channel) IsPush() bool { return slices.Contains(Push, c) }

// DefaultChannels are the words of the channels by which fans hear of a kind unless
// they say otherwise.
func DefaultChannels(k Kind) []string {
	if k == KindTurn {
		return []string{string(Live), "push", string(SMS), string(Email)}
	}
	return []string{string(Live), "push"}
}

// PreferenceOf is the kind whose preference counts for items of a kind: what became
// of a turn is told like the turn.
func PreferenceOf(k Kind) Kind {
	if k == KindResult {
		return KindTurn
	}
	return k
}

// PreferenceKinds are those that fans choose channels for.
var PreferenceKinds = []Kind{KindTurn, KindAnnouncement, KindMessage}

// OptOutKinds are those that owners of addresses opt out of one by one. Their order
// is part of the tokens that were sent.
var OptOutKinds = []Kind{KindTurn, KindAnnouncement, KindMessage, KindDigest}

// Phase is how far a delivery is.
type Phase string

// The phases of a delivery. Accepted, queued and throttled come before a send;
// sent says that the provider took it; delivered and opened that it told so later;
// the others end it.
const (
	PhaseAccepted     Phase = "accepted"
	PhaseQueued       Phase = "queued"
	PhaseThrottled    Phase = "throttled"
	PhaseSent         Phase = "sent"
	PhaseDelivered    Phase = "delivered"
	PhaseOpened       Phase = "opened"
	PhaseFailed       Phase = "failed"
	PhaseBounced      Phase = "bounced"
	PhaseSkipped      Phase = "skipped"
	PhaseDeduplicated Phase = "deduplicated"
)

// EventOf is the type of the event that a delivery reached a phase.
func EventOf(p Phase) EventType { return EventType("delivery." + string(p)) }

// ItemRef names an item in the database's numbers: an opening for turns and
// results, an announcement, a message.
type ItemRef struct {
	Kind Kind
	Ref  int64
}

// DeliveryKey is one item for one fan to one address of a channel. It is the same
// on every attempt, on every instance, after every crash: what the providers
// collapse doubles by.
type DeliveryKey [16]byte

// KeyOf is the key of a delivery. address is what the provider sends to; it does
// not show in the key.
func KeyOf(item ItemRef, fanNo int64, channel Channel, address string) DeliveryKey {
	h := sha256.New()
	for _, s := range []string{string(item.Kind), string(channel), address} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(s))))
		h.Write([]byte(s))
	}
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(item.Ref)))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(fanNo)))
	return DeliveryKey(h.Sum(nil)[:16])
}

// String is the key in hexadecimal: 32 characters, which fit the collapse ids of
// all providers.
func (k DeliveryKey) String() string { return hex.EncodeToString(k[:]) }

// The steps of telling a fan, counted from the item's moment: those who did not
// ack by then are told by the next channels. No step of a turn comes later than
// half of its window.
const (
	PushAfter  = 5 * time.Second
	SMSAfter   = 30 * time.Second
	EmailAfter = 60 * time.Second
)

// StepOf is how long after an item's moment a channel is used.
func StepOf(c Channel) time.Duration {
	switch c {
	case Live:
		return 0
	case SMS:
		return SMSAfter
	case Email:
		return EmailAfter
	}
	return PushAfter
}
