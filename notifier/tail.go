package notifier

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// tailEvery is how often a Tail looks while somebody waits.
const tailEvery = 250 * time.Millisecond

// Tail tells those who wait for the stream to grow: one look for all of them. Its
// methods may be called concurrently; Start once.
type Tail struct {
	stream Stream
	log    *slog.Logger
	loops  *Loops
	asked  chan struct{} // somebody began to wait

	mu   sync.Mutex
	grew chan struct{} // closed when the stream grew; nil while nobody waits
}

// NewTail returns a Tail that is not started.
func NewTail(s Stream, log *slog.Logger) *Tail {
	return &Tail{stream: s, log: log, loops: NewLoops(log), asked: make(chan struct{}, 1)}
}

// Start begins to look. Stop ends it.
func (t *Tail) Start() { t.loops.Go(t.run) }

// Stop waits for the look in progress. It may be called twice, and without a
// start.
func (t *Tail) Stop() { t.loops.Stop() }

// Grew returns a channel that is closed when the stream grew after this call, or
// may have. Take it before reading the stream, and nothing is missed.
func (t *Tail) Grew() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.grew == nil {
		t.grew = make(chan struct{})
		select {
		case t.asked <- struct{}{}:
		default:
		}
	}
	return t.grew
}

// tell closes the channel of those who wait, if anybody does.
func (t *Tail) tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.grew != nil {
		close(t.grew)
		t.grew = nil
	}
}

func (t *Tail) waited() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.grew != nil
}

// run looks while somebody waits. The head that it compares with is one from
// before they began.
func (t *Tail) run(ctx context.Context) {
	tick := time.NewTicker(tailEvery)
	defer tick.Stop()
	head, faults := "", Faults{Log: t.log}
	for {
		if !t.waited() {
			select {
			case <-ctx.Done():
				return
			case <-t.asked:
			}
		}
		now, err := t.head(ctx)
		faults.Note(ctx, "look at the end of the stream", err)
		if err == nil && now != head {
			head = now
			t.tell()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (t *Tail) head(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return t.stream.StreamHead(ctx)
}
