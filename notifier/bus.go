package notifier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// EventArgs is the job of one event for one subscriber.
type EventArgs struct {
	Subscriber Subscriber `json:"subscriber"`
	Event      int64      `json:"event"`
	Type       EventType  `json:"type"`
	ShowNo     int32      `json:"show_no"`
	OpeningNo  int64      `json:"opening_no,omitempty"`
	Ref        int64      `json:"ref,omitempty"`
}

// Kind names the job.
func (EventArgs) Kind() string { return "event" }

// EventJobs are the jobs of an event, one a subscriber, to be inserted in the
// transaction that stores the event.
func EventJobs(e Event) []river.InsertManyParams {
	var jobs []river.InsertManyParams
	for _, s := range SubscribersOf(e.Type) {
		jobs = append(jobs, river.InsertManyParams{
			Args: EventArgs{Subscriber: s, Event: e.ID, Type: e.Type, ShowNo: e.ShowNo, OpeningNo: e.OpeningNo, Ref: e.Ref},
			InsertOpts: &river.InsertOpts{
				Queue: Queue(laneOf(e.Type)), MaxAttempts: 25,
			},
		})
	}
	return jobs
}

// Queue is the River queue of a lane. Lanes are queues of their own: within one
// queue, priority is strict and starves.
func Queue(l Lane) string { return "lane_" + string(l) }

// Handler acts on an event. It may be called again for the same event, and leaves
// alone what is not its own. An error is tried again later.
type Handler func(ctx context.Context, e EventArgs) error

// workersOf is how many jobs of a lane one process works at a time.
var workersOf = map[Lane]int{Transactional: 16, Turns: 8, Bulk: 4}

// BusConfig configures a Bus.
type BusConfig struct {
	// Lanes that this process serves; nil: all.
	Lanes []Lane
	// Handlers of the subscribers. All must be there.
	Handlers map[Subscriber]Handler
	// Sender does the sends of Channels; nil: this process has none to do.
	Sender   Sender
	Channels []Channel
	// Middleware is around each job.
	Middleware []rivertype.Middleware
	// Clock is the database's, by which jobs fall due; nil: this machine's.
	Clock Clock
	Log   *slog.Logger
}

// Bus brings events to their subscribers and works the lanes, on River. Its
// methods may be called concurrently; Start once.
type Bus struct {
	start, stop func(ctx context.Context) error
	running     atomic.Bool
}

// NewBus returns a Bus on driver's database.
func NewBus[TTx any](driver riverdriver.Driver[TTx], cfg BusConfig) (*Bus, error) {
	workers, err := cfg.workers()
	if err != nil {
		return nil, err
	}
	now := queueTime{cfg.Clock}
	client, err := river.NewClient(driver, &river.Config{
		Workers: workers, Queues: cfg.queues(), Logger: cfg.Log, Middleware: cfg.Middleware,
		JobTimeout:    15 * time.Second,
		FetchCooldown: 10 * time.Millisecond, // of what workers insert, as in store.Open
		// The default hour would strand the jobs of a process that was killed.
		RescueStuckJobsAfter: 60 * time.Second,
		RetryPolicy:          retryPolicy{now},
		// The one place where River takes a clock.
		Test: river.TestConfig{Time: now},
	})
	if err != nil {
		return nil, fmt.Errorf("make the queue's client: %w", err)
	}
	stop := func(ctx context.Context) error {
		soft, cancel := context.WithTimeout(ctx, softStop)
		defer cancel()
		if client.Stop(soft) == nil {
			return nil
		}
		return client.StopAndCancel(ctx)
	}
	return &Bus{start: client.Start, stop: stop}, nil
}

// workers do the jobs of events and sends.
func (c *BusConfig) workers() (*river.Workers, error) {
	for _, list := range subscribers {
		for _, s := range list {
			if c.Handlers[s] == nil {
				return nil, fmt.Errorf("no handler for subscriber %q", s)
			}
		}
	}
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &eventWorker{handlers: c.Handlers}); err != nil {
		return nil, fmt.Errorf("add the event worker: %w", err)
	}
	if c.Sender != nil {
		if err := addSenders(workers, c.Sender); err != nil {
			return nil, fmt.Errorf("add the workers of sends: %w", err)
		}
	}
	return workers, nil
}

// queues are those of the lanes to serve: one for each, and one for each of its channels.
func (c *BusConfig) queues() map[string]river.QueueConfig {
	lanes := c.Lanes
	if lanes == nil {
		lanes = Lanes
	}
	queues := channelQueues(lanes, c.Channels)
	for _, l := range lanes {
		queues[Queue(l)] = river.QueueConfig{
			MaxWorkers: workersOf[l],
			// One NOTIFY a cooldown is lost when its transaction rolls back, so
			// that the poll is what bounds the wait.
			FetchCooldown: 10 * time.Millisecond, FetchPollInterval: 100 * time.Millisecond,
		}
	}
	return queues
}

// softStop is how long jobs in progress may finish by themselves.
const softStop = 3 * time.Second

// Start begins to work jobs; it returns at once. ctx bounds the work too.
func (b *Bus) Start(ctx context.Context) error {
	if err := b.start(ctx); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	b.running.Store(true)
	return nil
}

// Stop lets the jobs in progress finish for a moment, then cancels them, which
// run again elsewhere, and waits.
func (b *Bus) Stop(ctx context.Context) error {
	b.running.Store(false)
	return b.stop(ctx)
}

// Running says with an error that the lanes are not worked.
func (b *Bus) Running() error {
	if !b.running.Load() {
		return errors.New("the lanes are not running")
	}
	return nil
}

// retryPolicy waits 1 s, 2 s, 4 s and so on, at most a minute: an event that is
// late by River's default of attempt^4 seconds is no longer of use to a line.
type retryPolicy struct{ clock queueTime }

func (p retryPolicy) NextRetry(job *rivertype.JobRow) time.Time {
	return p.clock.Now().Add(min(time.Minute, time.Second<<min(job.Attempt-1, 6)))
}

type eventWorker struct {
	river.WorkerDefaults[EventArgs]
	handlers map[Subscriber]Handler
}

// Work hands the event to its subscriber. One that this release does not know yet
// is a later release's: it waits for that.
func (w *eventWorker) Work(ctx context.Context, job *river.Job[EventArgs]) error {
	h := w.handlers[job.Args.Subscriber]
	if h == nil {
		return river.JobSnooze(time.Minute)
	}
	return h(ctx, job.Args)
}
