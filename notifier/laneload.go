package notifier

import "time"

// QueueLoad is how busy one of the lanes' queues is, over all instances.
type QueueLoad struct {
	Queue string
	// Waiting can run now, Later are put off, Running under way: each counted up to
	// QueueLoadMost.
	Waiting, Later, Running int
	// Oldest is for how long the oldest of those that can run has waited.
	Oldest time.Duration
	// PerSecond is how many were done a second just now.
	PerSecond float64
	// Paused: nothing of it is worked.
	Paused bool
}

// QueueLoadMost bounds the counts of a QueueLoad, so that to look at a queue that is
// backed up costs no more than at an empty one.
const QueueLoadMost = 10_000

// unservedAfter is how long work may be due, with none of its queue done or under way,
// before nobody can be taken to serve that.
const unservedAfter = 15 * time.Second

// Unserved says that nobody works the queue, though it is not paused.
func (q *QueueLoad) Unserved() bool {
	return !q.Paused && q.Running == 0 && q.PerSecond == 0 && q.Oldest > unservedAfter
}
