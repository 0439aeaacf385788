package delivery

import (
	"context"
	"time"

	"fanline/notifier"
)

const (
	backoffFirst = time.Second
	backoffMost  = 5 * time.Minute
	// misconfiguredRest is how long work waits that our settings keep from going.
	misconfiguredRest = 30 * time.Second
)

// backoff is how long to wait after an attempt, the first is 1: 1 s, 2 s, 4 s and
// so on.
func backoff(attempt int) time.Duration {
	return min(backoffMost, backoffFirst<<min(max(attempt, 1)-1, 10))
}

// deadAddress is an address with a verdict about itself.
type deadAddress struct {
	*post
	v Verdict
}

// settle turns a provider's verdict into what happens to the delivery. That an earlier
// attempt may have been accepted stays true whatever a later one is told but that it was
// taken.
func (c *chunk) settle(o *post, v Verdict) {
	wait := max(v.RetryAfter, backoff(o.Attempt))
	c.p.cfg.Retire.Note(c.channel, v.Outcome)
	switch v.Outcome {
	case Accepted:
		c.sent(o, v)
	case NotMade:
		c.retry(o, notifier.PhaseQueued, "", 0, o.unsure)
	case Retry, AddressThrottled:
		c.retry(o, notifier.PhaseQueued, v.Reason, wait, o.unsure)
	case Unsure:
		c.p.counts.Unsure.Add(1)
		c.retry(o, notifier.PhaseQueued, v.Reason, wait, true)
	case Throttled:
		c.p.counts.Throttled.Add(1)
		c.p.cfg.Limits.Slow(c.calls, c.channel, v.RetryAfter)
		c.retry(o, notifier.PhaseThrottled, v.Reason, wait, o.unsure)
	case Misconfigured:
		c.p.counts.Misconfigured.Add(1)
		c.p.cfg.Log.Error("a provider does not accept our settings", "channel", c.channel, "reason", v.Reason)
		c.retry(o, notifier.PhaseQueued, v.Reason, max(wait, misconfiguredRest), o.unsure)
	case AddressDead, OtherEnvironment, OtherProject, OptedOut:
		c.mu.Lock()
		c.dead = append(c.dead, deadAddress{o, v})
		c.mu.Unlock()
		c.over(o, notifier.PhaseFailed, v.Reason, true)
	default: // Refused
		c.over(o, notifier.PhaseFailed, v.Reason, true)
	}
}

func (c *chunk) sent(o *post, v Verdict) {
	c.p.counts.Sent.Add(1)
	c.p.counts.sentBy[c.channel].Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accepted = append(c.accepted, o.Key)
	c.results = append(c.results, Result{Draft: o.Draft, State: StateSent, Phase: notifier.PhaseSent, ProviderID: v.ID})
}

// over ends a delivery that will not go. Where it failed, the next channels are
// looked for at once.
func (c *chunk) over(o *post, phase notifier.Phase, reason string, failed bool) {
	if failed {
		c.p.counts.Failed.Add(1)
	} else {
		c.p.counts.Skipped.Add(1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results = append(c.results, Result{Draft: o.Draft, State: StateGone, Phase: phase, Reason: reason})
	if failed {
		c.escalate(o)
	}
}

// retry has a delivery attempted again after a wait, unless that is past its life.
// When the wait is long, the next channels do not wait for it.
func (c *chunk) retry(o *post, phase notifier.Phase, reason string, wait time.Duration, unsure bool) {
	at := c.p.cfg.Clock.Now().Add(wait)
	if !at.Before(o.parcel.Expires) {
		c.over(o, notifier.PhaseFailed, "expired: "+reason, true)
		return
	}
	c.p.counts.Put.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heldUp = c.heldUp || phase == notifier.PhaseThrottled
	c.results = append(c.results, Result{
		Draft: o.Draft, State: StateWaiting, NextAt: at, Phase: phase, Reason: reason, Unsure: unsure,
	})
	c.wait(at)
	if wait >= hopeFor {
		c.escalate(o)
	}
}

// escalate has the fan's next channels looked for. mu is held.
func (c *chunk) escalate(o *post) {
	if o.Item.Kind == notifier.KindMessage || o.Item.Kind == notifier.KindTurn {
		c.plan[o.Item] = append(c.plan[o.Item], o.FanNo)
	}
}

// retire acts on the verdicts about addresses, when all of the chunk are known: where
// there are suddenly too many, none is believed. Its faults are logged: the next
// verdict comes with the next item.
func (c *chunk) retire(ctx context.Context) {
	if len(c.dead) == 0 {
		return
	}
	believed := c.p.cfg.Retire.May(c.channel)
	ctx, cancel := context.WithTimeout(ctx, recordEach)
	defer cancel()
	for _, d := range c.dead {
		var err error
		switch to := c.p.cfg.Recipients; {
		case d.v.Outcome == OptedOut:
			err = to.OptOut(ctx, c.channel, d.address.To, d.v.Sender, d.v.Reason)
		case !believed:
			c.p.counts.Kept.Add(1)
		case d.v.Outcome == OtherEnvironment, d.v.Outcome == OtherProject:
			err = to.UnuseDevice(ctx, d.FanNo, d.address, d.v.Reason)
		default:
			_, err = to.RetireAddress(ctx, d.FanNo, d.address, d.v.DeadSince, d.v.Reason)
		}
		if err != nil {
			c.p.cfg.Log.Error("act on a verdict about an address", "channel", c.channel, "err", err)
		}
	}
}
