package notifier

import (
	"context"
	"fmt"
	"log/slog"
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
	loads LoadReader
	log   *slog.Logger
	last  atomic.Pointer[[]QueueLoad]
	loops *Loops
	said  map[string]bool // the queues that nobody serves and that were logged; the look's alone
}

// NewLaneWatch returns a watch that is not started.
func NewLaneWatch(loads LoadReader, log *slog.Logger) *LaneWatch {
	return &LaneWatch{loads: loads, log: log, loops: NewLoops(log), said: map[string]bool{}}
}

// Start begins to look. Stop ends it.
func (w *LaneWatch) Start() {
	w.loops.Every(lanesEvery, lanesPatience, "read how busy the queues are", w.look)
}

// Stop waits for the look under way. It may be called twice, and without a start.
func (w *LaneWatch) Stop() { w.loops.Stop() }

// Loads are the queues' as of the last look.
func (w *LaneWatch) Loads() []QueueLoad {
	if last := w.last.Load(); last != nil {
		return *last
	}
	return nil
}

// look reads the loads and says which queues nobody serves, each once.
func (w *LaneWatch) look(ctx context.Context) error {
	loads, err := w.loads.QueueLoads(ctx)
	if err != nil {
		return err
	}
	w.last.Store(&loads)
	for i := range loads {
		q := &loads[i]
		if q.Unserved() && !w.said[q.Queue] {
			w.log.Error(Unserved(loads[i : i+1]).Error())
		}
		w.said[q.Queue] = q.Unserved()
	}
	return nil
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
