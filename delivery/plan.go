package delivery

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fanline/notifier"
)

// hopeFor is how soon a delivery that waits must be attempted for the next channels
// to wait for it.
const hopeFor = 5 * time.Second

// stages are the ways of telling a fan, in the order in which they are used.
var stages = [][]notifier.Channel{{notifier.Live}, notifier.Push, {notifier.SMS}, {notifier.Email}}

// Plan finds out who is to be told by which channel now, and queues that. It may
// run again: what was begun is not begun again.
func (p *Pipeline) Plan(ctx context.Context, a notifier.PlanArgs) error {
	fans := a.Fans
	if a.Opening != 0 && fans == nil {
		var err error
		if fans, err = p.cfg.Outbox.Members(ctx, a.Opening, a.N, a.From, a.To); err != nil {
			return fmt.Errorf("read who has the turns: %w", err)
		}
	}
	parcels, err := p.cfg.Outbox.Parcels(ctx, Batch{Opening: a.Opening, Fans: fans, Messages: a.Messages}, true)
	if err != nil {
		return fmt.Errorf("read what is to be told: %w", err)
	}
	to, err := p.recipients(ctx, parcels, p.channels)
	if err != nil {
		return fmt.Errorf("read the recipients: %w", err)
	}
	// Whoever is not known to be connected is told by push at once: twice is better
	// than not.
	online, err := p.cfg.Online.Online(ctx, fansOf(parcels))
	if err != nil {
		p.cfg.Log.Warn("find out who is connected; the others are told by push at once", "err", err)
	}
	planned := p.plan(a, parcels, to, online, p.cfg.Clock.Now())
	if err := p.cfg.Outbox.Dispatch(ctx, planned); err != nil {
		return fmt.Errorf("store the plan: %w", err)
	}
	return nil
}

func (p *Pipeline) plan(a notifier.PlanArgs, parcels []Parcel, to map[int64]*Recipient, online map[int64]bool, now time.Time) *Planned {
	planned := &Planned{}
	sends := map[notifier.Channel]*notifier.SendArgs{}
	for i := range parcels {
		x := &parcels[i]
		r := to[x.FanNo]
		if r == nil {
			continue // erased
		}
		if x.Seen {
			planned.through(x)
			continue
		}
		way := cascade{parcel: x, to: r, online: online[x.FanNo], now: now}
		due := way.due()
		if way.toldLive() && x.Over == "" {
			planned.Results = append(planned.Results, Result{Draft: x.live(), State: StateSent, Phase: notifier.PhaseSent})
		}
		if x.Over != "" {
			planned.Results = append(planned.Results, way.skips(due)...)
			planned.through(x)
			continue
		}
		for _, c := range due {
			if sends[c] == nil {
				sends[c] = &notifier.SendArgs{Lane: a.Lane, Channel: c, Opening: a.Opening}
			}
			if x.Item.Kind == notifier.KindMessage {
				sends[c].Messages = append(sends[c].Messages, x.Item.Ref)
			} else {
				sends[c].Fans = append(sends[c].Fans, x.FanNo)
			}
		}
		unsettled := way.open || len(due) > 0
		if !way.more && !unsettled {
			planned.through(x)
		} else if a.Step > 0 && (way.more || x.Lane == notifier.Transactional) {
			planned.later(a, x)
		}
	}
	for _, c := range p.channels {
		if s := sends[c]; s != nil {
			planned.Sends = append(planned.Sends, *s)
		}
	}
	p.counts.Skipped.Add(int64(planned.skipped()))
	return planned
}

// through notes that nothing more is sent of an urgent message, whose text is then
// forgotten.
func (planned *Planned) through(x *Parcel) {
	if x.Item.Kind == notifier.KindMessage && x.Lane == notifier.Transactional {
		planned.Through = append(planned.Through, x.Item.Ref)
	}
}

