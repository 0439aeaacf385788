package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

func TestAfterALongOutageOpenTurnsAreToldFirstAndThoseLongOverAreDropped(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{ClaimWindowS: waitlist.Some(60)})
	var old []string
	for i := range 20 {
		fan := fmt.Sprintf("old%02d", i)
		o.device(fan, notifier.APNs, "phone")
		o.join("s", fan)
		o.free("s", "o-"+fan, 1)
		o.decide()
		must(t, o.Leave(t.Context(), "s", fan)) // the seat goes on to nobody
		old = append(old, fan)
	}
	o.pass(time.Hour) // nothing fires
	token := o.device("ada", notifier.APNs, "phone")
	o.join("s", "ada")
	o.free("s", "o", 1)
	o.decide()
	o.pass(time.Second)
	if _, err := o.store.FireAlerts(t.Context(), o.p.Channels(), 1); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the plan and the send
		for _, j := range o.take() {
			must(t, o.work(j))
		}
	}
	o.wantSent(notifier.APNs, token)
	for more := true; more; {
		var err error
		more, err = o.store.FireAlerts(t.Context(), o.p.Channels(), 10)
		must(t, err)
	}
	if jobs := o.take(); len(jobs) > 0 {
		t.Errorf("of %d turns that are long over %d jobs are made", len(old), len(jobs))
	}
	if left := o.strings(`SELECT id::text FROM alerts WHERE at <= clock_timestamp()`); len(left) > 0 {
		t.Errorf("alerts %v are still due", left)
	}
}

func TestNoLaneFiresItsAlertsBehindAnother(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.device("ada", notifier.APNs, "phone")
	o.online[o.fanNo("ada")] = true
	code := urgent("ada", "Code 1")
	o.send(code)
	for i := range 5 {
		o.send(bulk("ada", fmt.Sprintf("News %d", i)))
	}
	for _, j := range o.take() {
		must(t, o.work(j))
	}
	o.pass(6 * time.Second)
	more, err := o.store.FireAlerts(t.Context(), o.p.Channels(), 2)
	if err != nil || !more {
		t.Errorf("more are due: %v, %v", more, err)
	}
	var queues []string
	for _, j := range o.take() {
		queues = append(queues, j.queue)
	}
	if want := []string{"lane_transactional", "lane_transactional", "lane_bulk"}; !slices.Equal(queues, want) {
		t.Errorf("plans in %v, want %v", queues, want)
	}
}

func TestMessagesWhoseStepComesAreLookedAtTogether(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for i := range 250 {
		o.send(urgent(fmt.Sprintf("f%03d", i), "Code"))
	}
	o.take()
	o.pass(4 * time.Second)
	_, err := o.store.FireAlerts(t.Context(), o.p.Channels(), 500)
	must(t, err)
	var sizes []int
	for _, j := range o.take() {
		sizes = append(sizes, len(read[notifier.PlanArgs](t, j.args).Messages))
	}
	slices.Sort(sizes)
	if want := []int{50, 200}; !slices.Equal(sizes, want) {
		t.Errorf("plans of %v messages, want %v", sizes, want)
	}
}
