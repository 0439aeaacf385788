package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"fanline/notifier"
)

// FeedbackStore keeps what services tell. store implements it.
type FeedbackStore interface {
	// Tell records what a call says, with all that follows from it, in one
	// transaction: again, it has no effect. Its error for a nonce that was used for
	// something else is ErrNotGenuine.
	Tell(ctx context.Context, t *Told) (Heard, error)
	// TellEarly tries reports again that came before the send was recorded, at most
	// most, and returns what was found.
	TellEarly(ctx context.Context, most int) ([]Heard, error)
	// ReportCounts are those of the last day, by channel.
	ReportCounts(ctx context.Context) (map[notifier.Channel]ReportCounts, error)
}

// ReportCounts are how many deliveries came to what, as services told.
type ReportCounts struct{ Delivered, Failed, Bounced, Opened, Complained int64 }

// FeedbackConfig configures a Feedback. Store, Retire, Slow and Clock must be there.
type FeedbackConfig struct {
	Store  FeedbackStore
	Retire retires
	// Slow lowers the limit of a channel.
	Slow func(ctx context.Context, c notifier.Channel, retryAfter time.Duration)
	// Opened is called with a fan who opened an item: that is a look.
	Opened func(ctx context.Context, fan string) error
	// Readers by service; a service without one is believed nothing.
	Readers map[string]CallReader
	Clock   Clock
	Log     *slog.Logger
}

const (
	reportsEvery = time.Second
	reportsMost  = 500
	ratesEvery   = time.Minute
	feedbackCall = 10 * time.Second
	slowFor      = time.Minute
)

// Feedback takes what services tell of deliveries. Its methods may be called
// concurrently; Start once.
type Feedback struct {
	cfg    FeedbackConfig
	counts FeedbackStats
	loops  *notifier.Loops

	mu    sync.Mutex
	rates map[notifier.Channel]Rates
	alarm map[string]bool
}

// FeedbackStats only grow.
type FeedbackStats struct {
	// Forged calls were refused. Kept are addresses that were called dead while too
	// many were.
	Forged, Kept atomic.Int64

	mu sync.Mutex
	n  map[ReportCount]int64
}

// ReportCount names a count.
type ReportCount struct {
	Channel notifier.Channel
	What    string
}

// All are the counts by channel and phase; complained is one of these.
func (s *FeedbackStats) All() map[ReportCount]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[ReportCount]int64, len(s.n))
	for k, n := range s.n {
		all[k] = n
	}
	return all
}

func (s *FeedbackStats) add(c notifier.Channel, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n[ReportCount{c, what}]++
}

// NewFeedback returns a Feedback that is not started.
func NewFeedback(cfg FeedbackConfig) (*Feedback, error) {
	if cfg.Store == nil || cfg.Retire == nil || cfg.Slow == nil || cfg.Clock == nil {
		return nil, errors.New("feedback needs all its parts")
	}
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	f := &Feedback{cfg: cfg, loops: notifier.NewLoops(cfg.Log), rates: map[notifier.Channel]Rates{}, alarm: map[string]bool{}}
	f.counts.n = map[ReportCount]int64{}
	return f, nil
}

// Stats are the figures so far.
func (f *Feedback) Stats() *FeedbackStats { return &f.counts }

// Take takes a call that came for a service. The error of one that is not genuine
// is ErrNotGenuine, and it changed nothing; one that was taken before has no error.
func (f *Feedback) Take(ctx context.Context, service string, c *Call) error {
	r := f.cfg.Readers[service]
	if r == nil {
		f.counts.Forged.Add(1)
		return ErrNotGenuine
	}
	told, err := r.Read(f.cfg.Clock.Now(), c)
	if err != nil {
		return f.refused(err)
	}
	told.Service = service
	if told.Report != nil {
		f.judge(told.Report)
	}
	heard, err := f.cfg.Store.Tell(ctx, &told)
	if err != nil {
		return f.refused(fmt.Errorf("record what %s told: %w", service, err))
	}
	if told.Report != nil && told.Report.Verdict == Throttled && heard.News {
		f.cfg.Slow(ctx, heard.Channel, slowFor)
	}
	return f.heard(ctx, heard)
}

func (f *Feedback) refused(err error) error {
	if errors.Is(err, ErrNotGenuine) {
		f.counts.Forged.Add(1)
	}
	return err
}

// judge leaves a verdict out that too many addresses get, and counts it.
func (f *Feedback) judge(r *Report) {
	c := r.Channels[0]
	switch {
	case r.Verdict == AddressDead:
		f.cfg.Retire.Note(c, AddressDead)
		if !f.cfg.Retire.May(c) {
			f.counts.Kept.Add(1)
			r.Verdict = ""
		}
	case r.Phase == notifier.PhaseDelivered:
		f.cfg.Retire.Note(c, Accepted)
	}
}

// heard counts what was news, and has the look of a fan who opened something.
func (f *Feedback) heard(ctx context.Context, h Heard) error {
	if h.News {
		f.counts.add(h.Channel, string(h.Phase))
	}
	if h.Complained {
		f.counts.add(h.Channel, "complained")
	}
	if h.Opened == "" || f.cfg.Opened == nil {
		return nil
	}
	return f.cfg.Opened(ctx, h.Opened)
}

// Start begins to try early reports again and to watch the rates. Stop ends it.
func (f *Feedback) Start() {
	f.loops.Every(reportsEvery, feedbackCall, "try early reports of providers", f.tryEarly)
	f.loops.Every(ratesEvery, feedbackCall, "count what became of deliveries", f.watch)
}

// Stop waits for what is under way. It may be called twice, and without a start.
func (f *Feedback) Stop() { f.loops.Stop() }

func (f *Feedback) tryEarly(ctx context.Context) error {
	list, err := f.cfg.Store.TellEarly(ctx, reportsMost)
	for _, h := range list {
		err = errors.Join(err, f.heard(ctx, h))
	}
	return err
}
