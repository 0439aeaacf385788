package callback

import (
	"time"

	"fanline/delivery"
	"fanline/notifier"
)

// PushCall is what the fan app's server tells of one push.
type PushCall struct {
	Event string `json:"event"`
	// Delivery is its id, as GET /v1/notifications/{id} and the events have it: the
	// collapse id of the push, the tag of its notification.
	Delivery string `json:"delivery"`
}

// Push reads the calls of the fan app's server.
type Push struct{ Secret []byte }

// Read takes a call apart.
func (p *Push) Read(now time.Time, c *delivery.Call) (delivery.Told, error) {
	id, err := verify(p.Secret, now, c)
	if err != nil {
		return delivery.Told{}, err
	}
	var call PushCall
	if err := decode(c.Body, &call); err != nil {
		return delivery.Told{}, err
	}
	key, ok := parseKey(call.Delivery)
	if !ok {
		return delivery.Told{}, bad("delivery", "must be the id of a delivery: 32 hexadecimal digits")
	}
	r := &delivery.Report{Channels: notifier.Push, Key: &key}
	switch call.Event {
	case "delivered":
		r.Phase = notifier.PhaseDelivered
	case "opened":
		r.Phase = notifier.PhaseOpened
	default:
		return delivery.Told{}, bad("event", "must be delivered or opened")
	}
	return told(id, c, r), nil
}
