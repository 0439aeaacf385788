package web

import (
	"context"

	"fanline/delivery"
	"fanline/notifier"
)

// Recipients is who is told what where. *store.Store is one. A change returns the
// error of the function that makes it.
type Recipients interface {
	// Profile returns a fan's contact and preferences; one who was never named has
	// the defaults.
	Profile(ctx context.Context, fan string) (delivery.Profile, error)
	// PutProfile changes them. again are the kinds whose channels the fan chose in
	// person, which takes back what they had unsubscribed from.
	PutProfile(ctx context.Context, fan string, change func(*delivery.Profile) error, again ...notifier.Kind) (delivery.Profile, error)

	// Device returns a device; one that was retired or moved is not found.
	Device(ctx context.Context, fan, device string) (delivery.Device, error)
	// PutDevice registers a device: its token is this fan's alone from then on.
	PutDevice(ctx context.Context, fan, device string, change func(*delivery.Device) error) (d delivery.Device, created bool, err error)
	// ForgetDevice removes a device, or all of the fan's for "". Again: no error.
	ForgetDevice(ctx context.Context, fan, device string) error

	// Subscription says what the token of a message opts out of; Unsubscribe does
	// it. A token that is not genuine is not found.
	Subscription(ctx context.Context, token string) (notifier.Channel, notifier.Kind, error)
	Unsubscribe(ctx context.Context, token string) (notifier.Channel, notifier.Kind, error)
}
