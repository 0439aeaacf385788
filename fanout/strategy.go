package fanout

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

// Strategy brings a wave to its fans after the decision is committed. What it does
// is a hint that makes things quick: the wave itself is in the database, and
// instances look for it by themselves.
type Strategy interface {
	Name() waitlist.Strategy
	Deliver(ctx context.Context, w waitlist.DecidedWave) error
}

// Waker wakes the instances that hold fans' sockets.
type Waker interface {
	WakeFans(ctx context.Context, fans []int64) error
	WakeAll(ctx context.Context) error
}

// Write wakes the instances that hold a socket of the wave's fans.
type Write struct{ Waker Waker }

// Name is write.
func (Write) Name() waitlist.Strategy { return waitlist.Write }

// Deliver wakes those instances, once each.
func (s Write) Deliver(ctx context.Context, w waitlist.DecidedWave) error {
	return s.Waker.WakeFans(ctx, w.Fans)
}

// Read publishes the wave once; each instance matches its own sockets against it.
type Read struct{ Waker Waker }

// Name is read.
func (Read) Name() waitlist.Strategy { return waitlist.Read }

// Deliver wakes every instance, whatever the size of the wave.
func (s Read) Deliver(ctx context.Context, _ waitlist.DecidedWave) error {
	return s.Waker.WakeAll(ctx)
}

// Fanout makes decisions known. Its methods may be called concurrently.
type Fanout struct {
	waker      Waker
	strategies map[waitlist.Strategy]Strategy
	log        *slog.Logger
	wg         sync.WaitGroup
	slots      chan struct{}
}

const (
	// atOnce is how many decisions are made known at a time; more wait for the
	// instances' own look.
	atOnce = 16
	// patience bounds one of them.
	patience = 2 * time.Second
)

// New returns a Fanout with both strategies over waker.
func New(waker Waker, log *slog.Logger) *Fanout {
	f := &Fanout{waker: waker, log: log, strategies: map[waitlist.Strategy]Strategy{}, slots: make(chan struct{}, atOnce)}
	for _, s := range []Strategy{Write{waker}, Read{waker}} {
		f.strategies[s.Name()] = s
	}
	return f
}

// Decided makes a committed decision known; it does not block. When too many are
// under way it leaves this one to the instances, which look each second.
func (f *Fanout) Decided(d *waitlist.Decided) {
	f.tell(d.ShowNo, func(ctx context.Context) error { return f.decided(ctx, d) })
}

// Announced makes a committed announcement known, as Decided does. Under both
// strategies it is one publish: the fans of a line are on every instance.
func (f *Fanout) Announced(showNo int32) { f.tell(showNo, f.waker.WakeAll) }

func (f *Fanout) tell(showNo int32, how func(ctx context.Context) error) {
	select {
	case f.slots <- struct{}{}:
	default:
		return
	}
	f.wg.Go(func() {
		defer func() { <-f.slots }()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := how(ctx); err != nil {
			f.log.Warn("wake instances; they look by themselves within a second", "show_no", showNo, "err", err)
		}
	})
}

func (f *Fanout) decided(ctx context.Context, d *waitlist.Decided) error {
	for _, w := range d.Waves {
		if err := f.strategies[w.Strategy].Deliver(ctx, w); err != nil {
			return err
		}
	}
	if len(d.Fans) == 0 {
		return nil
	}
	return f.waker.WakeFans(ctx, d.Fans)
}

// Changed makes known that something happened to fans: a claim, a decline.
func (f *Fanout) Changed(fans ...int64) { f.Decided(&waitlist.Decided{Fans: fans}) }

// Wait returns when nothing is under way any more.
func (f *Fanout) Wait() { f.wg.Wait() }

// Openings finds how an opening was recorded.
type Openings interface {
	StrategyOf(ctx context.Context, openingNo int64) (waitlist.Strategy, error)
}

// Handler is the subscriber of one strategy: it sees to it that an opening which
// was recorded for the strategy is decided. The process that recorded it does so
// at once; this is the second way, which a crash does not end.
func Handler(name waitlist.Strategy, openings Openings, clock waitlist.Nudger) notifier.Handler {
	return func(ctx context.Context, e notifier.EventArgs) error {
		if e.Type != notifier.OpeningRecorded {
			return nil
		}
		s, err := openings.StrategyOf(ctx, e.OpeningNo)
		if err != nil {
			return fmt.Errorf("read the strategy of an opening: %w", err)
		}
		if s == name {
			clock.Nudge(e.ShowNo)
		}
		return nil
	}
}
