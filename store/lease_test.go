package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/store/storetest"
	"fanline/waitlist"
)

// stalling is the outbox of a process that stands still when it has its leases.
type stalling struct {
	delivery.Outbox
	meanwhile func()
}

func (s stalling) Lease(ctx context.Context, d []delivery.Draft, lease time.Duration) ([]delivery.Lease, error) {
	list, err := s.Outbox.Lease(ctx, d, lease)
	s.meanwhile()
	return list, err
}

// sendsOf gives fans a turn each at one moment and takes the jobs that tell them.
func (o *office) sendsOf(n int) (tokens []string, sends []notifier.SendArgs) {
	o.t.Helper()
	o.stadium(waitlist.PolicyChange{})
	var fans []string
	for i := range n {
		fans = append(fans, fmt.Sprintf("f%02d", i))
		tokens = append(tokens, o.device(fans[i], notifier.APNs, "phone"))
	}
	o.join("s", fans...)
	o.free("s", "o", n)
	o.decide()
	o.pass(time.Second)
	for _, j := range o.dies("plan") {
		must(o.t, o.work(j))
	}
	for _, j := range o.take() {
		sends = append(sends, read[notifier.SendArgs](o.t, j.args))
	}
	return tokens, sends
}

func TestAProcessThatStoodStillSendsNothingThatAnotherSentMeanwhile(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	tokens, sends := o.sendsOf(30)
	other := o.p
	o.outbox = stalling{o.store, func() {
		o.pass(time.Minute)
		must(t, other.Send(t.Context(), sends[0]))
	}}
	o.restart()
	err := o.p.Send(t.Context(), sends[0])
	if later := (*notifier.Later)(nil); !errors.As(err, &later) {
		t.Errorf("its job ends with %v, and does not look whether they were sent", err)
	}
	o.wantSent(notifier.APNs, tokens...)
}

func TestAProcessThatStoodStillAmongItsCallsBeginsNoneThatAnotherMade(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	tokens, sends := o.sendsOf(12)
	other := o.p
	o.limits = "apns=40/s" // two at a time
	o.restart()
	apns, underWay := o.channels[notifier.APNs], 2
	apns.answer = func(*delivery.Envelope) delivery.Verdict {
		apns.mu.Lock()
		apns.answer = nil
		apns.mu.Unlock()
		o.pass(time.Minute)
		underWay += len(apns.to())
		_ = other.Send(context.Background(), sends[0]) // some may be the first one's again
		return delivery.Verdict{Outcome: delivery.Accepted}
	}
	for later := (*notifier.Later)(nil); errors.As(o.p.Send(t.Context(), sends[0]), &later); {
		o.pass(5 * time.Second) // what it did not begin
	}
	if got := slices.Compact(apns.to()); !slices.Equal(got, tokens) {
		t.Errorf("sent to %v, want %v", got, tokens)
	}
	if twice := len(apns.got) - len(tokens); twice > underWay {
		t.Errorf("%d were sent twice, and at most %d were under way", twice, underWay)
	}
}

// draft is a delivery by text message.
func (o *office) draft() delivery.Draft {
	item := notifier.ItemRef{Kind: notifier.KindMessage, Ref: 1}
	return delivery.Draft{
		Key: notifier.KeyOf(item, 1, notifier.SMS, "+12025550101"), FanNo: 1, Item: item, Moment: morning,
		Lane: notifier.Bulk, Channel: notifier.SMS, AddressRef: "phone",
	}
}

// leased is the delivery in the hands of a process that asks for it.
func (o *office) leased(d delivery.Draft) (delivery.Draft, bool) {
	o.t.Helper()
	l, err := o.store.Lease(o.t.Context(), []delivery.Draft{d}, 10*time.Second)
	must(o.t, err)
	d.Attempt = l[0].Attempt
	return d, l[0].Mine
}

func (o *office) put(d delivery.Draft, state delivery.DeliveryState, phase notifier.Phase) {
	o.t.Helper()
	must(o.t, o.store.Put(o.t.Context(), []delivery.Result{{Draft: d, State: state, NextAt: o.time(), Phase: phase}}, nil))
}

func TestALateAnswerOfOneProcessFreesNothingThatAnotherAttempts(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	first, _ := o.leased(o.draft())
	o.pass(11 * time.Second)
	second, mine := o.leased(o.draft())
	if !mine {
		t.Fatal("the lease does not end")
	}
	kept, err := o.store.Renew(t.Context(), []delivery.LeaseKey{{Key: first.Key, Moment: first.Moment, Attempt: first.Attempt}}, time.Hour)
	if err != nil || len(kept) > 0 {
		t.Errorf("the first renews %v, %v", kept, err)
	}
	o.put(first, delivery.StateWaiting, notifier.PhaseQueued)
	if _, mine := o.leased(o.draft()); mine {
		t.Error("a third process has it while the second attempts it")
	}
	o.put(first, delivery.StateSent, notifier.PhaseSent)
	o.put(second, delivery.StateWaiting, notifier.PhaseQueued)
	if _, mine := o.leased(o.draft()); mine {
		t.Error("it is attempted again though the first had it accepted")
	}
}

func TestThatAnAttemptMayHaveBeenTakenIsKnownAfterQuietHours(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.contact("ada", "+12025550101", "")
	o.profile("ada", func(p *delivery.Profile) error { return p.SetQuiet("09:01", "10:00") })
	sms := o.channels[notifier.SMS]
	sms.say(delivery.Unsure)
	m := bulk("ada", "News")
	m.Channels = []notifier.Channel{notifier.SMS}
	o.at(morning.Add(59 * time.Second))
	o.send(m)
	o.deliver()
	sms.say(delivery.Accepted)
	o.after(5 * time.Second)
	if n := len(sms.got); n != 1 {
		t.Fatalf("%d attempts when quiet hours began, want 1", n)
	}
	o.pass(time.Hour)
	o.deliver()
	if n := len(sms.got); n != 2 || !sms.got[n-1].LastUnsure {
		t.Errorf("%d attempts, and the last is told that the first may have been taken: %v", n, sms.got[n-1].LastUnsure)
	}
}

// recording is an outbox that says when something was recorded.
type recording struct {
	delivery.Outbox
	recorded chan struct{}
}

func (r recording) Put(ctx context.Context, results []delivery.Result, then []notifier.PlanArgs) error {
	err := r.Outbox.Put(ctx, results, then)
	r.recorded <- struct{}{}
	return err
}

func TestWhatIsAcceptedIsRecordedWhileItsChunkWaitsForOthers(t *testing.T) {
	t.Parallel()
	for _, away := range []bool{false, true} {
		t.Run(fmt.Sprintf("redis away: %v", away), func(t *testing.T) {
			t.Parallel()
			redis := storetest.RedisServer(t)
			o := officeOn(newStopped(t), redis.URL())
			tokens, sends := o.sendsOf(2)
			recorded := make(chan struct{}, 10)
			o.outbox = recording{o.store, recorded}
			o.restart()
			if away {
				redis.Kill()
			}
			o.channels[notifier.APNs].answer = func(e *delivery.Envelope) delivery.Verdict {
				if e.Address.To == tokens[0] {
					<-recorded // of the other one
				}
				return delivery.Verdict{Outcome: delivery.Accepted}
			}
			must(t, o.p.Send(t.Context(), sends[0]))
			if n := o.strings(`SELECT address_ref FROM deliveries WHERE state = 'sent'`); len(n) != 2 {
				t.Errorf("%d are recorded as sent, want 2", len(n))
			}
		})
	}
}
