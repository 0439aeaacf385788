package notifier

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	lanesEvery    = 10 * time.Second
	lanesPatience = 5 * time.Second
)

// LoadReader reads how busy the queues are, over all instances.
type LoadReader interface {
	QueueLoads(ctx context.Context) ([]QueueLoad, error)
}

// LaneWatch looks at the queues each 10 s and logs an error when one has work that no
// process does: FANLINE_LANES may be wrong on every instance, each of which is well by
// itself. Every process runs one. Its methods may be called concurrently; Start once.
type LaneWatch struct {
	loads  LoadReader
	log    *slog.Logger
	fault  Faults
	last   atomic.Pointer[[]QueueLoad]
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// NewLaneWatch returns a watch that is not started.
func NewLaneWatch(loads LoadReader, log *slog.Logger) *LaneWatch {
	return &LaneWatch{loads: loads, log: log, fault: Faults{Log: log}, cancel: func() {}}
}

// Start begins to look. Stop ends it.
func (w *LaneWatch) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.wg.Go(func() { w.run(ctx) })
}

// Stop waits for the look under way. It may be called twice, and without a start.
func (w *LaneWatch) Stop() {
	w.cancel()
	w.wg.Wait()
}

// Loads are the queues' as of the last look.
func (w *LaneWatch) Loads() []QueueLoad {
	if last := w.last.Load(); last != nil {
		return *last
	}
	return nil
}

func (w *LaneWatch) run(ctx context.Context) {
	tick := time.NewTicker(lanesEvery)
	defer tick.Stop()
	said := map[string]bool{}
	for {
		w.look(ctx, said)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look reads the loads and says which queues nobody serves, each once.
func (w *LaneWatch) look(ctx context.Context, said map[string]bool) {
	call, cancel := context.WithTimeout(ctx, lanesPatience)
	defer cancel()
	loads, err := w.loads.QueueLoads(call)
	w.fault.Note(ctx, "read how busy the queues are", err)
	if err != nil {
		return
	}
	w.last.Store(&loads)
	for i := range loads {
		q := &loads[i]
		if q.Unserved() && !said[q.Queue] {
			w.log.Error(Unserved(loads[i : i+1]).Error())
		}
		said[q.Queue] = q.Unserved()
	}
}

// Unserved says with an error which queues nobody serves, if there are any.
func Unserved(loads []QueueLoad) error {
	words := ""
	for i := range loads {
		if q := &loads[i]; q.Unserved() {
			words += fmt.Sprintf("; no process serves the queue %s, whose oldest job has been due for %v", q.Queue, q.Oldest.Round(time.Second))
		}
	}
	if words == "" {
		return nil
	}
	return fmt.Errorf("%s: one at least needs its lane in FANLINE_LANES, and the settings of its channel", words[2:])
}
