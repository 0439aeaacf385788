package store

import (
	"context"
	"sync"
	"time"
)

const (
	keeperEvery    = 10 * time.Second
	keeperPatience = 10 * time.Second
	// openedEvery is how late the stream may hear that a turn opened.
	openedEvery = time.Second
	// keeperMost is how many removals follow on each other at one tick.
	keeperMost = 20
)

// Keeper removes what is kept for a time only, once that is over, and tells the
// stream of what time alone brings about: that turns opened. Every process
// may run one; each removal has one owner at a time.
type Keeper struct {
	s      *Store
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// NewKeeper returns a Keeper that is not started.
func (s *Store) NewKeeper() *Keeper { return &Keeper{s: s, cancel: func() {}} }

// Start begins to remove. Stop ends it.
func (k *Keeper) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	k.wg.Go(func() { k.run(ctx, keeperEvery, "remove what is over", k.clean) })
	k.wg.Go(func() { k.run(ctx, openedEvery, "tell the stream of opened turns", k.s.TellOpened) })
}

// Stop waits for the removal in progress. It may be called twice, and without a
// start.
func (k *Keeper) Stop() {
	k.cancel()
	k.wg.Wait()
}

// run does a piece of work each time, within keeperPatience.
func (k *Keeper) run(ctx context.Context, every time.Duration, what string, work func(context.Context) error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		once, cancel := context.WithTimeout(ctx, keeperPatience)
		err := work(once)
		cancel()
		if err != nil && !failing && ctx.Err() == nil {
			k.s.log.Error(what, "err", err)
		}
		failing = err != nil
	}
}

func (k *Keeper) clean(ctx context.Context) error {
	if err := k.s.TurnPartitions(ctx); err != nil {
		return err
	}
	for _, drop := range []func(context.Context) (bool, error){k.s.DropAnswers, k.s.DropMessages, k.s.DropAcks, k.s.DropFeedback, k.s.DropDigests} {
		for range keeperMost {
			more, err := drop(ctx)
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
	}
	return nil
}
