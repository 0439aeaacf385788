package notifier

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Loops are the goroutines by which a part works on its own: from its Start, which
// adds them, to its Stop. They may be added concurrently; none is added while Stop
// runs, and one that is added later ends at once.
type Loops struct {
	log *slog.Logger
	ctx context.Context // ended by Stop
	end context.CancelFunc
	run sync.WaitGroup
}

// NewLoops returns the loops of a part that is not started.
func NewLoops(log *slog.Logger) *Loops {
	ctx, end := context.WithCancel(context.Background())
	return &Loops{log: log, ctx: ctx, end: end}
}

// Go runs a loop of any shape. It must return when its ctx ends.
func (l *Loops) Go(loop func(ctx context.Context)) {
	l.run.Go(func() { loop(l.ctx) })
}

// Every does a piece of work at once and then at each interval, never twice at the
// same time. Each time has patience to finish in; the first of several errors in a
// row is logged, as what.
func (l *Loops) Every(interval, patience time.Duration, what string, work func(ctx context.Context) error) {
	l.Go(func(ctx context.Context) {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		faults := Faults{Log: l.log}
		for ctx.Err() == nil {
			faults.Note(ctx, what, within(ctx, patience, work))
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
}

// Stop ends the loops and waits for what is under way. It may be called twice, and
// without a Start.
func (l *Loops) Stop() {
	l.end()
	l.run.Wait()
}

// Pause waits for d, or returns false when ctx ends first.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func within(ctx context.Context, patience time.Duration, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return work(ctx)
}
