package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"fanline/sim"
)

// announceBench announces to the largest line, which has a twin of the same size that nobody announces to.
type announceBench struct {
	*bench
	i          *instance
	c          *caller
	app        *sim.App
	told, twin bigLine
	order      []int // fans, each asked once: nothing is answered from a cache
}

// announce measures what one announcement to the largest line writes, a fan's inbox with it against one without, and an
// announcement there against one in a line of 40.
func announce(ctx context.Context, b *bench) error {
	a := &announceBench{bench: b, told: b.of(b.largest)}
	if err := a.prepareTwin(ctx); err != nil {
		return err
	}
	a.order = rand.Perm(a.told.size)
	var err error
	if a.i, err = b.serve(ctx); err != nil {
		return err
	}
	if a.c, err = dialCaller(ctx, a.i.url); err != nil {
		return err
	}
	defer a.c.conn.Close()
	a.app = sim.NewApp([]string{a.i.url}, apiKey)
	without, err := a.inboxes("pairs without it", b.times(600))
	if err != nil {
		return err
	}
	if err := a.once(ctx); err != nil {
		return err
	}
	with, err := a.inboxes("pairs with it", b.times(600))
	if err != nil {
		return err
	}
	was := without.summary()
	b.report(compare("announce.inbox", "ms", "the same in a line without the announcement", with, fmt.Sprintf(
		"line of %s; before the announcement the two were %.2f apart (%.2f to %.2f)", figure(float64(a.told.size)), was.ratio, was.low, was.high)))
	return a.repeat(ctx)
}

func (a *announceBench) prepareTwin(ctx context.Context) error {
	l, err := a.openLine(ctx, false)
	if err != nil {
		return err
	}
	defer l.close()
	a.twin = bigLine{show: "twin", size: a.told.size}
	if a.twin.no, err = l.put(ctx, a.twin.show, `{}`); err != nil {
		return err
	}
	a.progress.step()
	if err := a.fillBig(ctx, a.twin); err != nil {
		return fmt.Errorf("fill the twin: %w", err)
	}
	return a.settle(ctx, l)
}

// inboxes reads the inboxes of fans anywhere in the line and in its twin.
func (a *announceBench) inboxes(what string, n int) (*pairs, error) {
	const warm = 20
	var p pairs
	a.progress.step()
	for i := range n + warm {
		a.progress.at(what, i, n+warm)
		fan := a.order[0]
		a.order = a.order[1:]
		read := func(l bigLine) func() error {
			token := sim.Token(fanSecret, l.fan(fan), time.Hour)
			return func() error { return a.c.get("/v1/me/inbox", token) }
		}
		ms, err := inTurn(i, read(a.told), read(a.twin))
		if err != nil {
			return nil, err
		}
		if i >= warm {
			p.add(ms[0], ms[1])
		}
	}
	a.progress.at(what, n+warm, n+warm)
	return &p, nil
}

// written are the rows that announcements made, by table.
type written struct{ announcements, inbox, events, jobs int }

func (a *announceBench) written(ctx context.Context) (w written, err error) {
	err = a.db.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM announcements), (SELECT count(*) FROM inbox),
			(SELECT count(*) FROM events WHERE type = 'announcement.sent'), (SELECT count(*) FROM river_job)`).
		Scan(&w.announcements, &w.inbox, &w.events, &w.jobs)
	return w, err
}

// once announces and counts what was written.
func (a *announceBench) once(ctx context.Context) error {
	var c cost
	var made sim.Announcement
	if err := a.during(ctx, &c, 1, func() (err error) {
		made, err = a.app.Announce(ctx, a.told.show, sim.Announce{Title: "Doors at eight", Body: "The support act is on at half past."})
		return err
	}); err != nil {
		return err
	}
	w, err := a.written(ctx)
	if err != nil {
		return err
	}
	unread, err := sim.NewMe([]string{a.i.url}, sim.Token(fanSecret, a.told.fan(a.told.size-1), time.Hour)).Unread(ctx)
	if err == nil && (made.Strategy != "read" || unread != 1) {
		err = fmt.Errorf("strategy %s, and the last fan has %d unread items", made.Strategy, unread)
	}
	rows := float64(w.announcements + w.inbox)
	a.report(result{
		"announce.rows", "rows", rows, 1, "one row in all", rows, rows, rows,
		fmt.Sprintf("counted: %d announcement, %d inbox rows, %d event, %d jobs for a line of %s, whose last fan has it; %d bytes of WAL in that time, of all that the server did",
			w.announcements, w.inbox, w.events, w.jobs, figure(float64(a.told.size)), c.wal),
	})
	return err
}

// repeat times announcements to the twin and to a short line, both by strategy read.
func (a *announceBench) repeat(ctx context.Context) error {
	small := a.bench.of(40)
	read := "read"
	if _, err := a.app.PutShow(ctx, small.show, sim.PutShow{Policy: &sim.Policy{Strategy: &read}}); err != nil {
		return err
	}
	n := a.times(300)
	var p pairs
	a.progress.step()
	for i := range n {
		a.progress.at("announcements", i, n)
		to := func(l bigLine) func() error {
			return func() error {
				_, err := a.c.post("/v1/shows/"+l.show+"/announcements", sim.Announce{Title: "News", Body: "More of them."})
				return err
			}
		}
		ms, err := inTurn(i, to(a.twin), to(small))
		if err != nil {
			return err
		}
		p.add(ms[0], ms[1])
	}
	a.progress.at("announcements", n, n)
	w, err := a.written(ctx)
	if err == nil && (w.inbox != 0 || w.announcements != 2*n+1) {
		err = fmt.Errorf("%d announcements wrote %d rows and %d inbox rows", 2*n+1, w.announcements, w.inbox)
	}
	a.report(compare("announce.call", "ms", "the same in a line of 40", &p, fmt.Sprintf(
		"from the call to its 202, line of %s; %d announcements were %d rows and no inbox rows", figure(float64(a.twin.size)), 2*n+1, w.announcements)))
	return err
}
