package notifier

import "github.com/riverqueue/river"

// RouteArgs is the job that sends messages on their way: it finds out who is to be
// told where and queues that. It carries numbers, never texts.
type RouteArgs struct {
	Messages []int64 `json:"messages"`
}

// Kind names the job.
func (RouteArgs) Kind() string { return "route" }

// routeMost is how many messages one job takes.
const routeMost = 200

// RouteJobs are the jobs for new messages of a lane, to be inserted in the
// transaction that stores them.
func RouteJobs(l Lane, messages []int64) []river.InsertManyParams {
	var jobs []river.InsertManyParams
	for len(messages) > 0 {
		n := min(len(messages), routeMost)
		jobs = append(jobs, river.InsertManyParams{
			Args:       RouteArgs{Messages: messages[:n]},
			InsertOpts: &river.InsertOpts{Queue: Queue(l), MaxAttempts: 25},
		})
		messages = messages[n:]
	}
	return jobs
}
