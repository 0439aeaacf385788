package waitlist

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// lookEvery is how often every process looks for shows whose time has come:
	// a crash between a commit and its decision costs this much.
	lookEvery = 100 * time.Millisecond
	// sweepEvery is how often openings with nothing pending are looked for.
	sweepEvery = 5 * time.Second
	// decideAtOnce is how many shows one process decides at a time.
	decideAtOnce = 4
	// decidePatience bounds one decision, look or sweep: a database that no
	// longer answers must not end the looking.
	decidePatience = 15 * time.Second
	// alarmLate is how much later than its moment an alarm goes off: an early one
	// would find nothing due.
	alarmLate = time.Millisecond
	// restFrom is how long a decision takes that is followed by a rest of as long, at
	// most restMost.
	restFrom = 20 * time.Millisecond
	restMost = 250 * time.Millisecond
	// alarmsMost bounds the alarms; the looks are there for the rest.
	alarmsMost = 1000
)

// DecisionStore decides shows.
type DecisionStore interface {
	// DecideShow lets time take effect and makes the show's next waves, in one
	// transaction. made is nil when nothing is due any more, or another process
	// holds the decision, which looks again after its commit.
	DecideShow(ctx context.Context, showNo int32) (made *Decided, err error)
	// DueSoon are the shows with something due now or within a time.
	DueSoon(ctx context.Context, within time.Duration) ([]Due, error)
	// Sweep makes due every show that has something unfinished and nothing due.
	Sweep(ctx context.Context) (int, error)
}

// Due is a show and in how long something is due there; 0 or less: now.
type Due struct {
	ShowNo int32
	In     time.Duration
}

// Decided is what a committed decision made known.
type Decided struct {
	ShowNo int32
	// Waves are the new ones with fans in them.
	Waves []DecidedWave
	// Fans are those whom something else happened to: a hold lapsed, their
	// turn's opening ended.
	Fans []int64
	// Again: something became due while the decision was made.
	Again bool
}

// DecidedWave is a wave for the strategy that brings it to its fans.
type DecidedWave struct {
	OpeningNo int64
	Strategy  Strategy
	N         int
	Fans      []int64
}

// Clock is the deadline clock: it has shows decided when a change asks for it and
// when a moment comes that was written down as due. Moments are rows in the
// database, so that none is lost with a process.
type Clock struct {
	store DecisionStore
	log   *slog.Logger
	// decided is called after each commit that made something known.
	decided func(*Decided)

	mu      sync.Mutex
	waiting map[int32]bool // asked for, not begun
	busy    map[int32]bool
	failing map[int32]bool      // whose last decision failed, which was logged
	alarms  map[int32]bool      // that have one set
	rests   map[int32]time.Time // not to be decided before
	wake    chan struct{}       // a slot a worker
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// NewClock returns a Clock that calls decided after each commit that made
// something known; decided must not block for long.
func NewClock(store DecisionStore, log *slog.Logger, decided func(*Decided)) *Clock {
	return &Clock{
		store: store, log: log, decided: decided,
		waiting: map[int32]bool{}, busy: map[int32]bool{}, failing: map[int32]bool{}, alarms: map[int32]bool{}, rests: map[int32]time.Time{},
		wake: make(chan struct{}, decideAtOnce),
	}
}

// Start begins deciding. Stop ends it.
func (c *Clock) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	for range decideAtOnce {
		c.wg.Go(func() { c.work(ctx) })
	}
	c.wg.Go(func() {
		c.every(ctx, lookEvery, "look for due shows", func(call context.Context) error { return c.look(call, ctx) })
	})
	c.wg.Go(func() { c.every(ctx, sweepEvery, "sweep", c.sweep) })
}

// Stop waits for the decisions in progress. It may be called twice.
func (c *Clock) Stop() {
	if c.cancel != nil {
		c.cancel()
	}
	c.wg.Wait()
}

