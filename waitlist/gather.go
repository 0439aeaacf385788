package waitlist

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// gatherMost is the most requests of one batch: a show's lock is never held
	// for more than a thousand rows.
	gatherMost = 1000
	// gatherQueue is how many requests may wait for one key; more are refused.
	gatherQueue = 20_000
	// gatherPatience bounds one batch; its callers hold no other bound on it.
	gatherPatience = 15 * time.Second
)

// gatherer collects the requests that arrive for one key while the batch before
// them commits, and serves them with one call. Each caller gets its own answer.
// There is no timer: a lone request is served at once.
type gatherer[K comparable, Q, A any] struct {
	// serve answers a batch: one answer a request, or an error for all.
	serve func(ctx context.Context, key K, batch []Q) ([]A, error)
	// keyed says whether a request has an idempotency key, of which a batch may
	// have MaxKeyed; nil: none has.
	keyed func(Q) bool

	mu      sync.Mutex
	queues  map[K][]ask[Q, A]
	running map[K]bool
	wg      sync.WaitGroup
}

type ask[Q, A any] struct {
	q  Q
	to chan<- answer[A] // buffered: nobody may be listening any more
}

type answer[A any] struct {
	a   A
	err error
}

func newGatherer[K comparable, Q, A any](serve func(context.Context, K, []Q) ([]A, error)) *gatherer[K, Q, A] {
	return &gatherer[K, Q, A]{serve: serve, queues: map[K][]ask[Q, A]{}, running: map[K]bool{}}
}

// do waits for the answer to q. When ctx ends first the request may still take
// effect; the caller learns it by asking again.
func (g *gatherer[K, Q, A]) do(ctx context.Context, key K, q Q) (A, error) {
	var zero A
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	to := make(chan answer[A], 1)
	if !g.enqueue(key, ask[Q, A]{q, to}) {
		e := Refuse(Unavailable, "too many requests are waiting for this; try again")
		e.RetryAfter = time.Second
		return zero, e
	}
	select {
	case r := <-to:
		return r.a, r.err
	case <-ctx.Done():
		return zero, ctx.Err()
	}
}

func (g *gatherer[K, Q, A]) enqueue(key K, a ask[Q, A]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queues[key]) >= gatherQueue {
		return false
	}
	g.queues[key] = append(g.queues[key], a)
	if !g.running[key] {
		g.running[key] = true
		g.wg.Go(func() { g.run(key) })
	}
	return true
}

// run serves a key's batches until none is waiting.
func (g *gatherer[K, Q, A]) run(key K) {
	for {
		batch := g.next(key)
		if batch == nil {
			return
		}
		qs := make([]Q, len(batch))
		for i := range batch {
			qs[i] = batch[i].q
		}
		ctx, cancel := context.WithTimeout(context.Background(), gatherPatience)
		as, err := g.serve(ctx, key, qs)
		cancel()
		if err == nil && len(as) != len(batch) {
			err = fmt.Errorf("%d answers to %d requests", len(as), len(batch))
		}
		for i := range batch {
			if err != nil {
				batch[i].to <- answer[A]{err: err}
				continue
			}
			batch[i].to <- answer[A]{a: as[i]}
		}
	}
}

func (g *gatherer[K, Q, A]) next(key K) []ask[Q, A] {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.queues[key]
	if len(q) == 0 {
		delete(g.queues, key)
		delete(g.running, key)
		return nil
	}
	n := g.fit(q)
	batch := q[:n:n]
	g.queues[key] = q[n:]
	return batch
}

// fit is how many of the requests, in their order, one batch may have.
func (g *gatherer[K, Q, A]) fit(q []ask[Q, A]) int {
	most := min(len(q), gatherMost)
	if g.keyed == nil {
		return most
	}
	n := 0
	for i := range most {
		if g.keyed(q[i].q) {
			if n++; n > MaxKeyed {
				return i
			}
		}
	}
	return most
}

// wait returns when every batch in progress is answered.
func (g *gatherer[K, Q, A]) wait() { g.wg.Wait() }
