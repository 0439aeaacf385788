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

func TestUrgentWorkOfAKilledProcessGoesOnWithTheNextPlan(t *testing.T) {
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
				plan, by := "plan", 5*time.Second
				if name == "a message" {
					plan, by = "route", 3*time.Second
				}
				switch lost := o.dies(plan); with {
				case "the plan":
				case "the send":
					must(t, o.work(lost[0]))
					o.dies("send")
				case "a lease":
					must(t, o.work(lost[0]))
					o.killedWith(o.dies("send")[0])
				}
				for o.time().Before(began.Add(by)) {
					o.pass(500 * time.Millisecond)
					o.deliver()
				}
				o.wantSent(notifier.APNs, token)
			})
		}
	}
}

// holds has every job of a kind in the hands of a process that is killed.
func (o *office) holds(kind string) {
	o.t.Helper()
	o.exec(`UPDATE river_job SET state = 'running', attempt = attempt + 1, attempted_at = clock_timestamp() WHERE kind = $1`, kind)
}

// ready are the jobs that a worker can have.
func (o *office) ready() []string {
	o.t.Helper()
	return o.strings(`SELECT kind FROM river_job WHERE state = 'available' ORDER BY id`)
}

func TestABlastGoesOnWithinFifteenSecondsThoughItsOnlyChunkWasInAKilledProcess(t *testing.T) {
	t.Parallel()
	for _, chunk := range []string{"the first", "the last, leased"} {
		t.Run(chunk, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.show("s", waitlist.PolicyChange{})
			o.crowd(30)
			tokens := o.strings(`SELECT token FROM devices ORDER BY token`)
			o.announce("s", "a1")
			for _, j := range o.take() {
				must(t, o.work(j))
			}
			if chunk == "the last, leased" {
				for _, j := range o.take() {
					must(t, o.work(j)) // the first, which is empty
				}
				j := o.take()[0]
				must(t, o.store.NextChunk(t.Context(), read[notifier.BlastArgs](t, j.args)))
				o.killedWith(j)
				o.exec(`INSERT INTO river_job (kind, queue, args, max_attempts, state) VALUES ($1, $2, $3, 3000, 'available')`, j.kind, j.queue, j.args)
			}
			killed := o.time()
			o.holds("blast")
			for o.pass(5 * time.Second); o.time().Before(killed.Add(15*time.Second + 1)); o.pass(5 * time.Second) {
				must(t, o.store.RescueJobs(t.Context()))
				if len(o.ready()) > 0 {
					o.deliver()
				}
			}
			o.wantSent(notifier.APNs, tokens...)
		})
	}
}

func TestAJobThatIsUnderWayIsLeftToItsWorker(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.device("ada", notifier.APNs, "phone")
	o.send(urgent("ada", "Code 1"))
	o.holds("route")
	o.pass(9 * time.Second)
	must(t, o.store.RescueJobs(t.Context()))
	if got := o.ready(); len(got) > 0 {
		t.Errorf("another worker gets %v", got)
	}
	o.exec(`UPDATE river_job SET max_attempts = attempt`) // which the queue gives up by itself
	o.pass(time.Minute)
	must(t, o.store.RescueJobs(t.Context()))
	if got := o.ready(); len(got) > 0 {
		t.Errorf("another worker gets %v, after the last attempt", got)
	}
}

// killedWith takes the deliveries of a job, and no more.
func (o *office) killedWith(j job) {
	o.t.Helper()
	p, ctx := o.p, o.t.Context()
	stop, cancel := context.WithCancel(ctx)
	o.outbox = leasing{o.store, cancel}
	o.restart()
	if j.kind == "blast" {
		_ = o.p.Blast(stop, read[notifier.BlastArgs](o.t, j.args))
	} else {
		_ = o.p.Send(stop, read[notifier.SendArgs](o.t, j.args))
	}
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
	must(t, o.p.Plan(t.Context(), notifier.PlanArgs{Lane: notifier.Transactional, Messages: []int64{1}}))
	if jobs := o.take(); len(jobs) > 0 {
		t.Errorf("the plan that looks for what was lost queues %v", jobs)
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

func (r renewing) Renew(ctx context.Context, keys []delivery.LeaseKey, lease time.Duration) ([]notifier.DeliveryKey, error) {
	kept, err := r.Outbox.Renew(ctx, keys, lease)
	r.renewed <- struct{}{}
	return kept, err
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
