package delivery

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"fanline/notifier"
)

const (
	// tellEvery is how often Redis is told what was accepted.
	tellEvery = 50 * time.Millisecond
	// recordEvery is how often Postgres is, in a chunk that takes longer; where Redis is
	// away, as often as that would be.
	recordEvery = time.Second
	// lookEvery is how often what waits for its attempt is looked at again.
	lookEvery = time.Second
)

// attempt makes the attempts, many at a time, and begins none after until. What it
// could not begin waits.
func (c *chunk) attempt(ctx context.Context, posts []*post, until time.Time) {
	if len(posts) == 0 {
		return
	}
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	c.calls = calls
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(callGrace, cancel)
		context.AfterFunc(calls, func() { t.Stop() })
	})
	defer stop()
	var wg, keep sync.WaitGroup
	over := make(chan struct{})
	leases, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	keep.Go(func() { c.keepTold(over) })
	keep.Go(func() { c.keepRecorded(over) })
	keep.Go(func() { c.leases.keep(leases) })
	for {
		if posts = c.alive(c.held(ctx, c.wanted(ctx, posts))); len(posts) == 0 {
			break
		}
		n, left := c.begin(ctx, posts, until, &wg)
		if posts = posts[n:]; left != nil {
			c.putBack(posts, left)
			break
		}
	}
	wg.Wait()
	close(over)
	release()
	keep.Wait()
}

// keepTold tells Redis what was accepted while attempts are under way, so that little is
// sent again when the process dies.
func (c *chunk) keepTold(over <-chan struct{}) {
	ctx := context.WithoutCancel(c.calls)
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
			c.untold.Store(c.tellKeys(ctx) != nil)
		}
	}
}

// keepRecorded records it, since Redis may not hear of it, or die too.
func (c *chunk) keepRecorded(over <-chan struct{}) {
	ctx := context.WithoutCancel(c.calls)
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if c.untold.Load() || time.Since(last) >= recordEvery {
			c.recordSent(ctx)
			last = time.Now()
		}
	}
}

// wanted drops those that are not to be sent any more, or not now, while they wait for
// permits: the show was cancelled, the fan erased, looked or went to bed, the token is
// another's. Where that cannot be read the leases end.
func (c *chunk) wanted(ctx context.Context, posts []*post) []*post {
	if c.p.cfg.Clock.Now().Before(c.read.Add(lookEvery)) {
		return posts
	}
	list, held, err := c.posts(ctx)
	if err != nil {
		c.p.cfg.Log.Warn("look again at what is to be sent", "channel", c.channel, "err", err)
		return posts
	}
	now, not := make(map[notifier.DeliveryKey]*post, len(list)), make(map[notifier.DeliveryKey]*Result, len(held))
	for _, o := range list {
		now[o.Key] = o
	}
	for i := range held {
		not[held[i].Key] = &held[i]
	}
	return slices.DeleteFunc(posts, func(o *post) bool {
		if again := now[o.Key]; again != nil {
			o.parcel, o.to, o.address = again.parcel, again.to, again.address
			return false
		}
		c.unwanted(o, not[o.Key])
		return true
	})
}

