package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fanline/notifier"
)

const (
	// restMost is how long a job waits for permits; longer, and its work goes back
	// into the queue.
	restMost = 500 * time.Millisecond
	// callGrace is how long attempts may go on when their process stops.
	callGrace = 3 * time.Second
	// recordTries and recordPause: what a provider accepted is recorded again and
	// again while Postgres is away, since it can be lost only here.
	recordTries = 12
	recordPause = 500 * time.Millisecond
	recordEach  = 3 * time.Second
	// endEach bounds the end of a chunk, which looks for the next one.
	endEach = 10 * time.Second
	// heldUpFor: what waits for less, waits for its channel; for more, for reasons of
	// its own, as quiet hours.
	heldUpFor = time.Minute
)

// chunk is the deliveries of one job by one channel.
type chunk struct {
	p        *Pipeline
	lane     notifier.Lane
	channel  notifier.Channel
	again    bool // the job ran before
	provider Provider

	batch  Batch
	read   time.Time       // when it was read
	calls  context.Context // of attempts
	leases *leases         // of the deliveries that are to be attempted
	untold atomic.Bool     // Redis did not hear of what was accepted

	mu       sync.Mutex
	results  []Result
	accepted []notifier.DeliveryKey
	told     int // how many of accepted Redis was told
	// heldUp: the channel takes no more for now, so that something went back.
	heldUp bool
	dead   []deadAddress
	// next is when the first of what remains is to be attempted; zero: nothing does.
	next time.Time
	plan map[notifier.ItemRef][]int64 // fans for whom the next channels are to be looked for
}

// post is one delivery with what it is sent from.
type post struct {
	Draft
	parcel  *Parcel
	to      *Recipient
	address Address
	unsure  bool
}

// Send takes a chunk through its channel. What is to be attempted again it leaves
// to the same job, later.
func (p *Pipeline) Send(ctx context.Context, a notifier.SendArgs) error {
	return p.send(ctx, a.Lane, a.Channel, a.Again, Batch{Opening: a.Opening, Fans: a.Fans, Messages: a.Messages})
}

// Blast queues the chunk that follows and sends its own. In this order, so that a
// process that dies stops nobody's blast. A chunk that the channel holds up stays one
// of the few of its blast until it is through.
func (p *Pipeline) Blast(ctx context.Context, a notifier.BlastArgs) error {
	if err := p.cfg.Outbox.NextChunk(ctx, a); err != nil {
		return fmt.Errorf("queue the next chunk: %w", err)
	}
	c := p.chunk(notifier.Bulk, a.Channel, a.Again)
	err := c.send(ctx, Batch{Announcement: a.Announcement, Channel: a.Channel, From: a.From, To: a.To})
	if later := (*notifier.Later)(nil); c.heldUp || err != nil && (!errors.As(err, &later) || later.After < heldUpFor) {
		return err
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), endEach)
	defer cancel()
	if failed := p.cfg.Outbox.ChunkThrough(call, a); failed != nil {
		return fmt.Errorf("end the chunk: %w", failed)
	}
	return err
}

func (p *Pipeline) send(ctx context.Context, l notifier.Lane, channel notifier.Channel, again bool, b Batch) error {
	return p.chunk(l, channel, again).send(ctx, b)
}

func (p *Pipeline) chunk(l notifier.Lane, channel notifier.Channel, again bool) *chunk {
	return &chunk{
		p: p, lane: l, channel: channel, again: again, provider: p.providers[channel],
		plan: map[notifier.ItemRef][]int64{},
	}
}

func (c *chunk) send(ctx context.Context, b Batch) error {
	if c.provider == nil {
		return &notifier.Later{After: time.Minute} // queued where the channel is on
	}
	until := time.Now().Add(c.p.cfg.CallsFor)
	c.batch = b
	posts, held, err := c.posts(ctx)
	if err != nil {
		return err
	}
	if err := c.hold(ctx, held); err != nil {
		return err
	}
	if posts, err = c.lease(ctx, posts); err != nil {
		return err
	}
	c.attempt(ctx, posts, until)
	return c.finish(ctx)
}

