package store_test

import (
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

// A turn that lapsed is unreachable, and no miss, when something was tried for a fan
// who was not connected and did not look, and nothing took it.
func TestATurnThatNoChannelTookIsUnreachableAndNoMiss(t *testing.T) {
	t.Parallel()
	fails := func(o *office) { o.channels[notifier.APNs].say(delivery.Refused) }
	device := func(o *office) { o.device("ada", notifier.APNs, "phone") }
	for name, c := range map[string]struct {
		before []func(o *office)
		during func(o *office)
		reason waitlist.Reason
	}{
		"refused":       {[]func(*office){device, fails}, nil, waitlist.IsUnreachable},
		"provider down": {[]func(*office){device, func(o *office) { o.channels[notifier.APNs].say(delivery.Retry) }}, nil, waitlist.IsUnreachable},
		"night": {[]func(*office){device, func(o *office) {
			o.profile("ada", func(p *delivery.Profile) error {
				p.TurnAtNight = false
				return p.SetQuiet("00:00", "23:59")
			})
		}}, nil, waitlist.IsUnreachable},
		"accepted":   {[]func(*office){device}, nil, waitlist.TurnLapsed},
		"no address": {nil, nil, waitlist.TurnLapsed},
		"connected":  {[]func(*office){device, fails, func(o *office) { o.online[o.fanNo("ada")] = true }}, nil, waitlist.TurnLapsed},
		"one of two": {[]func(*office){device, fails, func(o *office) { o.device("ada", notifier.FCM, "tablet") }}, nil, waitlist.TurnLapsed},
		"looked": {[]func(*office){device, fails}, func(o *office) {
			must(o.t, o.store.Ack(o.t.Context(), "ada", []string{"turn:s:o"}))
		}, waitlist.TurnLapsed},
		"declined": {[]func(*office){device, fails}, func(o *office) {
			must(o.t, o.Decline(o.t.Context(), at("s", "o"), "ada"))
		}, waitlist.TurnDeclined},
		"filled": {[]func(*office){device, fails}, func(o *office) { o.buy("s", "o", "bob"); o.decide() }, waitlist.EndFilled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.stadium(waitlist.PolicyChange{MaxMissed: waitlist.Some(1), FansPerSeat: waitlist.Some(waitlist.Milli(2000))})
			for _, f := range c.before {
				f(o)
			}
			o.join("s", "ada", "bob")
			o.free("s", "o", 1)
			o.decide()
			o.after(5 * time.Second)
			if c.during != nil {
				c.during(o)
			}
			for range 12 {
				o.pass(time.Minute)
				o.deliver()
			}
			o.wantReason("s", "o", "ada", c.reason)
			if traced := o.traced("s", "ada"); traced != c.reason {
				t.Errorf("the trace says %s, the verdict %s", traced, c.reason)
			}
			if dormant := o.entry("s", "ada").Dormant; dormant != (c.reason == waitlist.TurnLapsed) {
				t.Errorf("%s: dormant %v", c.reason, dormant)
			}
		})
	}
}

func (o *office) traced(show, fan string) waitlist.Reason {
	o.t.Helper()
	tr, err := o.Trace(o.t.Context(), show, fan, 0, 10)
	must(o.t, err)
	return tr.Items[0].Reason
}
