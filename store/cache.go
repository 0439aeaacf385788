package store

import (
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/redis/go-redis/v9"

	"fanline/waitlist"
)

const (
	// localFor is how long an instance keeps a value to itself, at most.
	localFor = time.Second
	// missingFor is how long it is known that something does not exist.
	missingFor = 2 * time.Second
	// loadFor bounds one load; a ticket outlives it.
	loadFor   = 5 * time.Second
	ticketFor = 2 * loadFor
	// localBytes is about how much an instance keeps, and largestValue the largest
	// value that is kept at all.
	localBytes   = 64 << 20
	largestValue = 4 << 20
	// counters of keys, a power of two: two keys that share one disturb each other
	// only in that a fill of one is not kept.
	genCount = 4096
)

// CacheConfig configures a Cache.
type CacheConfig struct {
	Redis redis.UniversalClient
	// Database names whose numbers the keys are of, since a Redis may serve several;
	// DatabaseName tells it.
	Database string
	// Clock tells the database's time without a statement. A Clock does.
	Clock interface{ Now() time.Time }
	Log   *slog.Logger
}

// Cache keeps the inputs of what is read most, in this process over Redis over
// Postgres. Its methods may be called concurrently. Start and Stop it.
//
// What a writer replaced is never put back. In Redis a key holds a value or a
// ticket, which those who read the database for it found or put there before; a
// writer removes either after its commit, and a value is only filled in over its
// reader's ticket. In this process the same is held
// by a generation a key. Instances tell each other what they made stale; while one
// does not hear the others it keeps nothing to itself. Values that are not made
// stale, since their writer died between its commit and saying so, end by
// themselves after two seconds at most.
type Cache struct {
	cfg    CacheConfig
	local  *otter.Cache[string, held]
	gens   [genCount]atomic.Uint64
	seed   maphash.Seed
	hears  atomic.Bool  // the others
	awayAt atomic.Int64 // when Redis last failed

	mu      sync.Mutex // guards flights
	flights map[flightKey]*flight

	cancel context.CancelFunc
	wg     sync.WaitGroup
	stats  cacheCounters
}

// held is a value in this process.
type held struct {
	value any
	until time.Time // by this machine's monotonic clock
	size  int
}

// flightKey: whoever asks after a write does not join a load from before it.
type flightKey struct {
	key string
	gen uint64
}

// flight is one load that others wait for.
type flight struct {
	done  chan struct{}
	value any
	err   error
}

type cacheCounters struct{ local, shared, loads, joined, bypassed, stale, faults atomic.Int64 }

// CacheStats counts what the cache did since it was made.
type CacheStats struct {
	Local    int64 // reads served from this process
	Shared   int64 // reads served from Redis
	Loads    int64 // loads from Postgres
	Joined   int64 // reads that waited for another's load
	Bypassed int64 // reads that did not look in this process, which does not hear the others
	Stale    int64 // keys that writes of this instance made stale
	Faults   int64 // calls of Redis that failed
}

// NewCache puts a cache before the reads of s that have one. Call it before s is
// used, and Start.
func (s *Store) NewCache(cfg CacheConfig) (*Cache, error) {
	if cfg.Redis == nil || cfg.Database == "" || cfg.Clock == nil {
		return nil, errors.New("cache: Redis, Database and Clock are required")
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	c := &Cache{cfg: cfg, seed: maphash.MakeSeed(), flights: map[flightKey]*flight{}}
	var err error
	c.local, err = otter.New(&otter.Options[string, held]{
		MaximumWeight:    localBytes,
		Weigher:          func(key string, h held) uint32 { return uint32(len(key) + h.size + 200) },
		ExpiryCalculator: otter.ExpiryWriting[string, held](localFor),
	})
	if err != nil {
		return nil, err
	}
	s.cache = c
	return c, nil
}

// Start begins to hear the other instances.
func (c *Cache) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.wg.Go(func() { c.listenLoop(ctx) })
}

// Stop waits for the loads in progress. The cache may still be asked; it keeps
// nothing any more.
func (c *Cache) Stop() {
	if c.cancel != nil {
		c.cancel()
	}
	c.wg.Wait()
	c.local.StopAllGoroutines()
}

// Stats returns the counts so far.
func (c *Cache) Stats() CacheStats {
	s := &c.stats
	return CacheStats{
		Local: s.local.Load(), Shared: s.shared.Load(), Loads: s.loads.Load(), Joined: s.joined.Load(),
		Bypassed: s.bypassed.Load(), Stale: s.stale.Load(), Faults: s.faults.Load(),
	}
}

func (c *Cache) gen(key string) *atomic.Uint64 {
	return &c.gens[maphash.String(c.seed, key)%genCount]
}

// answer is what is kept of a load: a value, or that there is none.
type cacheAnswer[T any] struct {
	Value   T      `json:"v"`
	Missing string `json:"m,omitempty"` // the sentence of NotFound
}

func (a *cacheAnswer[T]) result() (*T, error) {
	if a.Missing != "" {
		return nil, waitlist.Refuse(waitlist.NotFound, "%s", a.Missing)
	}
	return &a.Value, nil
}

