package delivery

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fanline/notifier"
	"fanline/ratelimit"
)

// Limiter is the shared window that provider limits are kept by. *ratelimit.Limiter
// is one.
type Limiter interface {
	Take(ctx context.Context, name string, limit ratelimit.Limit, n int) (granted int, retryAfter time.Duration, err error)
	InForce(ctx context.Context, name string, configured int) ratelimit.Force
	Lower(ctx context.Context, name string, configured int, pause time.Duration) ratelimit.Force
	Used(ctx context.Context, name string, per time.Duration) int
}

// LimitsConfig are the limits of providers.
type LimitsConfig struct {
	// Of holds the configured limits; a channel without one is not limited until
	// its provider asks for less, and then goes by unlimited.
	Of map[notifier.Channel]ratelimit.Limit
	// Reserve is the share of each limit that only transactional deliveries may
	// use, in percent.
	Reserve int
}

// unlimited stands for the limit of a channel without one, so that its provider's
// refusals have something to lower.
var unlimited = ratelimit.PerSecond(10_000)

// limitNames are the words for channels in the configuration.
var limitNames = map[string]notifier.Channel{
	"apns": notifier.APNs, "fcm": notifier.FCM, "webpush": notifier.WebPush,
	"twilio": notifier.SMS, "sms": notifier.SMS, "smtp": notifier.Email, "email": notifier.Email,
}

var limitSpans = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}

// ParseLimits reads "fcm=10000/s,twilio=100/s;transactional=20%".
func ParseLimits(text string) (LimitsConfig, error) {
	cfg := LimitsConfig{Of: map[notifier.Channel]ratelimit.Limit{}, Reserve: 20}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' }) {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if name == string(notifier.Transactional) {
			n, err := strconv.Atoi(strings.TrimSuffix(value, "%"))
			if err != nil || n < 0 || n > 90 || !strings.HasSuffix(value, "%") {
				return cfg, fmt.Errorf("%q: the reserve is a share from 0%% to 90%%, as transactional=20%%", part)
			}
			cfg.Reserve = n
			continue
		}
		channel, ok := limitNames[name]
		if !ok {
			return cfg, fmt.Errorf("%q: there is a limit for apns, fcm, webpush, twilio and smtp, and transactional=20%%", part)
		}
		limit, err := parseLimit(value)
		if err != nil {
			return cfg, fmt.Errorf("%q: %w", part, err)
		}
		cfg.Of[channel] = limit
	}
	return cfg, nil
}

func parseLimit(text string) (ratelimit.Limit, error) {
	count, span, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(count)
	per, ok := limitSpans[span]
	if err != nil || !ok || n < 1 || n > 1_000_000 {
		return ratelimit.Limit{}, fmt.Errorf("a limit is a number from 1 to 1000000 a second, minute or hour, as 100/s")
	}
	return ratelimit.Limit{N: n, Per: per}, nil
}

// permitLife is how long a batch of permits may be used; what is left of it then
// is lost.
const permitLife = 100 * time.Millisecond

// batchParts: a batch is at most this part of a limit.
const batchParts = 20

// forceFor is how long an instance goes by what it knows to be in force.
const forceFor = 250 * time.Millisecond

// Limits hand out permits to call providers. All instances share them; their
// methods may be called concurrently, and none of them waits for a permit: whoever
// gets none puts the work back into its queue.
type Limits struct {
	limiter Limiter
	cfg     LimitsConfig
	gates   map[gateKey]*gate

	refused atomic.Int64
}

type gateKey struct {
	channel  notifier.Channel
	reserved bool
}

// gate is the permits of one channel, for those who may use the reserve or for
// those who may not.
type gate struct {
	mu       sync.Mutex
	permits  int
	expires  time.Time     // of the permits
	notYet   time.Time     // there are none before
	wanted   int           // by those who wait for the exchange under way
	exchange chan struct{} // closed at its end; nil: none is under way

	force   ratelimit.Force
	forceAt time.Time
}

// NewLimits returns Limits over limiter.
func NewLimits(limiter Limiter, cfg LimitsConfig) *Limits {
	l := &Limits{limiter: limiter, cfg: cfg, gates: map[gateKey]*gate{}}
	for _, c := range notifier.Channels {
		l.gates[gateKey{c, true}], l.gates[gateKey{c, false}] = &gate{}, &gate{}
	}
	return l
}

// Take takes up to n permits for calls of a channel's provider, to be made within
// permitLife. Without any it says how long to wait before asking again.
func (l *Limits) Take(ctx context.Context, c notifier.Channel, lane notifier.Lane, n int) (granted int, wait time.Duration) {
	g := l.gates[gateKey{c, lane == notifier.Transactional}]
	for {
		granted, wait, exchange := g.take(n)
		switch {
		case granted > 0:
			return granted, 0
		case wait > 0:
			l.refused.Add(1)
			return 0, wait
		case exchange == nil:
			return l.fetch(ctx, g, c, lane, n)
		}
		select {
		case <-exchange:
		case <-ctx.Done():
			return 0, permitLife
		}
	}
}