// unwanted is the result of a delivery that is not attempted after all; nil: there is no
// such fan, address or wish any more.
func (c *chunk) unwanted(o *post, r *Result) {
	if r == nil {
		c.over(o, notifier.PhaseSkipped, "no_address", false)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Draft, r.Unsure = o.Draft, o.unsure
	c.results = append(c.results, *r)
	c.holds(r)
}

// held drops those whose lease is somebody else's by now: this process stood still for
// so long, or Postgres was away. Whether they were sent then is looked at later.
func (c *chunk) held(ctx context.Context, posts []*post) []*post {
	unknown := !c.leases.hold() && c.leases.renew(context.WithoutCancel(ctx)) != nil
	return slices.DeleteFunc(posts, func(o *post) bool {
		lost := unknown || c.leases.lost(o.Key)
		if lost {
			c.mu.Lock()
			c.wait(c.p.cfg.Clock.Now().Add(leaseFor(c.lane)))
			c.mu.Unlock()
		}
		return lost
	})
}

// alive drops those whose time is over meanwhile.
func (c *chunk) alive(posts []*post) []*post {
	now := c.p.cfg.Clock.Now()
	return slices.DeleteFunc(posts, func(o *post) bool {
		late := !now.Before(o.parcel.Expires)
		if late {
			c.over(o, notifier.PhaseSkipped, "expired", false)
		}
		return late
	})
}

// backlog is why what is left was not begun, and when it may be.
type backlog struct {
	phase  notifier.Phase
	reason string
	wait   time.Duration
}

// begin begins some attempts. left is not nil when no more can be begun now.
func (c *chunk) begin(ctx context.Context, posts []*post, until time.Time, wg *sync.WaitGroup) (n int, left *backlog) {
	slots := c.p.slots[slotKey{c.lane, c.channel}]
	held := takeSlots(ctx, slots, len(posts), until)
	defer func() {
		for range held - n {
			<-slots
		}
	}()
	if held == 0 {
		return 0, &backlog{notifier.PhaseQueued, "", 0}
	}
	granted, wait := c.p.cfg.Limits.Take(ctx, c.channel, c.lane, held)
	if granted == 0 {
		if wait > restMost || time.Now().Add(wait).After(until) || ctx.Err() != nil {
			return 0, &backlog{notifier.PhaseThrottled, "", wait}
		}
		notifier.Pause(ctx, wait)
		return 0, nil
	}
	for n < granted {
		done, wait := c.p.cfg.Breakers.Allow(c.channel)
		if done == nil {
			return n, &backlog{notifier.PhaseQueued, "provider_down", wait}
		}
		o := posts[n]
		n++
		wg.Go(func() {
			defer func() { <-slots }()
			c.call(o, done)
		})
	}
	return n, nil
}

// takeSlots waits for a slot until a time, and takes as many as there are then, at
// most n.
func takeSlots(ctx context.Context, slots chan struct{}, n int, until time.Time) (held int) {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	if !time.Now().Before(until) || ctx.Err() != nil {
		return 0
	}
	select {
	case slots <- struct{}{}:
		held = 1
	case <-t.C:
		return 0
	case <-ctx.Done():
		return 0
	}
	for held < n {
		select {
		case slots <- struct{}{}:
			held++
		default:
			return held
		}
	}
	return held
}

// putBack has deliveries wait that were not begun.
func (c *chunk) putBack(posts []*post, why *backlog) {
	c.mu.Lock()
	c.heldUp = c.heldUp || len(posts) > 0
	c.mu.Unlock()
	for _, o := range posts {
		wait := why.wait
		if why.reason != "" { // the longer it lasts, the sooner others are to be asked
			wait = max(wait, backoff(o.Attempt))
		}
		if why.phase == notifier.PhaseThrottled {
			c.p.counts.Throttled.Add(1)
		}
		c.retry(o, why.phase, why.reason, wait, o.unsure)
	}
}

// call makes one attempt and settles it.
func (c *chunk) call(o *post, done func(Outcome)) {
	v := c.safely(o)
	done(v.Outcome)
	if v.Outcome == OtherEnvironment {
		v = c.elsewhere(o, v)
	}
	c.settle(o, v)
}

// safely is once, whatever it is that a provider's code or a text cannot bear: one
// delivery that panics must neither end the process, and after the queue's rescue the
// next one, nor come again.
func (c *chunk) safely(o *post) (v Verdict) {
	defer func() {
		if r := recover(); r != nil {
			c.p.counts.Panics.Add(1)
			c.p.cfg.Log.Error("an attempt panicked", "channel", c.channel, "delivery", o.Key.String(),
				"kind", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
			v = Verdict{Outcome: Refused, Reason: "internal"}
		}
	}()
	return c.once(o)
}

// once makes one attempt. Its time does not end with the job's: what a provider was
// sent, it answers.
func (c *chunk) once(o *post) Verdict {
	ctx, cancel := context.WithTimeout(c.calls, c.p.cfg.CallTimeout)
	defer cancel()
	e := &Envelope{
		Key: o.Key, Item: o.parcel.Render(o.to.Locale), Contents: o.parcel.Contents, Address: o.address, Expires: o.parcel.Expires, URL: o.parcel.URL,
		Attempt: o.Attempt, LastUnsure: o.unsure, Unsubscribe: c.unsubscribe(ctx, o),
	}
	began := c.p.cfg.Clock.Now()
	if !c.leases.hold() {
		return Verdict{Outcome: NotMade}
	}
	v := c.provider.Send(ctx, e)
	if v.Outcome == AddressDead && v.DeadSince.IsZero() {
		v.DeadSince = began
	}
	return v
}

// unsubscribe is the address of the delivery's one-click opt-out.
func (c *chunk) unsubscribe(ctx context.Context, o *post) string {
	if c.channel != notifier.Email || o.Lane == notifier.Transactional || c.p.cfg.Unsubscribe == "" {
		return ""
	}
	token, err := c.p.cfg.Recipients.UnsubscribeToken(ctx, o.address, o.Item.Kind)
	if err != nil {
		c.p.cfg.Log.Warn("make an unsubscribe link", "err", err)
		return ""
	}
	return c.p.cfg.Unsubscribe + token
}

// elsewhere tries the other environment of APNs, once.
func (c *chunk) elsewhere(o *post, first Verdict) Verdict {
	if granted, _ := c.p.cfg.Limits.Take(c.calls, c.channel, c.lane, 1); granted == 0 {
		return Verdict{Outcome: Retry, Reason: first.Reason}
	}
	o.address.Environment = otherEnvironment(o.address.Environment)
	v := c.safely(o)
	if v.Outcome == AddressDead {
		v.Outcome = OtherEnvironment // of neither: kept until it is registered again
	}
	if v.Outcome == Accepted {
		if err := c.p.cfg.Recipients.MoveDevice(context.WithoutCancel(c.calls), o.FanNo, o.address, o.address.Environment); err != nil {
			c.p.cfg.Log.Warn("note a device's environment", "err", err)
		}
	}
	return v
}

func otherEnvironment(env string) string {
	if env == "sandbox" {
		return "production"
	}
	return "sandbox"
}
