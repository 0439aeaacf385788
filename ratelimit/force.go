package ratelimit

import (
	"context"
	_ "embed"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed force.lua
var forceLua string

var forceScript = redis.NewScript(forceLua)

// climb is how long a limit that fell to nothing takes to be whole again. It
// climbs evenly, so that one halved is back after half of it.
const climb = time.Minute

// Force is what is in force of a limit.
type Force struct {
	// N is the limit now, at least 1.
	N int
	// Pause is for how long nothing is to be sent at all.
	Pause time.Duration
}

// InForce returns what is in force of a limit that Lower may have lowered.
func (l *Limiter) InForce(ctx context.Context, name string, configured int) Force {
	return l.force(ctx, name, configured, false, 0)
}

// Lower halves a limit, at most once a second however many ask, and stops all of
// it for pause. In quiet it climbs back to what is configured. The instances share
// it; without Redis each has its own.
func (l *Limiter) Lower(ctx context.Context, name string, configured int, pause time.Duration) Force {
	return l.force(ctx, name, configured, true, pause)
}

func (l *Limiter) force(ctx context.Context, name string, configured int, lower bool, pause time.Duration) Force {
	// Also here, so that Redis going away does not forget it.
	own := l.forces.force(name, configured, lower, pause, time.Now())
	if time.Now().UnixNano() < l.awayUntil.Load() {
		return own
	}
	call, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	key := l.cfg.Prefix + ":{" + name + "}:force"
	arg := 0
	if lower {
		arg = 1
	}
	got, err := forceScript.Run(call, l.cfg.Redis, []string{key}, configured, climb.Microseconds(), arg, pause.Microseconds()).Int64Slice()
	if err != nil || len(got) != 2 {
		l.away(ctx, err)
		return own
	}
	return Force{int(got[0]), time.Duration(got[1]) * time.Microsecond}
}

// forces are the limits in force as this process knows them: the same rules as in
// force.lua.
type forces struct {
	mu  sync.Mutex
	was map[string]forced
}

type forced struct {
	n         int
	at, until time.Time
}

func (f *forces) force(name string, configured int, lower bool, pause time.Duration, now time.Time) Force {
	f.mu.Lock()
	defer f.mu.Unlock()
	was, ok := f.was[name]
	if !ok {
		was.n = configured
	}
	n := min(configured, was.n+int(float64(configured)*now.Sub(was.at).Seconds()/climb.Seconds()))
	if lower {
		if now.Sub(was.at) >= time.Second {
			n = max(1, n/2)
			was.n, was.at = n, now
		}
		if until := now.Add(pause); until.After(was.until) {
			was.until = until
		}
		f.was[name] = was
	}
	return Force{n, max(0, was.until.Sub(now))}
}
