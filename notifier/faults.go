package notifier

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// logEvery is the least time between two lines of one Faults, when failures and successes take turns.
const logEvery = 10 * time.Second

// Faults logs the first of several errors in a row of what is done again and again, so that a database that is away
// does not fill the log. It may be used concurrently.
type Faults struct {
	Log     *slog.Logger
	failing atomic.Bool
	last    atomic.Int64 // of the last line, in Unix nanoseconds
}

// Note says how an operation went. An error of a ctx that ended is the caller's own doing.
func (f *Faults) Note(ctx context.Context, what string, err error) {
	if err == nil {
		f.failing.Store(false)
		return
	}
	if ctx.Err() != nil || f.failing.Swap(true) {
		return
	}
	now, last := time.Now().UnixNano(), f.last.Load()
	if now-last >= int64(logEvery) && f.last.CompareAndSwap(last, now) {
		f.Log.Error(what, "err", err)
	}
}
