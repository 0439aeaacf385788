package delivery

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"fanline/notifier"
)

// DigestGroup are the fans of a zone who want their digest at an hour.
type DigestGroup struct {
	Zone string // "" is UTC
	Hour int
}

// DigestRun is a group's digests of a day by their clock.
type DigestRun struct {
	DigestGroup
	Day string // as 2026-11-30
}

// DigestStore knows who wants digests. store implements it.
type DigestStore interface {
	// DigestGroups are those with a fan: their number does not grow with the fans'.
	DigestGroups(ctx context.Context) ([]DigestGroup, error)
	// StartDigests queues the first chunk of each run that was not started, in one
	// statement that decides, whoever else asks. It returns how many it started.
	StartDigests(ctx context.Context, runs []DigestRun) (int, error)
}

const (
	digestsEvery    = 20 * time.Second
	digestsPatience = 10 * time.Second
	// digestLate is how long after its hour a digest still goes, when nobody was there
	// to send it.
	digestLate = 3 * time.Hour
	// digestLook is how far from the hour of a day its moment is looked for: clocks
	// were never changed by more. Changes and offsets are of whole quarters.
	digestLook = 4 * time.Hour
	quarter    = 15 * time.Minute
)

// DigestClock starts digests at their hours. Every process runs one.
type DigestClock struct {
	store DigestStore
	clock Clock
	loops *notifier.Loops
	zones map[string]*time.Location // of the one goroutine
}

// NewDigestClock returns a clock that is not started.
func NewDigestClock(store DigestStore, clock Clock, log *slog.Logger) *DigestClock {
	return &DigestClock{store: store, clock: clock, loops: notifier.NewLoops(log), zones: map[string]*time.Location{}}
}

// Start begins. Stop ends it.
func (c *DigestClock) Start() { c.loops.Every(digestsEvery, digestsPatience, "start digests", c.start) }

// Stop waits for what is under way. It may be called twice, and without a start.
func (c *DigestClock) Stop() { c.loops.Stop() }

// start starts the runs that are due.
func (c *DigestClock) start(ctx context.Context) error {
	groups, err := c.store.DigestGroups(ctx)
	if err != nil {
		return err
	}
	now := c.clock.Now()
	var runs []DigestRun
	for _, g := range groups {
		zone, known := c.zones[g.Zone]
		if !known {
			zone, _ = DigestZone(g.Zone) // nil for one that this machine has lost
			c.zones[g.Zone] = zone
		}
		if zone != nil {
			runs = append(runs, DueDigests(g, zone, now)...)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	_, err = c.store.StartDigests(ctx, runs)
	return err
}

// DigestZone is the zone of a digest's hour.
func DigestZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	return loadZone(name)
}

// DueDigests are a group's runs whose moment has come and that are not too late: of
// the day that it is in their zone, or of the day before.
func DueDigests(g DigestGroup, zone *time.Location, now time.Time) (runs []DigestRun) {
	today := now.In(zone)
	for _, back := range []int{0, 1} {
		y, m, d := time.Date(today.Year(), today.Month(), today.Day()-back, 12, 0, 0, 0, time.UTC).Date()
		at, ok := digestMoment(y, m, d, g.Hour, zone)
		if ok && !now.Before(at) && now.Before(at.Add(digestLate)) {
			runs = append(runs, DigestRun{g, fmt.Sprintf("%04d-%02d-%02d", y, m, d)})
		}
	}
	return runs
}

// digestMoment is the first instant of a day at which a clock on the wall shows the
// hour or, where it skips that, a later one; where it skips the rest of the day, the
// last quarter before. A day that a zone left out has none. It asks instants one by
// one, so that no change of clocks needs a rule of its own.
func digestMoment(y int, m time.Month, d, hour int, zone *time.Location) (at time.Time, ok bool) {
	t := time.Date(y, m, d, hour, 0, 0, 0, zone).Add(-digestLook).Truncate(quarter)
	for range 2 * int(digestLook/quarter) {
		w := t.In(zone)
		if wy, wm, wd := w.Date(); wy == y && wm == m && wd == d {
			at, ok = t, true
			if w.Hour() >= hour {
				break
			}
		}
		t = t.Add(quarter)
	}
	return at, ok
}

// Digest makes a chunk of digests, which are written down before anything is sent,
// and sends them. It may run again: a fan has one a day, whatever happens, and its
// mail the same Message-ID.
func (p *Pipeline) Digest(ctx context.Context, a notifier.DigestArgs) error {
	digests, err := p.cfg.Outbox.MakeDigests(ctx, a)
	if err != nil {
		return fmt.Errorf("make digests: %w", err)
	}
	if len(digests) == 0 {
		return nil
	}
	return p.send(ctx, notifier.Bulk, notifier.Email, a.Again, Batch{Digests: digests})
}
