package delivery

import (
	"context"
	"slices"
	"time"

	"fanline/notifier"
)

// Recipient is how a fan wants to be told, and where.
type Recipient struct {
	FanNo  int64
	Locale string         // as "de-CH"; "" is English
	Zone   *time.Location // nil: the show's, else UTC
	// Quiet hours hold back all but transactional items, and turns too unless
	// TurnAtNight.
	Quiet       *QuietHours
	TurnAtNight bool
	// Channels by kind (turn, announcement, message), with the defaults filled in:
	// live and push, for turns also sms and email.
	Channels map[notifier.Kind][]notifier.Channel
	// OptedOut are the kinds that the owner of the fan's mailbox or number wants no
	// more, by channel. The channels to use are those of For.
	OptedOut map[notifier.Channel][]notifier.Kind
	// Addresses that can be used: neither retired nor opted out of as a whole.
	Addresses []Address
}

// For are the channels by which the fan is to hear of an item of this kind and
// lane: those asked for, or else the fan's own, less what they unsubscribed from,
// which transactional items are exempt from.
func (r *Recipient) For(kind notifier.Kind, lane notifier.Lane, asked []notifier.Channel) []notifier.Channel {
	kind = notifier.PreferenceOf(kind)
	if len(asked) == 0 {
		asked = r.Channels[kind]
	}
	if lane == notifier.Transactional {
		return asked
	}
	var channels []notifier.Channel
	for _, c := range asked {
		if !slices.Contains(r.OptedOut[c], kind) {
			channels = append(channels, c)
		}
	}
	return channels
}

// Recipients finds recipients. store implements it.
type Recipients interface {
	// Recipients returns those of the fans who are known, in one statement or a few
	// whatever their number (at most 1,000), with their addresses of these channels.
	Recipients(ctx context.Context, fans []int64, channels []notifier.Channel) (map[int64]*Recipient, error)
	// RetireAddress forgets an address that a provider called dead: only if it was
	// registered before deadSince and still belongs to the fan. It is the one place
	// where that happens. It says whether it did.
	RetireAddress(ctx context.Context, fanNo int64, a Address, deadSince time.Time, reason string) (bool, error)
	// UnuseDevice keeps a device but does not use it until it is registered again.
	UnuseDevice(ctx context.Context, fanNo int64, a Address, reason string) error
	// MoveDevice notes the environment of APNs that a token turned out to be of.
	MoveDevice(ctx context.Context, fanNo int64, a Address, environment string) error
	// OptOut stops a channel to an address from a sender; "" is every sender. It
	// holds for whoever has the address, however they write it, until OptIn.
	OptOut(ctx context.Context, channel notifier.Channel, address, sender, reason string) error
	// OptIn takes an OptOut of that sender back: the owner wrote START.
	OptIn(ctx context.Context, channel notifier.Channel, address, sender string) error
	// UnsubscribeToken signs the address's one-click opt-out of a kind: what comes
	// behind /u/ in Envelope.Unsubscribe.
	UnsubscribeToken(ctx context.Context, a Address, kind notifier.Kind) (string, error)
}
