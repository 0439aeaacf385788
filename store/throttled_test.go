package store_test

import (
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

// Which answer is about whom is what the provider's package reads; here is what comes of it.
func TestAnAnswerAboutOneAddressSlowsNobodyElse(t *testing.T) {
	t.Parallel()
	for outcome, lowered := range map[delivery.Outcome]bool{delivery.Throttled: true, delivery.AddressThrottled: false} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.limits = "apns=1000/s"
			o.restart()
			o.stadium(waitlist.PolicyChange{})
			ada, bob := o.device("ada", notifier.APNs, "phone"), o.device("bob", notifier.APNs, "phone")
			o.channels[notifier.APNs].answer = func(e *delivery.Envelope) delivery.Verdict {
				if e.Address.To == ada && e.Attempt == 1 {
					return delivery.Verdict{Outcome: outcome, Reason: "429", RetryAfter: 2 * time.Second}
				}
				return delivery.Verdict{Outcome: delivery.Accepted}
			}
			o.turn("s", "o", "ada", "bob")
			if got := o.inForce.State(t.Context(), notifier.APNs); (got.InForce.N < 1000) != lowered {
				t.Errorf("the limit in force is %+v", got)
			}
			if lowered { // all wait, by the clock of Redis
				o.wantPhases("ada", "apns: accepted throttled(429)")
				return
			}
			o.after(5 * time.Second)
			o.wantSent(notifier.APNs, ada, ada, bob)
		})
	}
}
