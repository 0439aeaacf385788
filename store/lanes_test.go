package store_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/store/storetest"
	"fanline/waitlist"
)

// lanes works the queues of an office on its database's own time.
func (o *office) lanes(lanes ...notifier.Lane) {
	o.t.Helper()
	leave := func(context.Context, notifier.EventArgs) error { return nil }
	bus, err := notifier.NewBus(o.store.Driver(), notifier.BusConfig{
		Lanes: lanes, Log: slog.New(slog.DiscardHandler), Sender: o.p, Channels: o.p.Channels(),
		Handlers: map[notifier.Subscriber]notifier.Handler{
			notifier.WriteStrategy: leave, notifier.ReadStrategy: leave, notifier.Blasts: o.store.Blaster(o.p.Channels()),
		},
	})
	must(o.t, err)
	must(o.t, bus.Start(context.Background()))
	o.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := bus.Stop(ctx); err != nil {
			o.t.Error(err)
		}
	})
}

// wait waits until a provider got n.
func (o *office) wait(c notifier.Channel, n int, patience time.Duration) {
	o.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); ; {
		if len(o.channels[c].to()) >= n {
			return
		}
		select {
		case <-end:
			o.t.Fatalf("by %s: %d within %v, want %d", c, len(o.channels[c].to()), patience, n)
		case <-tick.C:
		}
	}
}

func TestAProviderThatHangsBacksUpItsOwnQueuesAlone(t *testing.T) {
	t.Parallel()
	o := officeOn(newBench(t), storetest.Redis(t))
	hang := make(chan struct{})
	o.channels[notifier.FCM].answer = func(*delivery.Envelope) delivery.Verdict {
		<-hang
		return delivery.Verdict{Outcome: delivery.Unsure, Reason: "timeout"}
	}
	o.lanes()
	t.Cleanup(func() { close(hang) }) // before the lanes stop
	o.device("ada", notifier.APNs, "phone")
	var stuck []notifier.NewMessage
	o.device("bob", notifier.FCM, "phone")
	for range 100 {
		m := urgent("bob", "Code")
		m.DedupKey = time.Now().String()
		stuck = append(stuck, m)
	}
	o.send(stuck...)
	o.wait(notifier.FCM, 100, 10*time.Second)
	began := time.Now()
	o.send(urgent("ada", "Code 1"))
	o.wait(notifier.APNs, 1, 5*time.Second)
	t.Logf("told %v after it was taken in", time.Since(began))
}

func TestBulkAlwaysAdvancesWhileUrgentWorkIsNonstop(t *testing.T) {
	t.Parallel()
	o := officeOn(newBench(t), storetest.Redis(t))
	o.show("s", waitlist.PolicyChange{})
	tokens := o.crowd(300)
	o.device("urgent", notifier.FCM, "phone")
	o.lanes()
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() { // urgent messages without an end
		defer close(ended)
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			m := urgent("urgent", "Code")
			m.DedupKey = time.Now().String()
			if _, err := o.store.Accept(context.Background(), "shop", []notifier.NewMessage{m}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	o.announce("s", "a1")
	o.wait(notifier.APNs, len(tokens), 40*time.Second)
	o.wait(notifier.FCM, 1, 5*time.Second)
	close(done)
	<-ended
}

func TestAProcessWorksItsOwnLanesAlone(t *testing.T) {
	t.Parallel()
	o := officeOn(newBench(t), storetest.Redis(t))
	o.device("ada", notifier.APNs, "phone")
	o.lanes(notifier.Transactional)
	o.send(bulk("ada", "News"))
	o.send(urgent("ada", "Code 1"))
	o.wait(notifier.APNs, 1, 5*time.Second)
	if got := o.channels[notifier.APNs].got[0]; got.Item.Lane != notifier.Transactional {
		t.Errorf("sent %+v", got)
	}
}