// take takes permits that are there, or says how long there are none. Else it
// returns the exchange under way; nil says that the caller is to make one, which
// begins with this.
func (g *gate) take(n int) (granted int, wait time.Duration, exchange chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if wait = g.notYet.Sub(now); wait > 0 {
		return 0, wait, nil
	}
	if granted = min(n, g.permits); granted > 0 && now.Before(g.expires) {
		g.permits -= granted
		return granted, 0, nil
	}
	g.permits = 0
	if g.exchange != nil {
		g.wanted += n
		return 0, 0, g.exchange
	}
	g.exchange = make(chan struct{})
	return 0, 0, nil
}

// fetch gets a batch for all who want permits now.
func (l *Limits) fetch(ctx context.Context, g *gate, c notifier.Channel, lane notifier.Lane, n int) (granted int, wait time.Duration) {
	began := time.Now()
	force := l.inForce(ctx, g, c, began)
	limit := l.share(c, lane, force.N)
	g.mu.Lock()
	want := max(1, min(n+g.wanted, limit.N/batchParts))
	g.wanted = 0
	g.mu.Unlock()

	got := 0
	if wait = force.Pause; wait == 0 {
		var err error
		if got, wait, err = l.limiter.Take(ctx, limitName(c), limit, want); err != nil {
			wait = permitLife
		}
	}

	g.mu.Lock()
	defer g.mu.Unlock()
	granted = min(n, got)
	g.permits, g.expires = got-granted, began.Add(permitLife)
	if got == 0 {
		wait = max(wait, time.Millisecond)
		g.notYet = time.Now().Add(min(wait, forceFor)) // what is in force may change
		l.refused.Add(1)
	}
	close(g.exchange)
	g.exchange = nil
	return granted, wait
}

func limitName(c notifier.Channel) string { return "provider:" + string(c) }

func (l *Limits) configured(c notifier.Channel) ratelimit.Limit {
	if limit, ok := l.cfg.Of[c]; ok {
		return limit
	}
	return unlimited
}

// share is what a lane may use of the limit in force: all of it, or all but the
// reserve. Both count in one window, so that others can never use the reserve up.
func (l *Limits) share(c notifier.Channel, lane notifier.Lane, inForce int) ratelimit.Limit {
	n := inForce
	if lane != notifier.Transactional {
		n = max(1, inForce*(100-l.cfg.Reserve)/100)
	}
	return ratelimit.Limit{N: n, Per: l.configured(c).Per}
}

func (l *Limits) inForce(ctx context.Context, g *gate, c notifier.Channel, now time.Time) ratelimit.Force {
	g.mu.Lock()
	force, known := g.force, now.Sub(g.forceAt) < forceFor
	g.mu.Unlock()
	if known && force.Pause == 0 {
		return force
	}
	force = l.limiter.InForce(ctx, limitName(c), l.configured(c).N)
	g.know(force, now)
	return force
}

func (g *gate) know(force ratelimit.Force, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.force, g.forceAt = force, now
}

// Slow is called when a provider asked for less: the limit in force falls, and
// nothing goes for retryAfter. It climbs back in quiet.
func (l *Limits) Slow(ctx context.Context, c notifier.Channel, retryAfter time.Duration) {
	now := time.Now()
	force := l.limiter.Lower(ctx, limitName(c), l.configured(c).N, retryAfter)
	for _, reserved := range []bool{true, false} {
		g := l.gates[gateKey{c, reserved}]
		g.know(force, now)
		g.mu.Lock()
		g.permits = 0
		g.mu.Unlock()
	}
}

// LimitState is a channel's limit, for people.
type LimitState struct {
	Configured, InForce ratelimit.Limit
	Pause               time.Duration
	Limited             bool // by configuration
	// Used is how many permits were taken in the last of the limit's spans.
	Used int
}

// State returns the limit of a channel as it is now.
func (l *Limits) State(ctx context.Context, c notifier.Channel) LimitState {
	limit := l.configured(c)
	force := l.limiter.InForce(ctx, limitName(c), limit.N)
	_, limited := l.cfg.Of[c]
	return LimitState{
		Configured: limit, InForce: ratelimit.Limit{N: force.N, Per: limit.Per}, Pause: force.Pause, Limited: limited,
		Used: l.limiter.Used(ctx, limitName(c), limit.Per),
	}
}

// Refused counts the times when there was no permit.
func (l *Limits) Refused() int64 { return l.refused.Load() }