// later has a message planned again at the step to come: for what is due then, and
// for its text, which goes when nothing is under way any more. An urgent one has its
// second step from the start.
func (planned *Planned) later(a notifier.PlanArgs, x *Parcel) {
	if x.Item.Kind == notifier.KindMessage && (a.Step > 1 || x.Lane != notifier.Transactional) {
		planned.Later = AddLater(planned.Later, a.Lane, a.Step+1, x.Item.Ref, x.Moment, x.Latest)
	}
}

func (planned *Planned) skipped() (n int) {
	for i := range planned.Results {
		if planned.Results[i].Phase == notifier.PhaseSkipped {
			n++
		}
	}
	return n
}

// cascade is the ways to one fan for one item: what is due, and what may be later.
type cascade struct {
	parcel *Parcel
	to     *Recipient
	online bool
	now    time.Time
	// more: a channel is to be used later. open: a delivery is under way.
	more, open bool
}

// due are the channels to use now. A channel's step comes at its time, or at once
// where none of the steps before it has any hope left: no address, refused, not
// connected, or not to be attempted within hopeFor.
func (c *cascade) due() (due []notifier.Channel) {
	allowed := c.parcel.channels(c.to)
	hopeless := true
	for _, stage := range stages {
		at := c.at(stage[0])
		if stage[0] == notifier.Live {
			next := c.at(notifier.Push[0])
			if c.online && slices.Contains(allowed, notifier.Live) && c.now.Before(next) {
				hopeless, c.more = false, true
			}
			continue
		}
		ready := hopeless || !c.now.Before(at)
		for _, channel := range stage {
			if !slices.Contains(allowed, channel) {
				continue
			}
			fresh, hope := c.look(channel)
			if fresh && ready {
				due = append(due, channel)
			} else if fresh {
				c.more = true
			}
			if fresh || hope {
				hopeless = false
			}
		}
	}
	return due
}

// at is when the step of a channel comes.
func (c *cascade) at(channel notifier.Channel) time.Time {
	at := c.parcel.Moment.Add(notifier.StepOf(channel))
	if c.parcel.Latest.Before(at) {
		return c.parcel.Latest
	}
	return at
}

// look says of a channel whether it has an address that was not tried, or whose attempt
// was lost with its process, and whether one that was tried has hope.
func (c *cascade) look(channel notifier.Channel) (fresh, hope bool) {
	for i := range c.to.Addresses {
		if a := &c.to.Addresses[i]; a.Channel == channel && c.untried(a) {
			fresh = true
		}
	}
	for i := range c.parcel.Tried {
		t := &c.parcel.Tried[i]
		if t.Channel != channel {
			continue
		}
		switch t.State {
		case StateSent:
			hope = true
		case StateLeased:
			hope, c.open = true, true
		case StateWaiting:
			c.open = true
			hope = hope || t.NextAt.Before(c.now.Add(hopeFor))
		}
	}
	return fresh, hope
}

func (c *cascade) untried(a *Address) bool {
	t := c.tried(a)
	return t == nil || t.lost(c.now)
}

func (c *cascade) tried(a *Address) *Tried {
	for i := range c.parcel.Tried {
		if t := &c.parcel.Tried[i]; t.Channel == a.Channel && t.AddressRef == addressRef(a) {
			return t
		}
	}
	return nil
}

// toldLive says whether the item reached a socket of the fan, so far as is known.
func (c *cascade) toldLive() bool {
	return c.online && slices.Contains(c.parcel.channels(c.to), notifier.Live)
}

// skips are the deliveries by channels that were due, had the item not been over.
func (c *cascade) skips(due []notifier.Channel) (skipped []Result) {
	for i := range c.to.Addresses {
		a := &c.to.Addresses[i]
		if slices.Contains(due, a.Channel) && c.tried(a) == nil {
			skipped = append(skipped, Result{
				Draft: c.parcel.draft(a), State: StateGone, Phase: notifier.PhaseSkipped, Reason: c.parcel.Over,
			})
		}
	}
	return skipped
}
