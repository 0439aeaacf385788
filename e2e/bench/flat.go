package main

import (
	"context"
	"fmt"
	"time"

	"fanline/sim"
	"fanline/waitlist"
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

// flatSeats are freed in each line to be counted.
const flatSeats = 30

// seatCost is what one freed seat took, exactly.
type seatCost struct{ statements, written, bytes []float64 }

// counts compares what the report of a seat and its decision take, at the store's call, where nothing else runs. Rows read
// are the sum over the seats; the server knows them once the sessions have ended.
func (f *flatBench) counts(ctx context.Context) error {
	if _, err := f.db.Exec(ctx, `CREATE EXTENSION pg_walinspect`); err != nil {
		return fmt.Errorf("count bytes (the server's contrib modules are needed): %w", err)
	}
	costs := make([]seatCost, len(f.lines))
	reads := make([]float64, len(f.lines))
	for i, line := range f.lines {
		before, err := f.rowsRead(ctx)
		if err != nil {
			return err
		}
		if costs[i], err = f.countSeats(ctx, line); err != nil {
			return err
		}
		after, err := f.rowsRead(ctx)
		if err != nil {
			return err
		}
		reads[i] = after - before
	}
	for i := 1; i < len(f.lines); i++ {
		name := fmt.Sprintf("flat.%d", f.lines[i].size)
		f.exactly(name+".statements", "statements", costs[i].statements, costs[0].statements)
		f.exactly(name+".rows_written", "rows", costs[i].written, costs[0].written)
		f.exactly(name+".bytes", "bytes", costs[i].bytes, costs[0].bytes)
		f.exactly(name+".rows_read", "rows", reads[i:i+1], reads[:1])
	}
	return nil
}

// exactly reports counts of the same seats in two lines.
func (f *flatBench) exactly(name, unit string, ours, floor []float64) {
	p := pairs{ours, floor}
	equal := 0
	for i := range ours {
		if ours[i] == floor[i] {
			equal++
		}
	}
	f.report(compare(name, unit, "in a line of 40", &p, fmt.Sprintf("exactly equal in %d of %d", equal, len(ours))))
}

func (f *flatBench) countSeats(ctx context.Context, line bigLine) (c seatCost, err error) {
	log, err := f.logStatements(ctx)
	if err != nil {
		return c, err
	}
	l, err := f.openLine(ctx, false)
	if err != nil {
		return c, err
	}
	defer l.close()
	for i := -2; i < flatSeats; i++ { // two to warm up
		if err := f.countSeat(ctx, l, log, line, i, &c); err != nil {
			return c, err
		}
		if i < 0 {
			c = seatCost{}
		}
	}
	return c, f.logNothing(ctx)
}

func (f *flatBench) countSeat(ctx context.Context, l *line, log *sqlLog, line bigLine, i int, c *seatCost) error {
	if _, err := log.read(); err != nil {
		return err
	}
	from, err := f.written(ctx)
	if err != nil {
		return err
	}
	ref := waitlist.OpeningRef{ShowID: line.show, OpeningID: fmt.Sprintf("seat-%03d", i+100)}
	if _, _, err := l.Record(ctx, line.show, waitlist.NewOpening{ID: ref.OpeningID, Quantity: 1, Reason: "returned"}); err != nil {
		return err
	}
	made, err := l.store.DecideShow(ctx, line.no)
	if err != nil {
		return err
	}
	if made == nil || len(made.Waves) != 1 || len(made.Waves[0].Fans) != 1 {
		return fmt.Errorf("the seat did not go to one fan of the line of %d", line.size)
	}
	to, err := f.written(ctx)
	if err != nil {
		return err
	}
	ss, err := log.read()
	if err != nil {
		return err
	}
	c.statements = append(c.statements, float64(len(ss)-2)) // less those of written
	var rows, bytes float64
	if err := f.db.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE resource_manager = 'Heap' AND record_type !~ 'LOCK'),
			coalesce(sum(record_length - fpi_length) FILTER (WHERE resource_manager IN ('Heap', 'Btree', 'Transaction')), 0)
		FROM pg_get_wal_records_info($1::pg_lsn, $2::pg_lsn)`, from, to).Scan(&rows, &bytes); err != nil {
		return err
	}
	c.written, c.bytes = append(c.written, rows), append(c.bytes, bytes)
	// The next seat finds the line as this one did.
	if err := l.CancelOpening(ctx, ref); err != nil {
		return err
	}
	_, err = l.store.DecideShow(ctx, line.no)
	return err
}

// written is where the write-ahead log ends on disk. Images of whole pages, which the first change after a checkpoint adds,
// are not counted from it: they come by the clock.
func (b *bench) written(ctx context.Context) (lsn string, err error) {
	err = b.db.QueryRow(ctx, `SELECT pg_current_wal_flush_lsn()::text`).Scan(&lsn)
	return lsn, err
}

// rowsRead is how many rows the program's sessions have read in this database, when they have ended: those found by indexes,
// and the entries of the line's own indexes. Elsewhere the entries of rows that are gone come and go by the clock.
func (b *bench) rowsRead(ctx context.Context) (n float64, err error) {
	for others := 1; others > 0; {
		if err := b.db.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'fanline'`).Scan(&others); err != nil {
			return 0, err
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return 0, err
		}
	}
	err = b.db.QueryRow(ctx, `
		SELECT (SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables)
			+ (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname IN ('entries', 'line_blocks', 'line_sums'))`).Scan(&n)
	return n, err
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
