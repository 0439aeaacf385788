package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

// A retry never conflicts with its own row, nor with a twin that is reported again
// meanwhile: each event is handled once by each subscriber, after its faults.
func TestAnEventIsTriedAgainUntilItsSubscriberTakesIt(t *testing.T) {
	t.Parallel()
	const openings = 60
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	var mu sync.Mutex
	tries, done := map[notifier.EventArgs]int{}, map[notifier.EventArgs]int{}
	all := make(chan struct{})
	handler := func(_ context.Context, e notifier.EventArgs) error {
		mu.Lock()
		defer mu.Unlock()
		if tries[e]++; tries[e] < 3 {
			return errors.New("not now")
		}
		if done[e]++; len(done) == 2*openings && done[e] == 1 {
			close(all)
		}
		return nil
	}
	bus, err := notifier.NewBus(b.store.Driver(), notifier.BusConfig{
		Log:      slog.New(slog.DiscardHandler),
		Handlers: map[notifier.Subscriber]notifier.Handler{notifier.WriteStrategy: handler, notifier.ReadStrategy: handler, notifier.Blasts: handler},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Running(); err == nil {
		t.Error("a bus that was not started calls itself running")
	}
	if err := bus.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := bus.Running(); err != nil {
		t.Errorf("a started bus: %v", err)
	}
	for range 2 { // reported again while the first tries fail
		for i := range openings {
			b.free("s", fmt.Sprint("o", i), 1)
		}
	}
	select {
	case <-all:
	case <-time.After(30 * time.Second):
		mu.Lock()
		t.Errorf("%d of %d were taken", len(done), 2*openings)
		mu.Unlock()
	}
	if err := bus.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := bus.Running(); err == nil {
		t.Error("a stopped bus calls itself running")
	}
	for e, n := range done {
		if n != 1 || tries[e] != 3 {
			t.Errorf("%+v: tried %d times, taken %d times", e, tries[e], n)
		}
	}
	var lost int
	if err := b.store.Pool().QueryRow(context.Background(),
		`SELECT count(*) FROM river_job WHERE state NOT IN ('completed')`).Scan(&lost); err != nil || lost != 0 {
		t.Errorf("%d jobs are not completed (%v)", lost, err)
	}
}

// aside is a clock that shows another time than this machine's.
type aside time.Duration

func (a aside) Now() time.Time { return time.Now().Add(time.Duration(a)) }

// putOff is a sender who puts a plan off once.
type putOff struct {
	notifier.Sender
	plans chan struct{}
}

func (s putOff) Plan(context.Context, notifier.PlanArgs) error {
	s.plans <- struct{}{}
	if len(s.plans) == 1 {
		return &notifier.Later{After: time.Second}
	}
	return errors.New("not now")
}

func TestJobsThatRunAgainFallDueByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	for _, machine := range []aside{aside(-time.Hour), aside(time.Hour)} { // the database's clock, seen from it
		t.Run(fmt.Sprint(time.Duration(machine)), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			sender := putOff{plans: make(chan struct{}, 100)}
			none := func(context.Context, notifier.EventArgs) error { return nil }
			bus, err := notifier.NewBus(b.store.Driver(), notifier.BusConfig{
				Log: slog.New(slog.DiscardHandler), Clock: machine, Sender: sender,
				Handlers: map[notifier.Subscriber]notifier.Handler{notifier.WriteStrategy: none, notifier.ReadStrategy: none, notifier.Blasts: none},
			})
			must(t, err)
			must(t, bus.Start(t.Context()))
			defer func() { must(t, bus.Stop(context.WithoutCancel(t.Context()))) }()
			b.send(urgent("ada", "Code 1"))
			due := func() (at time.Time) {
				_ = b.store.Pool().QueryRow(t.Context(), `SELECT scheduled_at FROM river_job WHERE kind = 'route' AND state <> 'running' AND metadata ? 'snoozes'`).Scan(&at)
				return at
			}
			for tick := time.NewTicker(10 * time.Millisecond); due().IsZero(); <-tick.C {
				if t.Context().Err() != nil {
					t.Fatal("it is not put off")
				}
			}
			if off := due().Sub(machine.Now()); off < -10*time.Second || off > 10*time.Second {
				t.Errorf("it is due %v from now by the database's clock, want 1 s", off)
			}
		})
	}
}
