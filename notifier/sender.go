package notifier

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// Sender does the jobs of telling fans who are not looking. Its methods may be
// called concurrently and again for the same job. An error is tried again; a
// *Later is not an error.
type Sender interface {
	Plan(ctx context.Context, a PlanArgs) error
	Send(ctx context.Context, a SendArgs) error
	Blast(ctx context.Context, a BlastArgs) error
	Digest(ctx context.Context, a DigestArgs) error
}

// sendersOf is how many sends of a lane one process works at a time, by channel.
// Each has many calls under way.
var sendersOf = map[Lane]int{Transactional: 8, Turns: 6, Bulk: 4}

// pollEvery bounds the wait where a notification was lost.
var pollEvery = map[Lane]time.Duration{
	Transactional: 100 * time.Millisecond, Turns: 200 * time.Millisecond, Bulk: 500 * time.Millisecond,
}

// channelQueues are the queues of lanes' sends.
func channelQueues(lanes []Lane, channels []Channel) map[string]river.QueueConfig {
	queues := map[string]river.QueueConfig{}
	for _, l := range lanes {
		for _, c := range channels {
			queues[ChannelQueue(l, c)] = river.QueueConfig{
				MaxWorkers: sendersOf[l], FetchCooldown: 10 * time.Millisecond, FetchPollInterval: pollEvery[l],
			}
		}
	}
	return queues
}

func addSenders(workers *river.Workers, s Sender) error {
	return errors.Join(
		addSender(workers, func(ctx context.Context, _ *rivertype.JobRow, a PlanArgs) error { return s.Plan(ctx, a) }),
		addSender(workers, func(ctx context.Context, job *rivertype.JobRow, a RouteArgs) error { return route(ctx, s, job, a) }),
		addSender(workers, func(ctx context.Context, job *rivertype.JobRow, a SendArgs) error {
			a.Again = again(job)
			return s.Send(ctx, a)
		}),
		addSender(workers, func(ctx context.Context, job *rivertype.JobRow, a BlastArgs) error {
			a.Again = again(job)
			return s.Blast(ctx, a)
		}),
		addSender(workers, func(ctx context.Context, job *rivertype.JobRow, a DigestArgs) error {
			a.Again = again(job)
			return s.Digest(ctx, a)
		}),
	)
}

// addSender adds the worker of a kind of job. A *Later is the queue's to wait for.
func addSender[A river.JobArgs](workers *river.Workers, work func(ctx context.Context, job *rivertype.JobRow, a A) error) error {
	return river.AddWorkerSafely(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[A]) error {
		err := work(ctx, job.JobRow, job.Args)
		if later, ok := errors.AsType[*Later](err); ok {
			return river.JobSnooze(max(0, later.After))
		}
		return err
	}))
}

// route plans new messages; their lane is the queue's.
func route(ctx context.Context, s Sender, job *rivertype.JobRow, a RouteArgs) error {
	for _, l := range Lanes {
		if Queue(l) == job.Queue {
			return s.Plan(ctx, PlanArgs{Lane: l, Messages: a.Messages, Step: 1})
		}
	}
	return river.JobSnooze(time.Minute) // of a lane that a later release has
}

// again says whether the job ran before: it failed, was rescued or put off.
func again(job *rivertype.JobRow) bool {
	var meta struct {
		Snoozes int `json:"snoozes"`
	}
	_ = json.Unmarshal(job.Metadata, &meta) // without it there were none
	return job.Attempt > 1 || meta.Snoozes > 0
}
