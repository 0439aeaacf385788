package live

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"fanline/notifier"
)

// RegistryConfig configures a Registry.
type RegistryConfig struct {
	// Redis must have ContextTimeoutEnabled: without it, a Redis that does not answer holds callers for many seconds.
	Redis redis.UniversalClient
	// Database names whose fans the numbers are, since a Redis may serve several.
	Database string
	// Instance names this process among all; empty: a random name.
	Instance string
	Log      *slog.Logger

	// Timeout bounds each exchange with Redis; 0: 500 ms.
	Timeout time.Duration
	// Lease is how long an instance counts after it was heard of last, Beat how often it is; 0: 10 s and 3 s.
	Lease, Beat time.Duration
	// PerFan is how many connections a fan may have over all instances: the oldest go; 0: 8.
	PerFan int
	// FanTTL is how long a fan's connections stand after they were written last, Refresh how often they are; 0: 90 s
	// and 30 s. FanTTL is whole seconds.
	FanTTL, Refresh time.Duration
}

func (c RegistryConfig) withDefaults() RegistryConfig {
	if c.Instance == "" {
		var id [8]byte
		_, _ = rand.Read(id[:]) // never fails
		c.Instance = hex.EncodeToString(id[:])
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	c.Timeout = cmp.Or(c.Timeout, 500*time.Millisecond)
	c.Lease = cmp.Or(c.Lease, 10*time.Second)
	c.Beat = cmp.Or(c.Beat, 3*time.Second)
	c.PerFan = cmp.Or(c.PerFan, 8)
	c.FanTTL = cmp.Or(c.FanTTL, 90*time.Second)
	c.Refresh = cmp.Or(c.Refresh, 30*time.Second)
	return c
}

func (c RegistryConfig) validate() error {
	enabled := true
	switch r := c.Redis.(type) {
	case nil:
		return errors.New("a registry needs Redis")
	case *redis.Client:
		enabled = r.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		enabled = r.Options().ContextTimeoutEnabled
	}
	if !enabled {
		return errors.New("a registry needs a Redis client with ContextTimeoutEnabled")
	}
	if c.Beat*2 > c.Lease || c.Refresh*2 > c.FanTTL || c.FanTTL < time.Second {
		return errors.New("a registry's lease and times to live must be twice what renews them, and a second or more")
	}
	return nil
}

// Local is what a wake reaches on this instance. *Hub is one. Its methods must not block.
type Local interface {
	Wake()
	// TooMany ends a connection of a fan who has more than PerFan over all instances.
	TooMany(fanNo int64, session string)
}

// Registry knows which instance holds which fan's sockets, in Redis. One that is not started can wake others: that is
// enough for a process without sockets. It is a Presence, and fanout's Waker.
//
// Redis is brought to what connections holds, not fed with events: what is to be written waits as a set of fans, so that
// events of a connection cannot overtake each other, and an outage of Redis costs no memory beyond the fans.
type Registry struct {
	cfg   RegistryConfig
	fault notifier.Faults // of what the registry does by itself
	flush chan struct{}

	cancel    context.CancelFunc
	run       sync.WaitGroup
	refreshed time.Time    // when all fans were marked dirty last; the beat's alone
	awayAt    atomic.Int64 // when a wake failed last, in Unix nanoseconds

	wakes, published, errs atomic.Int64

	mu      sync.Mutex
	local   Local
	stopped bool
	// connections of this instance by fan, each with its beginning.
	connections map[int64]map[string]time.Time
	// dirty fans are to be written, with the connections to remove.
	dirty   map[int64][]string
	removed int // connections in dirty
}

// removedMost is how many ended connections are kept for removal while Redis is away; the rest are left to FanTTL. Until
// then a wake for them reaches this instance in vain.
const removedMost = 100_000

// NewRegistry returns a Registry that is not started.
func NewRegistry(cfg RegistryConfig) (*Registry, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Registry{
		cfg: cfg, fault: notifier.Faults{Log: cfg.Log}, flush: make(chan struct{}, 1),
		connections: map[int64]map[string]time.Time{}, dirty: map[int64][]string{},
	}, nil
}

// Start makes this instance known and hands local what others send. It does not wait for Redis.
func (r *Registry) Start(local Local) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.local != nil || r.stopped {
		return errors.New("start the registry: it was started or stopped before")
	}
	r.local = local
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.run.Go(func() { r.beatLoop(ctx) })
	r.run.Go(func() { r.flushLoop(ctx) })
	r.run.Go(func() { r.listenLoop(ctx) })
	return nil
}

