package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"fanline/notifier"
)

// Presence is told which connections of which fans this instance holds. Both are called with locks held: they must not
// block, and are called in order for a connection. *Registry is one.
type Presence interface {
	Connect(fanNo int64, session string)
	Disconnect(fanNo int64, session string)
}

// HubConfig configures a Hub. Feed, Clock, Acts and Verify must be there.
type HubConfig struct {
	Feed  Feed
	Clock Clock
	Acts  Acts
	// Lines may be nil: then nobody is told of their position.
	Lines Lines
	// Registry may be nil: then no other instance can wake this one.
	Registry Presence
	// Verify checks a token that renews a connection in place.
	Verify func(ctx context.Context, token string) (fanID string, expires time.Time, err error)
	Log    *slog.Logger

	HeartbeatS int // between two pings of the server; 0: 25
	MaxConns   int // sockets on this instance; 0: 50,000
	MaxJoining int // sockets that are catching up at once; 0: 512
	PerFan     int // sockets of one fan on this instance; 0: 8
	// What may wait for one slow reader, and for all of them: above QueueBytesAll a connection may only have an eighth
	// of QueueBytes. 0: 8,192 frames, 2 MiB, 256 MiB.
	Queue         int
	QueueBytes    int
	QueueBytesAll int64
	// WriteTimeout is how long a write may take before the reader counts as too slow; 0: 5 s.
	WriteTimeout time.Duration
	// CallTimeout bounds each call of Feed, Acts and Verify; 0: 5 s.
	CallTimeout time.Duration
	// Calls is how many calls for connections are under way at once; 0: 64.
	Calls int
	// LookEvery is how often the Feed is read without a wake, and the Lines at all; 0: 1 s.
	LookEvery time.Duration
}

func (c HubConfig) withDefaults() HubConfig {
	c.Log = cmp.Or(c.Log, slog.Default())
	c.HeartbeatS = cmp.Or(c.HeartbeatS, 25)
	c.MaxConns = cmp.Or(c.MaxConns, 50_000)
	c.MaxJoining = cmp.Or(c.MaxJoining, 512)
	c.PerFan = cmp.Or(c.PerFan, 8)
	c.Queue = cmp.Or(c.Queue, 8192)
	c.QueueBytes = cmp.Or(c.QueueBytes, 2<<20)
	c.QueueBytesAll = cmp.Or(c.QueueBytesAll, 256<<20)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 5*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, 5*time.Second)
	c.Calls = cmp.Or(c.Calls, 64)
	c.LookEvery = cmp.Or(c.LookEvery, time.Second)
	if c.Registry == nil {
		c.Registry = nobody{}
	}
	return c
}

func (c HubConfig) validate() error {
	if c.Feed == nil || c.Clock == nil || c.Acts == nil || c.Verify == nil {
		return errors.New("a hub needs Feed, Clock, Acts and Verify")
	}
	for _, n := range []int{c.HeartbeatS, c.MaxConns, c.MaxJoining, c.PerFan, c.Queue, c.QueueBytes, c.Calls} {
		if n < 0 {
			return errors.New("a hub's limits cannot be negative")
		}
	}
	return nil
}

// nobody is the Presence of a single instance.
type nobody struct{}

func (nobody) Connect(int64, string)    {}
func (nobody) Disconnect(int64, string) {}

// Hub is the live sockets of this instance.
type Hub struct {
	cfg   HubConfig
	fans  *fans
	sched *schedule
	wake  chan struct{} // one slot
	calls chan struct{} // a slot for each call under way for a connection
	cur   Cursor        // the look's alone after Start
	// moment is how far the feed was read and handed out.
	moment atomic.Pointer[Moment]
	debts  debts
	outs   signOuts
	lines  *lines

	callCtx    context.Context // ends the calls for connections, when Stop runs out of time
	cancelCall context.CancelFunc
	cancelRun  context.CancelFunc // ends the look and the schedule
	run        sync.WaitGroup     // the look and the schedule
	serving    sync.WaitGroup     // Serve and all that it started
	stopped    chan struct{}      // closed when Stop is through

	actFault notifier.Faults

	mu       sync.Mutex
	conns    map[*conn]struct{} // all of Serve, also those not in fans yet or any more
	joining  map[*conn]struct{} // those of them that have not caught up
	expected []time.Time        // when Full said that a connection may come, which has not come yet
	started  bool
	draining bool

	queuedFrames, queuedBytes atomic.Int64
	slowCloses, pushes        atomic.Int64
	looks, lookErrors         atomic.Int64
}

// Stats are a Hub's figures of this moment; SlowCloses, Pushes, Looks and LookErrors only grow.
type Stats struct {
	Connections, Fans         int64
	QueuedFrames, QueuedBytes int64
	Scheduled                 int64 // pushes to come and turns to watch
	SlowCloses, Pushes        int64
	Looks, LookErrors         int64
}

