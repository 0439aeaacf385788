package main

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"time"
)

// part is what has to be stopped: it was started, or works from when it was made.
type part struct {
	name  string
	start func(context.Context) error // may be nil
	stop  func(context.Context) error // returns when nothing of the part works any more
}

// parts are in the order in which they start; they stop in the other order, from the
// outside in: sockets are told to go elsewhere, requests finish, then decisions and
// jobs, then what they stand on.
func (a *app) parts() []part {
	parts := []part{
		{"the operations address", nil, a.ops.Shutdown}, // whoever watches sees the end
		{"the registry", func(context.Context) error { return a.registry.Start(a.hub) }, a.registry.Stop},
		{"the fanout", nil, ends(a.fanout.Wait)},
		runs("the deadline clock", a.deadline),
		runs("the cache", a.cache),
		runs("the keeper", a.keeper),
		runs("the tail", a.tail),
		runs("the webhooks", a.webhooks),
	}
	if a.kafka != nil {
		parts = append(parts, runs("the export to Kafka", a.kafka))
	}
	parts = append(parts, part{"the queue", a.bus.Start, a.bus.Stop}, runs("the watch of lanes", a.lanes))
	if a.digests != nil {
		parts = append(parts, runs("the digests", a.digests))
	}
	return append(parts,
		runs("the feedback", a.feedback),
		runs("the alerts", a.alerts),
		part{"the joins and claims in progress", nil, ends(a.lines.Close)},
		part{"the jobs' pages", a.jobs.Start, ends(a.jobs.Stop)},
		part{"the public address", nil, a.public.Shutdown},
		part{"the admin pages", nil, ends(a.pages.Stop)},
		part{"the hub", a.hub.Start, a.hub.Stop},
	)
}

type runner interface {
	Start()
	Stop()
}

// runs is a part that starts and stops without fail.
func runs(name string, r runner) part {
	return part{name, func(context.Context) error { r.Start(); return nil }, ends(r.Stop)}
}

// ends is a stop without fail.
func ends(stop func()) func(context.Context) error {
	return func(context.Context) error { stop(); return nil }
}

// drainTime is how long an instance that stops gives its connections and requests.
const drainTime = 10 * time.Second

// heapBallast is memory that is never touched, and so takes no room but in the sums of
// the garbage collector. Without it a heap of some ten MiB is collected many times a
// second while a blast runs, and urgent messages wait for that: their median fell by a
// third.
const heapBallast = 64 << 20

// run starts everything, serves until ctx ends or a listener fails, and stops.
func (a *app) run(ctx context.Context) error {
	ballast := make([]byte, heapBallast)
	defer runtime.KeepAlive(ballast)
	defer a.close()
	parts := a.parts()
	if n, err := start(parts); err != nil {
		stop(a.log, parts[:n], drainTime)
		return err
	}
	served := make(chan error, 2)
	go func() { served <- a.public.Serve() }()
	go func() { served <- a.ops.Serve() }()
	var err error
	serving := 2
	select {
	case <-ctx.Done():
	case err = <-served:
		serving--
	}
	a.log.Info("stopping")
	stop(a.log, parts, drainTime)
	for range serving {
		err = errors.Join(err, <-served)
	}
	return err
}

// start starts parts, up to the first that fails, and returns how many it started.
// They work until they are stopped in their order, and not until a context ends.
func start(parts []part) (n int, err error) {
	for i, p := range parts {
		if p.start == nil {
			continue
		}
		if err := p.start(context.Background()); err != nil {
			return i, err
		}
	}
	return len(parts), nil
}

// stop stops parts, the last first, all together within a time. An error is logged,
// and the others are stopped all the same.
func stop(log *slog.Logger, parts []part, within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for _, p := range slices.Backward(parts) {
		if err := p.stop(ctx); err != nil {
			log.Warn("stop "+p.name, "err", err)
		}
	}
}

// giveBack has close end what newApp made.
func (a *app) giveBack(name string, stop func(context.Context) error) {
	a.opened = append(a.opened, part{name, nil, stop})
}

// close gives back what newApp opened.
func (a *app) close() { stop(a.log, a.opened, time.Second) }
