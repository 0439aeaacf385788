package notifier

import (
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river"
)

// The jobs of telling fans who are not looking. A plan finds out who is to be told
// by which channel now; a send takes a chunk of that through one channel; a blast
// is a chunk of an announcement, which queues the next. All carry numbers, never
// texts or addresses, and may run twice.

// PlanArgs names turns of an opening, of a wave's k from From to To - 1 or of these
// fans, or it names messages.
type PlanArgs struct {
	Lane     Lane    `json:"lane"`
	Opening  int64   `json:"opening,omitempty"`
	N        int     `json:"n,omitempty"`
	From     int     `json:"from,omitempty"`
	To       int     `json:"to,omitempty"`
	Fans     []int64 `json:"fans,omitempty"`
	Messages []int64 `json:"messages,omitempty"`
	// Step is that of messages which are planned at each step as long as more may be
	// due, from 1; 0: another look in between.
	Step int `json:"step,omitempty"`
}

// Kind names the job.
func (PlanArgs) Kind() string { return "plan" }

// SendArgs names fans' items that go by one channel.
type SendArgs struct {
	Lane    Lane    `json:"lane"`
	Channel Channel `json:"channel"`
	// Opening is the one whose turns the fans have; 0: messages.
	Opening  int64   `json:"opening,omitempty"`
	Fans     []int64 `json:"fans,omitempty"`
	Messages []int64 `json:"messages,omitempty"`
	// Again is set by the worker: this job ran before, so that what it finds done
	// is its own doing.
	Again bool `json:"-"`
}

// Kind names the job.
func (SendArgs) Kind() string { return "send" }

// BlastArgs is a chunk of an announcement: the entries numbered above From, up to
// To.
type BlastArgs struct {
	Announcement int64   `json:"announcement"`
	Channel      Channel `json:"channel"`
	From         int64   `json:"from"`
	To           int64   `json:"to"`
	Again        bool    `json:"-"`
}

// Kind names the job.
func (BlastArgs) Kind() string { return "blast" }

// SendMost is how many deliveries one job takes: as many as are through within its
// time, also when each waits for a provider that does not answer.
const SendMost = 200

// attemptsMost is how often a job is tried that fails for another reason than a
// provider's answer, with a minute between: longer than any item lives.
const attemptsMost = 3000

// ChannelQueue is the queue of a lane's sends by one channel: a provider that is
// slow or dead backs up its own queues alone.
func ChannelQueue(l Lane, c Channel) string { return string(l) + "_" + string(c) }

// PlanJob is the job of a plan.
func PlanJob(a PlanArgs) river.InsertManyParams {
	return river.InsertManyParams{Args: a, InsertOpts: &river.InsertOpts{Queue: Queue(a.Lane), MaxAttempts: attemptsMost}}
}

// SendJobs are the jobs of a send, at most SendMost deliveries each.
func SendJobs(a SendArgs) []river.InsertManyParams {
	var jobs []river.InsertManyParams
	add := func(part SendArgs) {
		jobs = append(jobs, river.InsertManyParams{Args: part, InsertOpts: &river.InsertOpts{
			Queue: ChannelQueue(a.Lane, a.Channel), MaxAttempts: attemptsMost,
		}})
	}
	for fans := range slices.Chunk(a.Fans, SendMost) {
		add(SendArgs{Lane: a.Lane, Channel: a.Channel, Opening: a.Opening, Fans: fans})
	}
	for messages := range slices.Chunk(a.Messages, SendMost) {
		add(SendArgs{Lane: a.Lane, Channel: a.Channel, Messages: messages})
	}
	return jobs
}

// BlastJob is the job of a blast's chunk, after a wait.
func BlastJob(a BlastArgs, wait time.Duration) river.InsertManyParams {
	opts := &river.InsertOpts{Queue: ChannelQueue(Bulk, a.Channel), MaxAttempts: attemptsMost}
	if wait > 0 {
		opts.ScheduledAt = time.Now().Add(wait)
	}
	return river.InsertManyParams{Args: a, InsertOpts: opts}
}

// Later is returned by a handler whose job is to run again, and no fault.
type Later struct{ After time.Duration }

func (e *Later) Error() string { return fmt.Sprintf("again in %v", e.After) }
