package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"fanline/store"
	"fanline/waitlist"
)

// line is the product's own code on this database, without HTTP: what "at the store's call" means.
type line struct {
	*waitlist.Service
	store *store.Store
	clock *waitlist.Clock
}

// openLine opens it. With deciding it runs the deadline clock, as every instance does; without, nothing is decided but by
// a call of DecideShow.
func (b *bench) openLine(ctx context.Context, deciding bool) (*line, error) {
	log := slog.New(slog.DiscardHandler)
	st, err := store.Open(ctx, store.Config{URL: b.url, Log: log})
	if err != nil {
		return nil, err
	}
	l := &line{store: st, clock: waitlist.NewClock(st, log, func(*waitlist.Decided) {})}
	l.Service = waitlist.NewService(st, l.clock, func(...int64) {})
	if deciding {
		l.clock.Start()
	}
	return l, nil
}

func (l *line) close() {
	l.Service.Close()
	l.clock.Stop()
	l.store.Close()
}

// put makes a show with a policy in JSON and returns its number.
func (l *line) put(ctx context.Context, id, policy string) (int32, error) {
	var c waitlist.ShowChange
	if err := json.Unmarshal(fmt.Appendf(nil,
		`{"name": "Bench", "venue": "The Locksmith", "starts_at": "2099-01-01T20:00:00Z", "policy": %s}`, policy), &c); err != nil {
		return 0, err
	}
	show, _, err := l.PutShow(ctx, id, c)
	return show.No, err
}

// fill puts n fans, named prefix-0 and so on, in a show's line.
func (l *line) fill(ctx context.Context, show, prefix string, n int) error {
	for from := 0; from < n; from += 1000 {
		batch := make([]waitlist.Join, min(1000, n-from))
		for i := range batch {
			batch[i] = waitlist.Join{FanID: fanID(prefix, from+i), Party: 1}
		}
		joined, err := l.JoinMany(ctx, show, batch)
		if err != nil {
			return err
		}
		for _, j := range joined {
			if j.Err != nil {
				return j.Err
			}
		}
	}
	return nil
}

func fanID(prefix string, n int) string { return fmt.Sprintf("%s-%d", prefix, n) }
