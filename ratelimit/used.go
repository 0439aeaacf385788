package ratelimit

import (
	"context"
	"strconv"
	"time"
)

// Used is how many permits of the limiter named were taken in the last window. Of a
// Redis that does not answer it is what this instance took by itself meanwhile.
func (l *Limiter) Used(ctx context.Context, name string, per time.Duration) int {
	if time.Now().UnixNano() < l.awayUntil.Load() {
		return l.local.used(name, per, time.Now())
	}
	call, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	now, err := l.cfg.Redis.Time(call).Result()
	if err != nil {
		l.away(ctx, err)
		return l.local.used(name, per, time.Now())
	}
	n, err := l.cfg.Redis.ZCount(call, l.cfg.Prefix+":{"+name+"}", "("+strconv.FormatInt(now.Add(-per).UnixMicro(), 10), "+inf").Result()
	if err != nil {
		l.away(ctx, err)
		return l.local.used(name, per, time.Now())
	}
	return int(n)
}

func (l *local) used(name string, per time.Duration, now time.Time) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.log[name]
	for n = 0; n < len(log) && now.Sub(log[len(log)-1-n]) < per; n++ {
	}
	return n
}
