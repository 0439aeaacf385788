package delivery

import (
	"time"

	"fanline/notifier"
)

// Parcel is an item on its way to a fan, as it is at one moment.
type Parcel struct {
	FanNo  int64
	Item   notifier.ItemRef
	ItemID string
	Lane   notifier.Lane
	// Moment is the item's, which the steps are counted from; Latest is when a step
	// is due at the latest, and from Expires on the item is of no use.
	Moment, Latest, Expires time.Time
	// Channels were asked for by who made the item; nil: as the fan prefers.
	Channels []notifier.Channel
	Zone     *time.Location // of the show; nil without one
	URL      string         // opens what the item is about
	// Seen: the fan looked at the item or acted on it, and hears no more of it.
	Seen bool
	// Over is why nothing may be sent of it any more; "" while something may.
	Over string
	// Tried are the deliveries so far; filled where it is asked for.
	Tried []Tried
	// Render makes the item with its texts, in the language of a locale.
	Render func(locale string) notifier.Item
	// Contents are the items that a digest tells of.
	Contents []Content
}

// Content is an item in a digest.
type Content struct {
	Title, Body string
	URL         string // "" without one
}

// Tried is a delivery of a parcel that was begun.
type Tried struct {
	Channel    notifier.Channel
	AddressRef string
	State      DeliveryState
	NextAt     time.Time
}

// lost says that the process that had it died before it recorded anything.
func (t *Tried) lost(now time.Time) bool { return t.State == StateLeased && !t.NextAt.After(now) }

// Batch names parcels: an opening's turns of some fans, messages, digests, or an
// announcement to those of the entries numbered above From, up to To, who have an
// address of Channel.
type Batch struct {
	Opening      int64
	Fans         []int64
	Messages     []int64
	Digests      []int64
	Announcement int64
	Channel      notifier.Channel
	From, To     int64
}

// DeliveryState is whether a delivery may be attempted.
type DeliveryState string

// The states of a delivery. Leased: an attempt is under way, or was when its
// process died. Waiting: the next attempt has its time. Sent: the provider took
// it. Over: it will never go.
const (
	StateLeased  DeliveryState = "leased"
	StateWaiting DeliveryState = "waiting"
	StateSent    DeliveryState = "sent"
	StateGone    DeliveryState = "over"
)

// Draft is a delivery that is to be made.
type Draft struct {
	Key        notifier.DeliveryKey
	FanNo      int64
	Item       notifier.ItemRef
	ItemID     string
	Moment     time.Time // whose day is the key's
	Lane       notifier.Lane
	Channel    notifier.Channel
	AddressRef string
	// Token is that of a device, which must still be the fan's; "" for others.
	Token string
	// Attempt is that of the lease; 0 without one.
	Attempt int
}

// LeaseKey names a delivery that was leased.
type LeaseKey struct {
	Key     notifier.DeliveryKey
	Moment  time.Time // whose day is the key's
	Attempt int       // that it was leased for
}

// Lease is the answer to a wish to attempt a delivery.
type Lease struct {
	// Mine: the caller may attempt it, and nobody else does until it is put.
	Mine bool
	// Attempt counts from 1. Unsure: the one before may have been accepted.
	Attempt int
	Unsure  bool
	// State of one that is not the caller's; "" when the address is no longer the
	// fan's. NextAt is when one that is leased or waiting may be attempted.
	State  DeliveryState
	NextAt time.Time
}

// Result is what became of a delivery.
type Result struct {
	Draft
	State      DeliveryState
	NextAt     time.Time // of one that waits
	Phase      notifier.Phase
	Reason     string
	ProviderID string
	Unsure     bool
}

// draft is the parcel's delivery to an address.
func (x *Parcel) draft(a *Address) Draft {
	d := Draft{
		Key: notifier.KeyOf(x.Item, x.FanNo, a.Channel, a.Identity()), FanNo: x.FanNo, Item: x.Item, ItemID: x.ItemID,
		Moment: x.Moment, Lane: x.Lane, Channel: a.Channel, AddressRef: addressRef(a),
	}
	if a.Channel.IsPush() {
		d.Token = a.To
	}
	return d
}

// addressRef names an address without saying what it is.
func addressRef(a *Address) string {
	switch a.Channel {
	case notifier.SMS:
		return "phone"
	case notifier.Email:
		return "email"
	}
	return a.DeviceID
}

// live is the parcel's delivery over sockets.
func (x *Parcel) live() Draft { return x.draft(&Address{Channel: notifier.Live}) }

// channels are those by which the fan is to hear of the parcel.
func (x *Parcel) channels(r *Recipient) []notifier.Channel {
	if x.Channels != nil && len(x.Channels) == 0 {
		return nil
	}
	return r.For(x.Item.Kind, x.Lane, x.Channels)
}