// cached returns the value of a key, which lives for ttl from its load on. The
// value is shared: it must not be changed. NotFound is kept too, for a moment;
// other errors are everybody's who waited, and not kept. Without a cache it loads.
func cached[T any](ctx context.Context, c *Cache, key string, ttl time.Duration, load func(context.Context) (T, error)) (*T, error) {
	if c == nil {
		v, err := load(ctx)
		return &v, err
	}
	gen := c.gen(key).Load()
	if !c.hears.Load() {
		c.stats.bypassed.Add(1)
	} else if h, ok := c.local.GetIfPresent(key); ok && time.Now().Before(h.until) {
		c.stats.local.Add(1)
		return h.value.(*cacheAnswer[T]).result()
	}
	v, err := c.once(ctx, flightKey{key, gen}, func(ctx context.Context) (any, error) {
		return fetch(ctx, c, key, gen, ttl, load)
	})
	if err != nil {
		return nil, err
	}
	return v.(*cacheAnswer[T]).result()
}

// peek returns the value of a key where this process holds it.
func peek[T any](c *Cache, key string) (*T, bool) {
	if c == nil || !c.hears.Load() {
		return nil, false
	}
	h, ok := c.local.GetIfPresent(key)
	if !ok || !time.Now().Before(h.until) {
		return nil, false
	}
	v, err := h.value.(*cacheAnswer[T]).result()
	return v, err == nil
}

// once runs f for all who ask at the same time. It belongs to none of them: when
// one goes away the others still get its answer.
func (c *Cache) once(ctx context.Context, key flightKey, f func(context.Context) (any, error)) (any, error) {
	c.mu.Lock()
	fl, ok := c.flights[key]
	if !ok {
		fl = &flight{done: make(chan struct{})}
		c.flights[key] = fl
		c.wg.Go(func() { c.fly(context.WithoutCancel(ctx), key, fl, f) })
	}
	c.mu.Unlock()
	if ok {
		c.stats.joined.Add(1)
	}
	select {
	case <-fl.done:
		return fl.value, fl.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Cache) fly(ctx context.Context, key flightKey, fl *flight, f func(context.Context) (any, error)) {
	ctx, cancel := context.WithTimeout(ctx, loadFor)
	defer cancel()
	fl.value, fl.err = f(ctx)
	c.mu.Lock()
	delete(c.flights, key)
	c.mu.Unlock()
	close(fl.done)
}

// fetch reads a key from Redis, or else loads it and fills it in.
func fetch[T any](ctx context.Context, c *Cache, key string, gen uint64, ttl time.Duration, load func(context.Context) (T, error)) (any, error) {
	found, lease := c.get(ctx, key)
	if found != nil {
		a := &cacheAnswer[T]{}
		if left := found.expires.Sub(c.cfg.Clock.Now()); json.Unmarshal(found.payload, a) == nil && left > 0 {
			c.stats.shared.Add(1)
			c.keep(key, gen, held{a, time.Now().Add(min(left, localFor)), len(found.payload)})
			return a, nil
		}
		lease = found.raw // what cannot be read is a miss
	}
	began := time.Now()
	c.stats.loads.Add(1)
	a := &cacheAnswer[T]{}
	var err error
	if a.Value, err = load(ctx); err != nil {
		refusal, ok := errors.AsType[*waitlist.Error](err)
		if !ok || refusal.Code != waitlist.NotFound {
			return nil, err
		}
		a.Missing, ttl = refusal.Detail, min(ttl, missingFor)
	}
	payload, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	left := ttl - time.Since(began)
	if len(payload) > largestValue || left <= 0 {
		return a, nil
	}
	if lease != "" {
		c.fill(ctx, key, lease, left, payload)
	}
	c.keep(key, gen, held{a, began.Add(min(ttl, localFor)), len(payload)})
	return a, nil
}

// version returns a key's ticket, which stands for all that a write to it makes
// stale; "" when Redis is away. Read it before what it is to cover.
func (c *Cache) version(ctx context.Context, key string) string {
	gen := c.gen(key).Load()
	if c.hears.Load() {
		if h, ok := c.local.GetIfPresent(key); ok && time.Now().Before(h.until) {
			return h.value.(string)
		}
	}
	until := time.Now().Add(localFor)
	_, ticket := c.get(ctx, key)
	if ticket != "" {
		c.keep(key, gen, held{ticket, until, len(ticket)})
	}
	return ticket
}

// keep holds a value in this process, unless a write made it stale since gen.
func (c *Cache) keep(key string, gen uint64, h held) {
	if !c.hears.Load() || c.gen(key).Load() != gen {
		return
	}
	c.local.Set(key, h)
	if c.gen(key).Load() != gen { // in between
		c.local.Invalidate(key)
	}
}

// forget drops keys from this process.
func (c *Cache) forget(keys ...string) {
	for _, key := range keys {
		c.gen(key).Add(1)
		c.local.Invalidate(key)
	}
}

// forgetAll drops everything from this process.
func (c *Cache) forgetAll() {
	for i := range c.gens {
		c.gens[i].Add(1)
	}
	c.local.InvalidateAll()
}

// stale makes keys stale, here and for all. It comes after the commit of what
// replaced them, and returns when no later read of this instance can find the old.
func (c *Cache) stale(ctx context.Context, keys []string) {
	if c == nil || len(keys) == 0 {
		return
	}
	c.stats.stale.Add(int64(len(keys)))
	c.tell(context.WithoutCancel(ctx), keys)
	c.forget(keys...) // last: in between, somebody may have read the old from Redis
}
