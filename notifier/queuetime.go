package notifier

import "time"

// Clock tells the database's time.
type Clock interface{ Now() time.Time }

// queueTime has River tell the database's time. It writes what it takes for now into
// jobs that run again, and its leader wakes those that wait, while what is due is judged
// by the database: with this machine's clock behind, jobs would run again and again until
// their time, with it ahead, all that waits would come as much too late.
type queueTime struct{ clock Clock }

// Now is the database's time, or without a clock this machine's.
func (q queueTime) Now() time.Time {
	if q.clock == nil {
		return time.Now()
	}
	return q.clock.Now()
}

// NowOrNil leaves it to statements to ask the database.
func (queueTime) NowOrNil() *time.Time { return nil }