// Nudge has the show decided as soon as a worker is free. Nudges that come before
// it is begun are one.
func (c *Clock) Nudge(showNo int32) {
	c.mu.Lock()
	c.waiting[showNo] = true
	c.mu.Unlock()
	c.poke()
}

// poke has a worker look for a show to decide.
func (c *Clock) poke() {
	select {
	case c.wake <- struct{}{}:
	default: // as many are to look as there are workers
	}
}

func (c *Clock) work(ctx context.Context) {
	for {
		for {
			no, ok := c.begin()
			if !ok || ctx.Err() != nil {
				break
			}
			c.decide(ctx, no)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
	}
}

// begin takes a show that nobody here is deciding.
func (c *Clock) begin() (int32, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for no := range c.waiting {
		if !c.busy[no] && !now.Before(c.rests[no]) {
			delete(c.rests, no)
			delete(c.waiting, no)
			c.busy[no] = true
			return no, true
		}
	}
	return 0, false
}

func (c *Clock) decide(ctx context.Context, no int32) {
	// A decision once begun is finished, also when the process stops.
	dctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decidePatience)
	defer cancel()
	began := time.Now()
	made, err := c.store.DecideShow(dctx, no)
	c.rest(ctx, no, time.Since(began))
	c.mu.Lock()
	delete(c.busy, no)
	if made != nil && made.Again {
		c.waiting[no] = true
	}
	again := c.waiting[no]
	failedBefore := c.failing[no]
	if err != nil {
		c.failing[no] = true
	} else {
		delete(c.failing, no)
	}
	c.mu.Unlock()
	if again {
		c.poke()
	}
	if err != nil {
		// The due row stands, so that the next look tries again.
		if !failedBefore {
			c.log.Error("decide a show", "show_no", no, "err", err)
		}
		return
	}
	if made != nil && (len(made.Waves) > 0 || len(made.Fans) > 0) {
		c.decided(made)
	}
}

// look nudges the shows that are due, and sets an alarm for those that will be
// before the next look, so that a deadline does not wait for it.
func (c *Clock) look(call, run context.Context) error {
	shows, err := c.store.DueSoon(call, lookEvery)
	for _, d := range shows {
		if d.In <= 0 {
			c.Nudge(d.ShowNo)
			continue
		}
		c.alarm(run, d)
	}
	return err
}

// alarm nudges a show at its moment. Looks overlap, so that a show has one alarm at
// a time: the next look sees what came meanwhile.
func (c *Clock) alarm(ctx context.Context, d Due) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alarms[d.ShowNo] || len(c.alarms) >= alarmsMost {
		return
	}
	c.alarms[d.ShowNo] = true
	c.wg.Go(func() {
		t := time.NewTimer(d.In + alarmLate)
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
			c.Nudge(d.ShowNo)
		}
		c.mu.Lock()
		delete(c.alarms, d.ShowNo)
		c.mu.Unlock()
	})
}

// rest keeps a show that took long to decide from being decided again for as long:
// the reports, joins and claims that wait for its lock have their turn, and the next
// decision serves them all.
func (c *Clock) rest(ctx context.Context, no int32, took time.Duration) {
	if took < restFrom {
		return
	}
	d := min(took, restMost)
	c.mu.Lock()
	c.rests[no] = time.Now().Add(d)
	c.mu.Unlock()
	c.wg.Go(func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
			c.poke() // what was asked for meanwhile
		}
	})
}

func (c *Clock) sweep(ctx context.Context) error {
	n, err := c.store.Sweep(ctx)
	if n > 0 {
		c.log.Warn("sweep found shows with nothing pending", "shows", n)
	}
	return err
}

// every calls f at each tick until ctx ends. A fault is logged once in a row, so
// that a database that is away does not fill the log.
func (c *Clock) every(ctx context.Context, d time.Duration, what string, f func(context.Context) error) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		fctx, cancel := context.WithTimeout(ctx, decidePatience)
		err := f(fctx)
		cancel()
		if err != nil && !failing && ctx.Err() == nil {
			c.log.Error(what, "err", err)
		}
		failing = err != nil
	}
}
