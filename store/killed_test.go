package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/store/storetest"
	"fanline/waitlist"
)

// dies takes every job of a kind away, as a process does that is killed with them in
// hand: the queue has them again after a minute.
func (o *office) dies(kind string) (jobs []job) {
	o.t.Helper()
	_, err := o.store.FireAlerts(o.t.Context(), o.p.Channels(), 500)
	must(o.t, err)
	for _, j := range o.take() {
		if j.kind == kind {
			jobs = append(jobs, j)
		} else {
			must(o.t, o.work(j))
		}
	}
	if len(jobs) == 0 {
		o.t.Fatalf("there is no %s to die with", kind)
	}
	return jobs
}

func TestUrgentWorkOfAKilledProcessGoesOnWithTheStepAfterFiveSeconds(t *testing.T) {
	t.Parallel()
	begin := map[string]func(o *office){
		"a turn": func(o *office) {
			o.stadium(waitlist.PolicyChange{})
			o.join("s", "ada")
			o.free("s", "o", 1)
			o.decide()
		},
		"a message": func(o *office) { o.send(urgent("ada", "Code 1")) },
	}
	for name, begin := range begin {
		for _, with := range []string{"the plan", "the send", "a lease"} {
			t.Run(name+" with "+with, func(t *testing.T) {
				t.Parallel()
				o := newOffice(t)
				token := o.device("ada", notifier.APNs, "phone")
				began := o.time()
				begin(o)
				plan := "plan"
				if name == "a message" {
					plan = "route"
				}
				switch lost := o.dies(plan); with {
				case "the plan":
				case "the send":
					must(t, o.work(lost[0]))
					o.dies("send")
				case "a lease":
					must(t, o.work(lost[0]))
					o.lease(o.dies("send")[0])
				}
				for o.time().Before(began.Add(5500 * time.Millisecond)) {
					o.pass(500 * time.Millisecond)
					o.deliver()
				}
				o.wantSent(notifier.APNs, token)
			})
		}
	}
}

// lease takes the deliveries of a send, and no more.
func (o *office) lease(j job) {
	o.t.Helper()
	p, ctx := o.p, o.t.Context()
	stop, cancel := context.WithCancel(ctx)
	o.outbox = leasing{o.store, cancel}
	o.restart()
	_ = o.p.Send(stop, read[notifier.SendArgs](o.t, j.args)) // it ends with its process
	o.p, o.outbox = p, nil
}

// leasing is the outbox of a process that is killed with its leases.
type leasing struct {
	delivery.Outbox
	kill func()
}

func (l leasing) Lease(ctx context.Context, d []delivery.Draft, lease time.Duration) ([]delivery.Lease, error) {
	_, err := l.Outbox.Lease(ctx, d, lease)
	l.kill()
	if err == nil {
		err = context.Canceled
	}
	return nil, err
}

func TestALeaseLastsAsLongAsItsProviderTakes(t *testing.T) {
	t.Parallel()
	o := officeOn(newBench(t), storetest.Redis(t))
	o.device("ada", notifier.APNs, "phone")
	answer := make(chan struct{})
	o.channels[notifier.APNs].answer = func(*delivery.Envelope) delivery.Verdict {
		<-answer
		return delivery.Verdict{Outcome: delivery.Accepted}
	}
	renewed := make(chan struct{}, 100)
	o.outbox = renewing{o.store, renewed}
	o.restart()
	o.send(urgent("ada", "Code 1"))
	var under sync.WaitGroup
	for _, j := range o.take() {
		must(t, o.work(j))
	}
	send := o.take()[0]
	under.Go(func() { _ = o.p.Send(context.Background(), read[notifier.SendArgs](t, send.args)) })
	for range 6 { // longer than it was leased for at first
		<-renewed
	}
	if err := o.p.Send(t.Context(), read[notifier.SendArgs](t, send.args)); err == nil {
		t.Error("while an attempt is under way a second job takes the delivery for done or its own")
	}
	close(answer)
	under.Wait()
	if n := len(o.channels[notifier.APNs].to()); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}

type renewing struct {
	delivery.Outbox
	renewed chan struct{}
}

func (r renewing) Renew(ctx context.Context, keys []delivery.LeaseKey, lease time.Duration) error {
	err := r.Outbox.Renew(ctx, keys, lease)
	r.renewed <- struct{}{}
	return err
}

func TestAShortLivedMessageHasNobodyElsesStepComeEarly(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.device("ada", notifier.APNs, "phone")
	o.device("bob", notifier.APNs, "phone")
	o.online[o.fanNo("ada")], o.online[o.fanNo("bob")] = true, true
	long, short := urgent("ada", "Code 1"), urgent("bob", "Code 2")
	short.TTL = 2 * time.Second
	o.send(long, short)
	o.deliver()
	o.after(6 * time.Second)
	if got := o.channels[notifier.APNs].to(); len(got) != 1 || got[0] != ada {
		t.Errorf("after 6 s without an ack: %v, want %v", got, ada)
	}
}
