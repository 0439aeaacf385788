package delivery

import (
	"context"
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
	// Addresses that can be used: neither retired nor opted out.
	Addresses []Address
}

// QuietHours are a span of the day by a wall clock, as minutes after midnight;
// From may be later than To. Equal ends: never quiet.
type QuietHours struct{ From, To int }

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
	// OptOut stops a channel to an address from a sender; "" is every sender.
	OptOut(ctx context.Context, channel notifier.Channel, address, sender, reason string) error
}