// NewHub returns a Hub that is not started.
func NewHub(cfg HubConfig) (*Hub, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	h := &Hub{
		cfg: cfg, sched: newSchedule(),
		wake: make(chan struct{}, 1), calls: make(chan struct{}, cfg.Calls),
		stopped: make(chan struct{}), conns: map[*conn]struct{}{}, joining: map[*conn]struct{}{},
		actFault: notifier.Faults{Log: cfg.Log},
	}
	h.fans = newFans(cfg.PerFan, cfg.Registry, h.sched)
	h.lines = newLines(h)
	h.callCtx, h.cancelCall = context.WithCancel(context.Background())
	return h, nil
}

// Start fixes where the Feed is read from and begins to read it. ctx bounds the call alone. Without a Start, Serve
// turns everybody away: what was committed between a backlog and a later start would be lost.
func (h *Hub) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.CallTimeout)
	defer cancel()
	cur, moment, err := h.cfg.Feed.Start(ctx)
	if err != nil {
		return fmt.Errorf("start the hub: read where the feed stands: %w", err)
	}
	h.cur = cur
	h.arrive(moment)
	run, stop := context.WithCancel(context.Background())
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.started || h.draining {
		stop()
		return errors.New("start the hub: it was started or stopped before")
	}
	h.started, h.cancelRun = true, stop
	h.run.Go(func() { h.lookLoop(run) })
	h.run.Go(func() { h.scheduleLoop(run) })
	if h.cfg.Lines != nil {
		h.run.Go(func() { h.lines.loop(run) })
	}
	return nil
}

// Stop drains: no more connections, a closing frame and 1001 for each that is there, and a wait for every goroutine.
// When ctx ends first, what is left is cut off, and its error is returned. Later calls wait for the first.
func (h *Hub) Stop(ctx context.Context) error {
	conns, first := h.beginDrain()
	if !first {
		<-h.stopped
		return nil
	}
	defer close(h.stopped)
	h.run.Wait()
	for _, c := range conns {
		c.drain(retryAfter(len(conns)))
	}
	cut := make(chan struct{})
	inTime := context.AfterFunc(ctx, func() {
		defer close(cut)
		h.cancelCall()
		for _, c := range conns {
			c.cut()
		}
	})
	h.serving.Wait()
	h.cancelCall()
	if !inTime() {
		<-cut
		return fmt.Errorf("stop the hub: connections were cut off: %w", ctx.Err())
	}
	return nil
}

// beginDrain refuses what comes from now on and returns what is there.
func (h *Hub) beginDrain() (conns []*conn, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return nil, false
	}
	h.draining = true
	if h.cancelRun != nil {
		h.cancelRun()
	}
	for c := range h.conns {
		conns = append(conns, c)
	}
	return conns, true
}

// retryAfter spreads the return of n clients: about a thousand a second, as a connect costs 0.2 ms of CPU.
func retryAfter(n int) time.Duration {
	spread := min(time.Second+time.Duration(n)*time.Millisecond, time.Minute)
	return 100*time.Millisecond + rand.N(spread)
}

// Wake is a hint to look at the Feed now. It never blocks; hints that come before the look begins are one.
func (h *Hub) Wake() { poke(h.wake) }

// Draining says that Stop was called.
func (h *Hub) Draining() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.draining
}

// Full says that a new connection would be turned away: answer 503 with Retry-After before the upgrade. It is true
// before Start and after Stop, and while as many connections are catching up as MaxJoining. One that may come is counted
// from the answer on, so that a burst is refused and not let in by a thousand handlers at the same time; whoever asks and
// then does not call Serve holds that place for expectFor.
func (h *Hub) Full() bool {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.expected) > 0 && now.Sub(h.expected[0]) > expectFor {
		h.expected = h.expected[1:]
	}
	if !h.open() || len(h.joining)+len(h.expected) >= h.cfg.MaxJoining {
		return true
	}
	h.expected = append(h.expected, now)
	return false
}

// expectFor is how long an upgrade may take at most.
const expectFor = 2 * time.Second

// joined ends a connection's catching up.
func (h *Hub) joined(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.joining, c)
}

// open says that one more connection may enter. mu is held.
func (h *Hub) open() bool {
	return h.started && !h.draining && len(h.conns) < h.cfg.MaxConns
}

// TooMany closes a connection of a fan who has too many over all instances, with 4009.
func (h *Hub) TooMany(fanNo int64, session string) {
	for _, c := range h.fans.of(fanNo) {
		if c.session == session {
			c.close(closeTooMany)
		}
	}
}

// Stats returns the figures of this moment.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	conns := len(h.conns)
	h.mu.Unlock()
	return Stats{
		Connections: int64(conns), Fans: h.fans.count.Load(),
		QueuedFrames: h.queuedFrames.Load(), QueuedBytes: h.queuedBytes.Load(),
		Scheduled:  h.sched.len(),
		SlowCloses: h.slowCloses.Load(), Pushes: h.pushes.Load(),
		Looks: h.looks.Load(), LookErrors: h.lookErrors.Load(),
	}
}
