package store_test

import (
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

func TestADeliveryThatPanicsFailsAloneAndMovesOn(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	poison, fine := o.device("ada", notifier.APNs, "phone"), o.device("bob", notifier.APNs, "phone")
	o.contact("ada", "+12025550101", "")
	o.channels[notifier.APNs].answer = func(e *delivery.Envelope) delivery.Verdict {
		if e.Address.To == poison {
			panic("a text that the payload cannot bear")
		}
		return delivery.Verdict{Outcome: delivery.Accepted}
	}
	o.turn("s", "o", "ada", "bob")
	o.after(10 * time.Second)
	o.wantSent(notifier.APNs, poison, fine)
	o.wantSent(notifier.SMS, "+12025550101")
	o.wantPhases("ada", "apns: accepted failed(internal)", "sms: accepted sent")
	if n := o.p.Stats().Panics.Load(); n != 1 {
		t.Errorf("%d panics counted, want 1", n)
	}
}

func TestAnAttemptThatMayHaveBeenTakenIsUnsureUntilOneIs(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	o.contact("ada", "+12025550101", "")
	answers := []delivery.Outcome{delivery.Unsure, delivery.Retry, delivery.Accepted}
	o.channels[notifier.SMS].answer = func(e *delivery.Envelope) delivery.Verdict {
		return delivery.Verdict{Outcome: answers[e.Attempt-1]}
	}
	o.turn("s", "o", "ada")
	o.after(10 * time.Second)
	for i, e := range o.channels[notifier.SMS].got {
		if want := i > 0; e.LastUnsure != want {
			t.Errorf("attempt %d is told that one before may have been taken: %v, want %v", e.Attempt, e.LastUnsure, want)
		}
	}
	if n := len(o.channels[notifier.SMS].got); n != 3 {
		t.Errorf("%d attempts, want 3", n)
	}
}
