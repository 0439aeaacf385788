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
		river.AddWorkerSafely(workers, &planWorker{sender: s}),
		river.AddWorkerSafely(workers, &routeWorker{sender: s}),
		river.AddWorkerSafely(workers, &sendWorker{sender: s}),
		river.AddWorkerSafely(workers, &blastWorker{sender: s}),
		river.AddWorkerSafely(workers, &digestWorker{sender: s}),
	)
}

type planWorker struct {
	river.WorkerDefaults[PlanArgs]
	sender Sender
}

func (w *planWorker) Work(ctx context.Context, job *river.Job[PlanArgs]) error {
	return worked(w.sender.Plan(ctx, job.Args))
}

type routeWorker struct {
	river.WorkerDefaults[RouteArgs]
	sender Sender
}

// Work plans new messages; their lane is the queue's.
func (w *routeWorker) Work(ctx context.Context, job *river.Job[RouteArgs]) error {
	for _, l := range Lanes {
		if Queue(l) == job.Queue {
			return worked(w.sender.Plan(ctx, PlanArgs{Lane: l, Messages: job.Args.Messages, Step: 1}))
		}
	}
	return river.JobSnooze(time.Minute) // of a lane that a later release has
}

type sendWorker struct {
	river.WorkerDefaults[SendArgs]
	sender Sender
}

func (w *sendWorker) Work(ctx context.Context, job *river.Job[SendArgs]) error {
	a := job.Args
	a.Again = again(job.JobRow)
	return worked(w.sender.Send(ctx, a))
}

type blastWorker struct {
	river.WorkerDefaults[BlastArgs]
	sender Sender
}

func (w *blastWorker) Work(ctx context.Context, job *river.Job[BlastArgs]) error {
	a := job.Args
	a.Again = again(job.JobRow)
	return worked(w.sender.Blast(ctx, a))
}

type digestWorker struct {
	river.WorkerDefaults[DigestArgs]
	sender Sender
}

func (w *digestWorker) Work(ctx context.Context, job *river.Job[DigestArgs]) error {
	a := job.Args
	a.Again = again(job.JobRow)
	return worked(w.sender.Digest(ctx, a))
}

// again says whether the job ran before: it failed, was rescued or put off.
func again(job *rivertype.JobRow) bool {
	var meta struct {
		Snoozes int `json:"snoozes"`
	}
	_ = json.Unmarshal(job.Metadata, &meta) // without it there were none
	return job.Attempt > 1 || meta.Snoozes > 0
}

// worked makes a handler's answer one for the queue.
func worked(err error) error {
	var later *Later
	if errors.As(err, &later) {
		return river.JobSnooze(max(0, later.After))
	}
	return err
}
