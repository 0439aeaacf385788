package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
)

// turnstile lets one attempt through, and when it is open the others, one by one.
type turnstile struct {
	asked atomic.Int32
	open  chan struct{}
}

func (g *turnstile) Take(context.Context, notifier.Channel, notifier.Lane, int) (int, time.Duration) {
	if g.asked.Add(1) > 1 {
		<-g.open
	}
	return 1, 0
}

func (g *turnstile) Slow(context.Context, notifier.Channel, time.Duration) {}

// TestWhatIsNoLongerWantedIsNotSentThoughItsChunkIsUnderWay has something happen to
// everybody while the first is told and the second waits for a permit.
func TestWhatIsNoLongerWantedIsNotSentThoughItsChunkIsUnderWay(t *testing.T) {
	t.Parallel()
	const fans = 8
	each := func(act func(o *office, fan string) error) func(o *office) {
		return func(o *office) {
			for i := range fans {
				must(o.t, act(o, fmt.Sprintf("f%02d", i)))
			}
		}
	}
	for name, x := range map[string]struct {
		act    func(o *office)
		reason string
	}{
		"the show is cancelled": {func(o *office) { must(o.t, o.CancelShow(o.t.Context(), "s")) }, "skipped(cancelled)"},
		"all go to bed":         {func(o *office) { o.pass(time.Minute) }, "skipped(quiet_hours)"},
		"all have looked": {each(func(o *office, fan string) error {
			return o.store.Ack(o.t.Context(), fan, []string{"turn:s:o"})
		}), "skipped(seen)"},
		"the tokens are others'": {each(func(o *office, fan string) error {
			return o.store.Exec(o.t.Context(), `UPDATE devices SET fan_no = -fan_no WHERE fan_no = $1`, o.fanNo(fan))
		}), "skipped(no_address)"},
		"all are erased": {each(func(o *office, fan string) error {
			_, err := o.store.EraseFan(o.t.Context(), fan)
			return err
		}), "skipped(no_address)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			_, sends := o.sendsOf(fans)
			for i := range fans {
				o.profile(fmt.Sprintf("f%02d", i), func(p *delivery.Profile) error {
					p.TurnAtNight = false
					return p.SetQuiet("09:01", "10:00")
				})
			}
			o.gate = &turnstile{open: make(chan struct{})}
			o.restart()
			var told atomic.Int32
			o.channels[notifier.APNs].answer = func(*delivery.Envelope) delivery.Verdict {
				if told.Add(1) == 1 {
					x.act(o)
					o.pass(time.Second)
					close(o.gate.open)
				}
				return delivery.Verdict{Outcome: delivery.Accepted}
			}
			err := o.p.Send(t.Context(), sends[0])
			if later := (*notifier.Later)(nil); err != nil && !errors.As(err, &later) {
				t.Fatal(err)
			}
			if n := told.Load(); n > 2 {
				t.Errorf("%d of %d were told, want the two who were begun", n, fans)
			}
			rest := o.strings(`SELECT (phases->-1->>'phase') || coalesce('(' || (phases->-1->>'reason') || ')', '') FROM deliveries WHERE state <> 'sent'`)
			notMade := func(phase string) bool { return phase == "queued" } // its lease ended
			if rest = slices.Compact(slices.DeleteFunc(rest, notMade)); !slices.Equal(rest, []string{x.reason}) {
				t.Errorf("the others are %v, want %s", rest, x.reason)
			}
		})
	}
}
