package waitlist

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gate is a batch server whose batches wait until they are let through.
type gate struct {
	began chan []int
	let   chan error
}

func newGate() *gate { return &gate{began: make(chan []int), let: make(chan error)} }

func (g *gate) serve(_ context.Context, key string, batch []int) ([]string, error) {
	g.began <- batch
	if err := <-g.let; err != nil {
		return nil, err
	}
	out := make([]string, len(batch))
	for i, q := range batch {
		out[i] = key + strconv.Itoa(q)
	}
	return out, nil
}

type asked struct {
	a   string
	err error
}

// ask sends q and returns where its answer will be.
func askGatherer(ctx context.Context, g *gatherer[string, int, string], key string, q int) <-chan asked {
	to := make(chan asked, 1)
	go func() {
		a, err := g.do(ctx, key, q)
		to <- asked{a, err}
	}()
	return to
}

func TestEachCallerGetsItsOwnAnswer(t *testing.T) {
	var mu sync.Mutex
	largest := 0
	g := newGatherer(func(_ context.Context, key string, batch []int) ([]string, error) {
		mu.Lock()
		largest = max(largest, len(batch))
		mu.Unlock()
		out := make([]string, len(batch))
		for i, q := range batch {
			out[i] = key + strconv.Itoa(q)
		}
		return out, nil
	})
	var callers sync.WaitGroup
	for i := range 5000 {
		callers.Go(func() {
			key := []string{"a", "b", "c"}[i%3]
			got, err := g.do(t.Context(), key, i)
			if want := key + strconv.Itoa(i); err != nil || got != want {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		})
	}
	callers.Wait()
	g.wait()
	if largest > 1000 {
		t.Errorf("a batch had %d requests", largest)
	}
	if len(g.queues) != 0 || len(g.running) != 0 {
		t.Errorf("%d queues and %d runners are left", len(g.queues), len(g.running))
	}
}

func TestLoneRequestIsServedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		g := newGatherer(gate.serve)
		began := time.Now()
		got := askGatherer(t.Context(), g, "k", 1)
		if batch := <-gate.began; len(batch) != 1 {
			t.Errorf("batch %v", batch)
		}
		gate.let <- nil
		if r := <-got; r.a != "k1" || r.err != nil {
			t.Errorf("got %+v", r)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("it waited %v", waited)
		}
		g.wait()
	})
}

func TestRequestsGatherWhileABatchIsServedAndKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		g := newGatherer(gate.serve)
		answers := []<-chan asked{askGatherer(t.Context(), g, "k", 0)}
		<-gate.began
		for i := 1; i <= 2500; i++ {
			answers = append(answers, askGatherer(t.Context(), g, "k", i))
			synctest.Wait() // so that they arrive in this order
		}
		next := 1
		for _, size := range []int{1000, 1000, 500} {
			gate.let <- nil
			batch := <-gate.began
			if len(batch) != size || batch[0] != next || batch[size-1] != next+size-1 {
				t.Errorf("a batch of %d from %d, want %d from %d", len(batch), batch[0], size, next)
			}
			next += size
		}
		gate.let <- nil
		for i, to := range answers {
			if r := <-to; r.err != nil || r.a != "k"+strconv.Itoa(i) {
				t.Errorf("request %d: %+v", i, r)
			}
		}
		g.wait()
	})
}

func TestKeysDoNotWaitForOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		g := newGatherer(gate.serve)
		a := askGatherer(t.Context(), g, "a", 1)
		<-gate.began
		b := askGatherer(t.Context(), g, "b", 2)
		<-gate.began // although a's batch is still served
		gate.let <- nil
		gate.let <- nil
		<-a
		<-b
		g.wait()
	})
}

func TestErrorOfABatchReachesEachOfItsCallersAndNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		g := newGatherer(gate.serve)
		first := askGatherer(t.Context(), g, "k", 1)
		<-gate.began
		second := askGatherer(t.Context(), g, "k", 2)
		third := askGatherer(t.Context(), g, "k", 3)
		synctest.Wait()
		gate.let <- errRead
		if r := <-first; !errors.Is(r.err, errRead) {
			t.Errorf("first: %+v", r)
		}
		<-gate.began
		gate.let <- nil
		for _, to := range []<-chan asked{second, third} {
			if r := <-to; r.err != nil {
				t.Errorf("of the next batch: %v", r.err)
			}
		}
		g.wait()
	})
}

func TestCallerThatGoesAwayFailsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		g := newGatherer(gate.serve)
		ctx, cancel := context.WithCancel(t.Context())
		gone, stays := askGatherer(ctx, g, "k", 1), (<-chan asked)(nil)
		<-gate.began
		stays = askGatherer(t.Context(), g, "k", 2)
		synctest.Wait()
		cancel()
		if r := <-gone; !errors.Is(r.err, context.Canceled) {
			t.Errorf("the one that went away: %+v", r)
		}
		if _, err := g.do(ctx, "k", 3); !errors.Is(err, context.Canceled) {
			t.Errorf("asking when gone: %v", err)
		}
		gate.let <- nil
		if batch := <-gate.began; len(batch) != 1 || batch[0] != 2 {
			t.Errorf("next batch %v", batch)
		}
		gate.let <- nil
		if r := <-stays; r.a != "k2" || r.err != nil {
			t.Errorf("the one that stayed: %+v", r)
		}
		g.wait()
	})
}

func TestFullQueueRefusesAsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		g := newGatherer(gate.serve)
		first := askGatherer(t.Context(), g, "k", 0)
		<-gate.began
		to := make(chan answer[string], gatherQueue)
		for i := range gatherQueue {
			if !g.enqueue("k", ask[int, string]{i, to}) {
				t.Fatalf("request %d was refused", i)
			}
		}
		var e *Error
		if _, err := g.do(t.Context(), "k", -1); !errors.As(err, &e) || e.Code != Unavailable || e.RetryAfter <= 0 {
			t.Errorf("one too many: %v", err)
		}
		other := askGatherer(t.Context(), g, "other", 1)
		<-gate.began
		gate.let <- nil // either of the two
		gate.let <- nil
		for range gatherQueue / gatherMost {
			<-gate.began
			gate.let <- nil
		}
		for range gatherQueue {
			if r := <-to; r.err != nil {
				t.Fatal(r.err)
			}
		}
		if r := <-first; r.err != nil {
			t.Error(r.err)
		}
		if r := <-other; r.err != nil {
			t.Errorf("another key was refused: %v", r.err)
		}
		g.wait()
	})
}

func TestWaitReturnsWhenBatchesInProgressAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		g := newGatherer(gate.serve)
		g.wait() // nothing in progress
		got := askGatherer(t.Context(), g, "k", 1)
		<-gate.began
		waited := make(chan struct{})
		go func() {
			g.wait()
			close(waited)
		}()
		synctest.Wait()
		select {
		case <-waited:
			t.Error("wait returned while a batch was served")
		default:
		}
		gate.let <- nil
		<-waited
		if r := <-got; r.err != nil {
			t.Error(r.err)
		}
	})
}

func TestBatchThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatherer(func(ctx context.Context, _ string, _ []int) ([]string, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		began := time.Now()
		_, err := g.do(t.Context(), "k", 1)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != gatherPatience {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		g.wait()
	})
}

func TestABatchHasRoomForSoManyKeys(t *testing.T) {
	g := newGatherer(func(context.Context, string, []int) ([]string, error) { return nil, nil })
	g.keyed = func(q int) bool { return q%2 == 0 }
	requests := func(n int) (list []ask[int, string]) {
		for i := range n {
			list = append(list, ask[int, string]{q: i})
		}
		return list
	}
	for n, want := range map[int]int{1: 1, 2*MaxKeyed - 1: 2*MaxKeyed - 1, 2 * MaxKeyed: 2 * MaxKeyed, 2*MaxKeyed + 1: 2 * MaxKeyed, gatherMost + 1: 2 * MaxKeyed} {
		if got := g.fit(requests(n)); got != want {
			t.Errorf("of %d requests a batch takes %d, want %d", n, got, want)
		}
	}
	g.keyed = func(int) bool { return false }
	if got := g.fit(requests(gatherMost + 1)); got != gatherMost {
		t.Errorf("without keys a batch takes %d, want %d", got, gatherMost)
	}
}
