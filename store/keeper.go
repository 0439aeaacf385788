package store

import (
	"context"
	"errors"
	"time"

	"fanline/notifier"
)

const (
	keeperEvery    = 10 * time.Second
	keeperPatience = 10 * time.Second
	// openedEvery is how late the stream may hear that a turn opened.
	openedEvery = time.Second
	// foldEvery is how long changes of a line's counts wait to be folded together.
	foldEvery = time.Second
	// rescueEvery is how often jobs of processes that died are looked for.
	rescueEvery = 5 * time.Second
	// keeperMost is how many removals of a kind follow on each other at one tick, and
	// keeperTime for how long new ones are begun.
	keeperMost = 20
	keeperTime = 5 * time.Second
)

// Keeper does what nobody asks for: it removes what is kept for a time only, once
// that is over, folds the counts of lines together, gives the jobs of processes that
// died to others, and tells the stream of what time alone brings about: that turns
// opened. Every process may run one; each of these has one owner at a time.
type Keeper struct {
	s     *Store
	loops *notifier.Loops
}

// NewKeeper returns a Keeper that is not started.
func (s *Store) NewKeeper() *Keeper { return &Keeper{s: s, loops: notifier.NewLoops(s.log)} }

// Start begins to remove. Stop ends it.
func (k *Keeper) Start() {
	k.loops.Every(keeperEvery, keeperPatience, "turn the partitions", k.s.TurnPartitions)
	k.loops.Every(keeperEvery, keeperPatience, "remove what is over", k.s.RemoveOld)
	k.loops.Every(foldEvery, keeperPatience, "fold positions", k.s.FoldPositions)
	k.loops.Every(openedEvery, keeperPatience, "tell the stream of opened turns", k.s.TellOpened)
	k.loops.Every(rescueEvery, keeperPatience, "rescue jobs", k.s.RescueJobs)
}

// Stop waits for the removal in progress. It may be called twice, and without a
// start.
func (k *Keeper) Stop() { k.loops.Stop() }

// RemoveOld removes a tick's worth of what is over, in batches. The kinds take
// turns, so that much of one, or a fault of one, does not keep the others; what is
// left is for the next tick.
func (s *Store) RemoveOld(ctx context.Context) error {
	kinds := []func(context.Context) (more bool, err error){s.DropTraces}
	for _, r := range removals {
		kinds = append(kinds, func(ctx context.Context) (bool, error) { return s.remove(ctx, r) })
	}
	began := time.Now()
	var faults []error
	for range keeperMost {
		var left []func(context.Context) (bool, error)
		for _, kind := range kinds {
			more, err := kind(ctx)
			if err != nil {
				faults = append(faults, err)
			} else if more {
				left = append(left, kind)
			}
			if time.Since(began) > keeperTime {
				return errors.Join(faults...)
			}
		}
		if kinds = left; len(kinds) == 0 {
			break
		}
	}
	return errors.Join(faults...)
}