// Stop takes this instance and its connections out of Redis, as far as ctx lets it; what stays, the lease ends. It waits
// for every goroutine, and may be called twice.
func (r *Registry) Stop(ctx context.Context) error {
	r.mu.Lock()
	first, started := !r.stopped, r.local != nil
	r.stopped = true
	if r.cancel != nil {
		r.cancel()
	}
	r.mu.Unlock()
	r.run.Wait()
	if !first || !started {
		return nil
	}
	return r.withdraw(ctx)
}

// withdraw ends the lease first: a fan's connections without it count for nothing.
func (r *Registry) withdraw(ctx context.Context) error {
	err := r.do(ctx, func(ctx context.Context) error {
		if err := r.cfg.Redis.Del(ctx, leaseKey(r.cfg.Instance)).Err(); err != nil {
			return err
		}
		return r.cfg.Redis.HDel(ctx, censusKey, r.cfg.Instance).Err()
	})
	r.mu.Lock()
	for fan, conns := range r.connections {
		for id := range conns {
			r.dirty[fan] = append(r.dirty[fan], id)
		}
	}
	clear(r.connections)
	r.mu.Unlock()
	for err == nil && r.dirtyCount() > 0 {
		err = r.flushSome(ctx)
	}
	if err != nil {
		return fmt.Errorf("stop the registry: %w", err)
	}
	return nil
}

// Connect notes a connection of this instance. It does not wait for Redis.
func (r *Registry) Connect(fanNo int64, session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.connections[fanNo] == nil {
		r.connections[fanNo] = map[string]time.Time{}
	}
	r.connections[fanNo][session] = time.Now()
	r.markDirty(fanNo)
}

// Disconnect notes the end of a connection. It does not wait for Redis.
func (r *Registry) Disconnect(fanNo int64, session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.connections[fanNo], session)
	if len(r.connections[fanNo]) == 0 {
		delete(r.connections, fanNo)
	}
	if r.removed >= removedMost {
		if len(r.dirty[fanNo]) == 0 && r.connections[fanNo] == nil {
			delete(r.dirty, fanNo)
		}
		return
	}
	r.removed++
	r.markDirty(fanNo, session)
}

// markDirty has the fan written. mu is held.
func (r *Registry) markDirty(fanNo int64, remove ...string) {
	r.dirty[fanNo] = append(r.dirty[fanNo], remove...)
	poke(r.flush)
}

func (r *Registry) dirtyCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.dirty)
}

// holds returns the hub of this instance if it has one of the fans, and is started; else nil.
func (r *Registry) holds(fans []int64) Local {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.local == nil || r.stopped {
		return nil
	}
	for _, fan := range fans {
		if len(r.connections[fan]) > 0 {
			return r.local
		}
	}
	return nil
}

// do bounds an exchange with Redis, and counts its failure.
func (r *Registry) do(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	err := f(ctx)
	if err != nil {
		r.errs.Add(1)
	}
	return err
}

// RegistryStats are a Registry's figures; all but Fans and Waiting only grow.
type RegistryStats struct {
	Fans, Waiting            int64 // fans here, and those to be written
	Wakes, Published, Errors int64 // wakes that came, messages sent, exchanges that failed
}

// Stats returns the figures of this moment.
func (r *Registry) Stats() RegistryStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return RegistryStats{
		Fans: int64(len(r.connections)), Waiting: int64(len(r.dirty)),
		Wakes: r.wakes.Load(), Published: r.published.Load(), Errors: r.errs.Load(),
	}
}