// posts are the deliveries that are to be attempted, as they are now. Those that are
// not, now or ever, have their result.
func (c *chunk) posts(ctx context.Context) (posts []*post, held []Result, err error) {
	now := c.p.cfg.Clock.Now()
	parcels, err := c.p.cfg.Outbox.Parcels(ctx, c.batch, false)
	if err != nil {
		return nil, nil, fmt.Errorf("read what is to be sent: %w", err)
	}
	to, err := c.p.recipients(ctx, parcels, []notifier.Channel{c.channel})
	if err != nil {
		return nil, nil, fmt.Errorf("read the recipients: %w", err)
	}
	c.read = now
	for i := range parcels {
		x := &parcels[i]
		r := to[x.FanNo]
		if r == nil || !slices.Contains(x.channels(r), c.channel) {
			continue
		}
		for _, a := range r.Addresses {
			if a.Channel != c.channel {
				continue
			}
			o := &post{Draft: x.draft(&a), parcel: x, to: r, address: a}
			if res, not := o.gate(now); not {
				held = append(held, res)
				continue
			}
			posts = append(posts, o)
		}
	}
	return posts, held, nil
}

// gate says whether the delivery is not to be attempted now, and what then.
func (o *post) gate(now time.Time) (res Result, not bool) {
	x := o.parcel
	skip := func(reason string) (Result, bool) {
		return Result{Draft: o.Draft, State: StateGone, Phase: notifier.PhaseSkipped, Reason: reason}, true
	}
	switch {
	case x.Seen:
		return skip("seen")
	case x.Over != "":
		return skip(x.Over)
	case !now.Before(x.Expires):
		return skip("expired")
	case !o.to.QuietAt(x.Lane, now, x.Zone):
		return res, false
	}
	ends := o.to.QuietEnds(now, x.Zone)
	if !ends.Before(x.Expires) {
		return skip("quiet_hours")
	}
	return Result{Draft: o.Draft, State: StateWaiting, NextAt: ends, Phase: notifier.PhaseQueued, Reason: "quiet_hours"}, true
}

// hold records what is not attempted.
func (c *chunk) hold(ctx context.Context, held []Result) error {
	for i := range held {
		c.holds(&held[i])
	}
	if len(held) == 0 {
		return nil
	}
	if err := c.p.cfg.Outbox.Put(ctx, held, nil); err != nil {
		return fmt.Errorf("record what is not sent: %w", err)
	}
	return nil
}

// holds counts a result without an attempt. One that waits brings the job back.
func (c *chunk) holds(r *Result) {
	if r.State == StateWaiting {
		c.wait(r.NextAt)
	} else {
		c.p.counts.Skipped.Add(1)
	}
}

// wait has the job run again at a time.
func (c *chunk) wait(at time.Time) {
	if c.next.IsZero() || at.Before(c.next) {
		c.next = at
	}
}

// lease keeps those that this job may attempt: Redis is asked first, which knows
// what was sent; Postgres decides about the others.
func (c *chunk) lease(ctx context.Context, posts []*post) ([]*post, error) {
	keys := make([]notifier.DeliveryKey, len(posts))
	for i, o := range posts {
		keys[i] = o.Key
	}
	var ask []*post
	var drafts []Draft
	var doubled []*post
	for i, answer := range c.p.cfg.Keys.Ask(ctx, keys) {
		if answer == KeyDuplicate {
			doubled = append(doubled, posts[i])
			continue
		}
		ask, drafts = append(ask, posts[i]), append(drafts, posts[i].Draft)
	}
	if len(drafts) == 0 {
		return nil, c.duplicates(ctx, doubled)
	}
	asked := c.p.cfg.Clock.Now()
	leases, err := c.p.cfg.Outbox.Lease(ctx, drafts, leaseFor(c.lane))
	if err != nil {
		return nil, fmt.Errorf("lease deliveries: %w", err)
	}
	var mine []*post
	for i, o := range ask {
		switch l := &leases[i]; {
		case l.Mine:
			o.Attempt, o.unsure = l.Attempt, l.Unsure
			mine = append(mine, o)
		case l.State == StateSent:
			doubled = append(doubled, o)
		case l.State == StateLeased, l.State == StateWaiting:
			c.wait(l.NextAt)
		}
	}
	c.leases = c.p.leases(c.lane, mine, asked)
	return mine, c.duplicates(ctx, doubled)
}

