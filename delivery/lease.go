package delivery

import (
	"context"
	"sync"
	"time"

	"fanline/notifier"
)

const (
	// Leases are renewed while attempts are under way, and short: what a process that
	// died had in hand is found by the next plan, 3 s after an urgent message's moment
	// and 5 s after a turn's, and by the second run of its job, which comes 10 to 15 s
	// after the first.
	bulkLease   = 10 * time.Second
	turnsLease  = 4 * time.Second
	urgentLease = 2 * time.Second
	// renewals is how often a lease is renewed within its time.
	renewals = 4
)

// leaseFor is how long a lane's deliveries are a job's; it renews what it still has.
func leaseFor(l notifier.Lane) time.Duration {
	switch l {
	case notifier.Transactional:
		return urgentLease
	case notifier.Turns:
		return turnsLease
	}
	return bulkLease
}

// leases are a chunk's deliveries while attempts are under way. Its methods may be
// called concurrently.
type leases struct {
	p      *Pipeline
	lane   notifier.Lane
	length time.Duration
	keys   []LeaseKey

	mu    sync.Mutex
	since time.Time                     // when they were last asked for
	gone  map[notifier.DeliveryKey]bool // somebody else's by now
}

// leases are those of posts, which were asked for at a moment.
func (p *Pipeline) leases(l notifier.Lane, posts []*post, asked time.Time) *leases {
	keys := make([]LeaseKey, len(posts))
	for i, o := range posts {
		keys[i] = LeaseKey{o.Key, o.Moment, o.Attempt}
	}
	return &leases{p: p, lane: l, length: leaseFor(l), keys: keys, since: asked}
}

// keep renews the leases until ctx ends, so that a slow provider does not end them,
// and the death of the process soon does.
func (l *leases) keep(ctx context.Context) {
	tick := time.NewTicker(l.length / renewals)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := l.renew(ctx); err != nil && ctx.Err() == nil {
			l.p.cfg.Log.Warn("renew the leases of deliveries", "lane", l.lane, "err", err)
		}
	}
}

// renew has until the end of what it renews.
func (l *leases) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.length-l.length/renewals)
	defer cancel()
	asked := l.p.cfg.Clock.Now()
	kept, err := l.p.cfg.Outbox.Renew(ctx, l.keys, l.length)
	if err != nil {
		return err
	}
	gone := make(map[notifier.DeliveryKey]bool, len(l.keys))
	for i := range l.keys {
		gone[l.keys[i].Key] = true
	}
	for _, key := range kept {
		delete(gone, key)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since, l.gone = asked, gone
	return nil
}

// hold says whether the leases last for long enough to begin an attempt. They do not
// when this process stood still, or when Postgres did.
func (l *leases) hold() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.p.cfg.Clock.Now().Before(l.since.Add(l.length - l.length/renewals))
}

// lost says whether a delivery is somebody else's by now.
func (l *leases) lost(key notifier.DeliveryKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone[key]
}
