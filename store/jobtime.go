package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// jobTime has jobs fall due by the database's clock. River writes this machine's time
// into a job and asks for what is due by the database's, so that all that a machine
// whose clock is ahead has queued, codes for logging in too, would wait until the
// database's clock gets there. Retries, and what the queue's leader wakes, go by it through
// notifier's Bus (queuetime.go).
type jobTime struct {
	river.HookDefaults
	clock atomic.Pointer[Clock] // nil: none was made yet, and River's time stands
}

// jobSlack is more than a Clock is ahead of the database's: a job that is not due when
// its workers wake waits for their next poll.
const jobSlack = 10 * time.Millisecond

// InsertBegin is River's hook before an insert.
func (j *jobTime) InsertBegin(_ context.Context, job *rivertype.JobInsertParams) error {
	clock := j.clock.Load()
	if clock == nil {
		return nil
	}
	at := clock.Now().Add(-jobSlack)
	if job.ScheduledAt != nil {
		at = at.Add(max(0, time.Until(*job.ScheduledAt))) // by this machine's clock
	}
	job.ScheduledAt = &at
	return nil
}