// duplicates records deliveries that were sent before. One that Redis alone knows to
// be sent is one whose record was lost: it is made up for.
func (c *chunk) duplicates(ctx context.Context, posts []*post) error {
	if len(posts) == 0 {
		return nil
	}
	results, drafts := make([]Result, len(posts)), make([]Draft, len(posts))
	for i, o := range posts {
		results[i] = Result{Draft: o.Draft, State: StateSent, Phase: notifier.PhaseSent}
		drafts[i] = o.Draft
	}
	if err := c.p.cfg.Outbox.Put(ctx, results, nil); err != nil {
		return fmt.Errorf("record what was sent before: %w", err)
	}
	if c.again {
		return nil // this job sent them
	}
	c.p.counts.Duplicates.Add(int64(len(posts)))
	if err := c.p.cfg.Outbox.Deduplicated(ctx, drafts); err != nil {
		return fmt.Errorf("record duplicates: %w", err)
	}
	return nil
}

// finish records the results, with the plans that follow, and says when the job is
// to run again.
func (c *chunk) finish(ctx context.Context) error {
	// What was accepted is recorded also when the process stops.
	ctx = context.WithoutCancel(ctx)
	_ = c.tellKeys(ctx) // Postgres is told in any case
	err := c.record(ctx)
	c.retire(ctx)
	if err != nil {
		return fmt.Errorf("record deliveries: %w", err)
	}
	if c.next.IsZero() {
		return nil
	}
	return &notifier.Later{After: max(0, c.next.Sub(c.p.cfg.Clock.Now()))}
}

// tellKeys tells Redis what was accepted: while the chunk is under way too, so that
// little of it is attempted again when the process dies before the record.
func (c *chunk) tellKeys(ctx context.Context) error {
	c.mu.Lock()
	keys := slices.Clone(c.accepted[c.told:])
	c.told = len(c.accepted)
	c.mu.Unlock()
	return c.p.cfg.Keys.Sent(ctx, keys)
}

func (c *chunk) record(ctx context.Context) (err error) {
	if len(c.results) == 0 {
		return nil
	}
	for range recordTries {
		call, cancel := context.WithTimeout(ctx, recordEach)
		err = c.p.cfg.Outbox.Put(call, c.results, c.plans())
		cancel()
		if err == nil {
			return nil
		}
		notifier.Pause(ctx, recordPause)
	}
	return err
}

// recordSent records what was accepted so far, while the chunk is under way. What fails
// is recorded at its end.
func (c *chunk) recordSent(ctx context.Context) {
	sent := c.takeSent()
	if len(sent) == 0 {
		return
	}
	call, cancel := context.WithTimeout(ctx, recordEach)
	defer cancel()
	if c.p.cfg.Outbox.Put(call, sent, nil) != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.results = append(c.results, sent...)
	}
}

// takeSent takes what was accepted out of the results.
func (c *chunk) takeSent() (sent []Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var others []Result
	for i := range c.results {
		if c.results[i].State == StateSent {
			sent = append(sent, c.results[i])
		} else {
			others = append(others, c.results[i])
		}
	}
	c.results = others
	return sent
}

// plans have the next channels looked for.
func (c *chunk) plans() (plans []notifier.PlanArgs) {
	var messages []int64
	for item, fans := range c.plan {
		switch item.Kind {
		case notifier.KindTurn:
			slices.Sort(fans)
			plans = append(plans, notifier.PlanArgs{Lane: c.lane, Opening: item.Ref, Fans: slices.Compact(fans)})
		case notifier.KindMessage:
			messages = append(messages, item.Ref)
		}
	}
	if len(messages) > 0 {
		plans = append(plans, notifier.PlanArgs{Lane: c.lane, Messages: messages})
	}
	return plans
}
