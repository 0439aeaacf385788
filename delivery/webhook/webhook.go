package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fanline/delivery"
	"fanline/delivery/dial"
	"fanline/notifier"
)

// Endpoints keeps the endpoints and how their calls went. store implements it.
type Endpoints interface {
	delivery.Followers
	notifier.Stream
	// EndpointsDue are those that may be called now and that no process has.
	EndpointsDue(ctx context.Context) ([]notifier.Endpoint, error)
	Endpoint(ctx context.Context, id string) (notifier.Endpoint, error)
	EndpointTook(ctx context.Context, id string) error
	EndpointFailed(ctx context.Context, id, owner, reason string, again time.Duration, disable bool) error
}

// Config is what a Sender stands on.
type Config struct {
	Store Endpoints
	// Grew is closed when the stream grew; see notifier.Tail.
	Grew  func() <-chan struct{}
	Guard dial.Guard
	Log   *slog.Logger
}

const (
	// lookEvery is how often endpoints are looked for when the stream does not grow.
	lookEvery = time.Second
	// lease is how long a process that died keeps an endpoint.
	lease = 30 * time.Second
	// atOnce is how many endpoints one process serves at a time.
	atOnce = 32
	// pageSize is how many events are read at a time.
	pageSize = 100
	// storeTime bounds a call to the store.
	storeTime = 5 * time.Second
)

// Stats are figures since the start.
type Stats struct{ Sent, Failed, Disabled int64 }

// Sender calls the endpoints. Its methods may be called concurrently; Start once.
type Sender struct {
	cfg    Config
	owner  string
	client *http.Client
	loops  *notifier.Loops
	slots  chan struct{}

	sent, failed, disabled atomic.Int64
}

// New returns a Sender that is not started.
func New(cfg Config) *Sender {
	return &Sender{cfg: cfg, owner: rand.Text(), client: cfg.Guard.Client(), loops: notifier.NewLoops(cfg.Log), slots: make(chan struct{}, atOnce)}
}

// Stats are the figures.
func (s *Sender) Stats() Stats { return Stats{s.sent.Load(), s.failed.Load(), s.disabled.Load()} }

// Start begins to call endpoints. Stop ends it.
func (s *Sender) Start() { s.loops.Go(s.run) }

// Stop breaks off the calls in progress, which are made again elsewhere, and waits.
func (s *Sender) Stop() {
	s.loops.Stop()
	s.client.CloseIdleConnections()
}

// run looks for endpoints to serve, each by a goroutine of its own.
func (s *Sender) run(ctx context.Context) {
	var running sync.Map // by id
	faults := notifier.Faults{Log: s.cfg.Log}
	for ctx.Err() == nil {
		grew := s.cfg.Grew()
		due, err := s.due(ctx)
		faults.Note(ctx, "look for webhook endpoints", err)
		for i := range due {
			e := &due[i]
			if _, there := running.LoadOrStore(e.ID, true); there {
				continue
			}
			select {
			case s.slots <- struct{}{}:
			default: // the next look finds it
				running.Delete(e.ID)
				continue
			}
			s.loops.Go(func(ctx context.Context) {
				defer func() { <-s.slots; running.Delete(e.ID) }()
				s.serve(ctx, e)
			})
		}
		t := time.NewTimer(lookEvery)
		select {
		case <-ctx.Done():
		case <-grew:
		case <-t.C:
		}
		t.Stop()
	}
}

func (s *Sender) due(ctx context.Context) ([]notifier.Endpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return s.cfg.Store.EndpointsDue(ctx)
}

// serve sends an endpoint what there is for it, as long as it takes it.
func (s *Sender) serve(ctx context.Context, e *notifier.Endpoint) {
	var err error
	for more := true; more && err == nil; {
		more, err = s.follow(ctx, e)
	}
	if err != nil && ctx.Err() == nil {
		s.cfg.Log.Warn("serve a webhook endpoint", "endpoint", e.ID, "err", err)
	}
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	if err := s.cfg.Store.ReleaseFollower(release, e.Follower(), s.owner); err != nil {
		s.cfg.Log.Warn("release a webhook endpoint; its lease ends by itself", "endpoint", e.ID, "err", err)
	}
}

// follow sends the events of one page, one by one. more says that there is another.
func (s *Sender) follow(ctx context.Context, e *notifier.Endpoint) (more bool, err error) {
	after, mine, err := s.lease(ctx, e)
	if err != nil || !mine {
		return false, err
	}
	if err := s.renew(ctx, e); err != nil || e.DisabledAt != nil {
		return false, err
	}
	page, err := s.page(ctx, e, after)
	if err != nil {
		return false, err
	}
	for i := range page.Events {
		ev := &page.Events[i]
		if err := s.send(ctx, e, ev); err != nil {
			return false, s.note(ctx, e, err)
		}
		s.sent.Add(1)
		if mine, err := s.took(ctx, e, ev.ID); err != nil || !mine {
			return false, err
		}
	}
	if page.Next == after {
		return false, nil
	}
	return s.took(ctx, e, page.Next)
}

// renew reads an endpoint as it is now that nobody else calls it: it may have been
// put anew since, and must not be called any more as it was.
func (s *Sender) renew(ctx context.Context, e *notifier.Endpoint) (err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	*e, err = s.cfg.Store.Endpoint(ctx, e.ID)
	return err
}

func (s *Sender) lease(ctx context.Context, e *notifier.Endpoint) (after string, mine bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return s.cfg.Store.LeaseFollower(ctx, e.Follower(), s.owner, lease)
}

// took stores that the endpoint has what lies up to a place.
func (s *Sender) took(ctx context.Context, e *notifier.Endpoint, place string) (mine bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if mine, err = s.cfg.Store.Advance(ctx, e.Follower(), s.owner, place, lease); err != nil || !mine || e.Attempts == 0 {
		return mine, err
	}
	e.Attempts = 0
	return true, s.cfg.Store.EndpointTook(ctx, e.ID)
}

// page reads what is next. An endpoint that was disabled for longer than the stream
// is kept goes on with the oldest that there is.
func (s *Sender) page(ctx context.Context, e *notifier.Endpoint, after string) (notifier.StreamPage, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	q := notifier.StreamQuery{After: after, Types: e.Types, Limit: pageSize}
	page, err := s.cfg.Store.Stream(ctx, q)
	if errors.Is(err, notifier.ErrTooOld) {
		s.cfg.Log.Error("events for a webhook endpoint were lost: it was away for longer than the stream is kept", "endpoint", e.ID)
		q.After = ""
		page, err = s.cfg.Store.Stream(ctx, q)
	}
	return page, err
}

// note stores a failure and when to try again. A call that was broken off because
// this process stops is none.
func (s *Sender) note(ctx context.Context, e *notifier.Endpoint, failure error) error {
	if ctx.Err() != nil {
		return nil
	}
	s.failed.Add(1)
	again, last := wait(e.Attempts)
	if gone := errors.Is(failure, errGone); gone || last {
		s.disabled.Add(1)
		s.cfg.Log.Error("a webhook endpoint is disabled; put it again to go on", "endpoint", e.ID, "gone", gone, "attempts", e.Attempts+1)
		last = true
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return s.cfg.Store.EndpointFailed(ctx, e.ID, s.owner, failure.Error(), again, last)
}
