package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fanline/sim"
)

// flatBench measures a freed seat, by strategy read, in lines of 40, 40,000 and two million.
type flatBench struct {
	*bench
	lines []bigLine // the smallest first
}

func flat(ctx context.Context, b *bench) error {
	f := &flatBench{bench: b, lines: []bigLine{b.of(40), b.of(40_000), b.of(b.largest)}}
	if err := f.byRead(ctx); err != nil {
		return err
	}
	if err := f.counts(ctx); err != nil {
		return err
	}
	return f.frames(ctx)
}

// byRead sets the policy of the lines' shows.
func (f *flatBench) byRead(ctx context.Context) error {
	l, err := f.openLine(ctx, false)
	if err != nil {
		return err
	}
	defer l.close()
	for _, line := range f.lines {
		if _, err := l.put(ctx, line.show, `{"release_per_s": 10000, "strategy": "read"}`); err != nil {
			return err
		}
	}
	return nil
}

// flatSeats are freed in each line to be counted, after warmSeats: those have the sessions prepare and plan their statements.
const (
	flatSeats = 30
	warmSeats = 3
)

// counts compares what the report of a seat and its decision take, at the store's call, where nothing else runs: the same
// seat in each line in turn, by the same sessions.
func (f *flatBench) counts(ctx context.Context) (err error) {
	c, err := f.openCounter(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	costs := make([]seatCosts, len(f.lines))
	f.progress.step()
	for i := range warmSeats + flatSeats {
		f.progress.at("counted seats", i, warmSeats+flatSeats)
		for k, line := range f.lines {
			one, err := c.seat(ctx, line, fmt.Sprintf("seat-%03d", i))
			if err != nil {
				return fmt.Errorf("a seat of the line of %d: %w", line.size, err)
			}
			if i >= warmSeats {
				costs[k] = append(costs[k], one)
			}
		}
	}
	f.progress.at("counted seats", warmSeats+flatSeats, warmSeats+flatSeats)
	return f.concludeCounts(costs)
}

func (f *flatBench) concludeCounts(costs []seatCosts) error {
	for _, c := range costs {
		if err := c.settle(); err != nil {
			return err
		}
	}
	for k := 1; k < len(f.lines); k++ {
		name := fmt.Sprintf("flat.%d.", f.lines[k].size)
		beside := map[string]string{"bytes": fmt.Sprintf("; upkeep of pages, not counted: %s bytes in all of these seats, in the line of 40 %s",
			figure(costs[k].upkeep()), figure(costs[0].upkeep()))}
		for _, of := range seatFigures {
			f.exactly(name+of.name, of.unit, costs[k].figures(of.of), costs[0].figures(of.of), beside[of.name])
		}
	}
	return nil
}

// exactly reports counts of the same seats in two lines.
func (f *flatBench) exactly(name, unit string, ours, floor []float64, beside string) {
	equal := 0
	for i := range ours {
		if ours[i] == floor[i] {
			equal++
		}
	}
	f.report(compare(name, unit, "in a line of 40", &pairs{ours, floor}, fmt.Sprintf("exactly equal in %d of %d%s", equal, len(ours), beside)))
}

// frames compares the time from the report of a seat until the frame of the line's first fan, who is connected. The opening
// is cancelled after it, so that the next seat is the same fan's.
func (f *flatBench) frames(ctx context.Context) error {
	i, err := f.serve(ctx)
	if err != nil {
		return err
	}
	app := sim.NewApp([]string{i.url}, apiKey)
	defer app.Close()
	firsts := make([]*crowd, len(f.lines))
	for i, line := range f.lines {
		if firsts[i], err = connect(ctx, f.running[0].url, line.show, 1); err != nil {
			return err
		}
		defer firsts[i].close()
	}
	const warm = 10
	n := f.times(300) + warm
	for k := 1; k < len(f.lines); k++ {
		var p pairs
		f.progress.step()
		for i := range n {
			f.progress.at("seats of the line of "+figure(float64(f.lines[k].size)), i, n)
			id := fmt.Sprintf("frame-%d-%d", k, i)
			var ms [2]float64
			for turn := range 2 {
				which := (turn + i) % 2 // 0: ours
				at := [2]int{k, 0}[which]
				if ms[which], err = f.frame(ctx, app, firsts[at], f.lines[at].show, id); err != nil {
					return err
				}
			}
			if i >= warm {
				p.add(ms[0], ms[1])
			}
		}
		f.progress.at("seats of the line of "+figure(float64(f.lines[k].size)), n, n)
		f.report(compare(fmt.Sprintf("flat.%d.frame", f.lines[k].size), "ms", "in a line of 40", &p, fmt.Sprintf(
			"p99 %.1f ms, in the line of 40 %.1f ms", quantile(p.ours, 0.99), quantile(p.floor, 0.99))))
	}
	return nil
}

func (f *flatBench) frame(ctx context.Context, app *sim.App, fan *crowd, show, opening string) (ms float64, err error) {
	start := time.Now()
	if _, err := app.Free(ctx, show, opening, sim.Free{Quantity: 1, Reason: "returned"}); err != nil {
		return 0, err
	}
	a, err := fan.of(ctx, "turn", opening)
	if err != nil {
		return 0, err
	}
	if err := app.CancelOpening(ctx, show, opening); err != nil {
		return 0, err
	}
	_, err = fan.of(ctx, "result", opening)
	return millis(a.item.At.Sub(start)), err
}

// of waits for an item of a kind about an opening.
func (c *crowd) of(ctx context.Context, kind, opening string) (arrival, error) {
	for {
		a, err := c.next(ctx, 10*time.Second)
		if err != nil || a.item.Kind == kind && a.item.OpeningID == opening {
			return a, err
		}
	}
}
