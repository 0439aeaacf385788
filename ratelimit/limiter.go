package ratelimit

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed take.lua
var takeLua string

var takeScript = redis.NewScript(takeLua)

// Limit is at most N permits in any window of Per: the half-open span from any
// moment on.
type Limit struct {
	N   int
	Per time.Duration
}

// PerSecond is a limit of n a second.
func PerSecond(n int) Limit { return Limit{N: n, Per: time.Second} }

// Config configures a Limiter. Redis must be there.
type Config struct {
	// Redis must have ContextTimeoutEnabled: without it, a Redis that does not
	// answer holds callers for many seconds.
	Redis redis.UniversalClient
	// Prefix begins the keys; empty: "fanline:limit".
	Prefix string
	// Timeout bounds each exchange with Redis; 0: 250 ms.
	Timeout time.Duration
	// Instances is how many instances share the limits, asked now and then while
	// Redis answers: without Redis each keeps that part of them. nil: one.
	Instances func(ctx context.Context) (int, error)
	Log       *slog.Logger
}

// Limiter grants permits. It holds no goroutine and needs no closing.
type Limiter struct {
	cfg    Config
	local  *local
	forces forces

	awayUntil atomic.Int64 // Unix nanoseconds; Redis is not asked before
	counting  atomic.Bool  // somebody asks for the number of instances
	countAt   atomic.Int64 // when it may be asked again
	instances atomic.Int64

	granted, refused, alone atomic.Int64
}

// Stats only grow.
type Stats struct {
	Granted, Refused int64
	// Alone counts the calls answered without Redis, by this instance's share.
	Alone int64
}

const (
	// awayFor is how long Redis is left alone after a fault: meanwhile callers do
	// not wait for it.
	awayFor = time.Second
	// countEvery is how often the instances are counted.
	countEvery = 5 * time.Second
)

// New returns a Limiter.
func New(cfg Config) (*Limiter, error) {
	if cfg.Redis == nil {
		return nil, errors.New("a limiter needs Redis")
	}
	if cfg.Prefix == "" {
		cfg.Prefix = "fanline:limit"
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 250 * time.Millisecond
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	l := &Limiter{cfg: cfg, local: newLocal(), forces: forces{was: map[string]forced{}}}
	l.instances.Store(1)
	return l, nil
}

// Take takes up to n permits of the limiter named, and returns how many it got.
// When it got none, retryAfter is when there may be one.
func (l *Limiter) Take(ctx context.Context, name string, limit Limit, n int) (granted int, retryAfter time.Duration, err error) {
	if limit.N < 1 || limit.Per < time.Millisecond || n < 1 {
		return 0, 0, fmt.Errorf("take %d of %d in %v: a limit is 1 or more in a millisecond or more", n, limit.N, limit.Per)
	}
	granted, retryAfter, ok := l.shared(ctx, name, limit, n)
	if !ok {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		l.alone.Add(1)
		granted, retryAfter = l.local.take(name, limit.share(int(l.instances.Load())), n, time.Now())
	}
	l.granted.Add(int64(granted))
	if granted == 0 {
		l.refused.Add(1)
	}
	return granted, retryAfter, nil
}

// shared asks Redis; not ok when it does not answer.
func (l *Limiter) shared(ctx context.Context, name string, limit Limit, n int) (granted int, retryAfter time.Duration, ok bool) {
	if time.Now().UnixNano() < l.awayUntil.Load() {
		return 0, 0, false
	}
	call, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	// The braces make a limiter one slot of a cluster, whatever is added to it.
	key := l.cfg.Prefix + ":{" + name + "}"
	got, err := takeScript.Run(call, l.cfg.Redis, []string{key}, limit.N, limit.Per.Microseconds(), n, rand.Text()).Int64Slice()
	if err != nil || len(got) != 2 {
		l.away(ctx, err)
		return 0, 0, false
	}
	l.count(ctx)
	return int(got[0]), time.Duration(got[1]) * time.Microsecond, true
}

// away leaves Redis alone for a while, unless it was the caller who gave up.
func (l *Limiter) away(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	now := time.Now()
	if was := l.awayUntil.Swap(now.Add(awayFor).UnixNano()); now.Add(-2*awayFor).UnixNano() > was {
		l.cfg.Log.Warn("limits are kept by each instance alone while Redis does not answer", "err", err)
	}
}

// count asks now and then how many instances there are.
func (l *Limiter) count(ctx context.Context) {
	now := time.Now()
	if l.cfg.Instances == nil || now.UnixNano() < l.countAt.Load() || !l.counting.CompareAndSwap(false, true) {
		return
	}
	defer l.counting.Store(false)
	l.countAt.Store(now.Add(countEvery).UnixNano())
	call, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	if n, err := l.cfg.Instances(call); err == nil {
		l.instances.Store(int64(max(1, n)))
	}
}

// Stats returns the figures so far.
func (l *Limiter) Stats() Stats {
	return Stats{Granted: l.granted.Load(), Refused: l.refused.Load(), Alone: l.alone.Load()}
}

// share is one instance's part of a limit. Where there are more instances than
// permits the window grows instead: one permit in as many windows.
func (limit Limit) share(instances int) Limit {
	if limit.N >= instances {
		return Limit{limit.N / instances, limit.Per}
	}
	return Limit{1, limit.Per * time.Duration((instances+limit.N-1)/limit.N)}
}

// local keeps limits in this process, while Redis is away.
type local struct {
	mu  sync.Mutex
	log map[string][]time.Time // the permits of the last window, oldest first
}

// localMost is how many limiters are kept; then those without permits in their
// last window go, and if none does, all.
const localMost = 100_000

func newLocal() *local { return &local{log: map[string][]time.Time{}} }

func (l *local) take(name string, limit Limit, n int, now time.Time) (granted int, retryAfter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.log[name]; !ok && len(l.log) >= localMost {
		l.shrink(limit.Per, now)
	}
	log := l.log[name]
	for len(log) > 0 && now.Sub(log[0]) >= limit.Per {
		log = log[1:]
	}
	if room := limit.N - len(log); room <= 0 {
		l.log[name] = log
		return 0, limit.Per - now.Sub(log[-room])
	} else {
		granted = min(n, room)
	}
	for range granted {
		log = append(log, now)
	}
	l.log[name] = log
	return granted, 0
}

func (l *local) shrink(window time.Duration, now time.Time) {
	for name, log := range l.log {
		if len(log) == 0 || now.Sub(log[len(log)-1]) >= window {
			delete(l.log, name)
		}
	}
	if len(l.log) >= localMost {
		clear(l.log)
	}
}
