package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fanline/waitlist"
)

// seatCost is what one freed seat took, exactly.
type seatCost struct {
	statements int // that ran, the transactions' begin and commit among them; not their preparing, once a session
	read       int // rows that they looked at, those among them that they then passed over
	written    int // versions of rows made, and rows deleted
	bytes      int // of those rows, their locks, their index entries and their commits
	upkeep     int // bytes of what pages and sequences asked for meanwhile, beside those
	apart      []entry
	entries    map[entry]int // bytes of those that found room on their page
}

// entry is a row's entry in an index: the nth that the seat made there.
type entry struct {
	index string
	nth   int
}

// seatCosts are those of the seats of one line.
type seatCosts []seatCost

// seatFigures are what is reported of them.
var seatFigures = []struct {
	name, unit string
	of         func(*seatCost) int
}{
	{"statements", "statements", func(c *seatCost) int { return c.statements }},
	{"rows_read", "rows", func(c *seatCost) int { return c.read }},
	{"rows_written", "rows", func(c *seatCost) int { return c.written }},
	{"bytes", "bytes", func(c *seatCost) int { return c.bytes }},
}

// upkeep is that of all of them.
func (cs seatCosts) upkeep() float64 {
	return sum(cs.figures(func(c *seatCost) int { return c.upkeep }))
}

func (cs seatCosts) figures(of func(*seatCost) int) []float64 {
	fs := make([]float64, len(cs))
	for i := range cs {
		fs[i] = float64(of(&cs[i]))
	}
	return fs
}

// settle adds the entries that came onto a new page: the log has them among all that moved there, so that each counts as it
// does in the line's other seats.
func (cs seatCosts) settle() error {
	usual := map[entry]int{}
	for i := range cs {
		for e, bytes := range cs[i].entries {
			usual[e] = bytes
		}
	}
	for i := range cs {
		for _, e := range cs[i].apart {
			bytes, ok := usual[e]
			if !ok {
				return fmt.Errorf("no seat tells how long an entry of %s is", e.index)
			}
			cs[i].bytes += bytes
		}
	}
	return nil
}

// seatCounter counts what seats take. What the server does by the clock is held still meanwhile.
type seatCounter struct {
	*bench
	line *line
	log  *sqlLog
}

func (b *bench) openCounter(ctx context.Context) (c *seatCounter, err error) {
	c = &seatCounter{bench: b}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close(ctx))
		}
	}()
	for _, x := range []string{"pg_walinspect", "pageinspect"} {
		if _, err := b.db.Exec(ctx, "CREATE EXTENSION "+x); err != nil {
			return c, fmt.Errorf("count what a seat takes (the server's contrib modules are needed): %w", err)
		}
	}
	if err := b.still(ctx); err != nil {
		return c, err
	}
	if c.log, err = b.logStatements(ctx, "session_preload_libraries = auto_explain", "auto_explain.log_min_duration = 0",
		"auto_explain.log_analyze = on", "auto_explain.log_timing = off", "auto_explain.log_nested_statements = on",
		"auto_explain.log_format = json"); err != nil {
		return c, err
	}
	c.line, err = b.openLine(ctx, false)
	return c, err
}

func (c *seatCounter) close(ctx context.Context) error {
	if c.line != nil {
		c.line.close()
	}
	_, err := c.db.Exec(ctx, `ALTER SYSTEM RESET autovacuum`)
	for _, also := range []string{`ALTER SYSTEM RESET checkpoint_timeout`, `SELECT pg_reload_conf()`} {
		_, e := c.db.Exec(ctx, also)
		err = errors.Join(err, e)
	}
	return errors.Join(err, c.logNothing(ctx))
}

// still has the server neither vacuum nor analyse, which makes it plan anew, nor write checkpoints, after which the first
// change of each page is logged otherwise.
func (b *bench) still(ctx context.Context) error {
	for _, sql := range []string{
		`ALTER SYSTEM SET autovacuum = off`, `ALTER SYSTEM SET checkpoint_timeout = '1d'`, `SELECT pg_reload_conf()`,
	} {
		if _, err := b.db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	for busy := true; busy; {
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		if err := b.db.QueryRow(ctx, `SELECT current_setting('autovacuum')::bool OR EXISTS (
			SELECT FROM pg_stat_activity WHERE backend_type = 'autovacuum worker')`).Scan(&busy); err != nil {
			return err
		}
	}
	_, err := b.db.Exec(ctx, `CHECKPOINT`)
	return err
}

// seatsApart is between seats. The insert of a job wakes its queue's workers, but at most once in ten milliseconds.
const seatsApart = 30 * time.Millisecond

// seat frees one and counts what its report and its decision took. It is cancelled after it, so that the next finds the line
// as this one did.
func (c *seatCounter) seat(ctx context.Context, line bigLine, id string) (cost seatCost, err error) {
	if err := pause(ctx, seatsApart); err != nil {
		return cost, err
	}
	if _, err := c.log.text(); err != nil {
		return cost, err
	}
	from, err := c.logged(ctx)
	if err != nil {
		return cost, err
	}
	o, err := c.free(ctx, line, id)
	if err != nil {
		return cost, err
	}
	to, err := c.logged(ctx)
	if err != nil {
		return cost, err
	}
	text, err := c.log.text()
	if err != nil {
		return cost, err
	}
	sessions, err := c.sessions(ctx)
	if err != nil {
		return cost, err
	}
	if cost.statements, cost.read, err = ran(text, sessions); err != nil {
		return cost, err
	}
	changes, err := c.changes(ctx, from, to, o)
	if err == nil {
		err = cost.add(changes)
	}
	if err != nil {
		return cost, err
	}
	if err := c.line.CancelOpening(ctx, waitlist.OpeningRef{ShowID: line.show, OpeningID: id}); err != nil {
		return cost, err
	}
	_, err = c.line.store.DecideShow(ctx, line.no)
	return cost, err
}

// free reports a seat and decides, and returns the opening's number.
func (c *seatCounter) free(ctx context.Context, line bigLine, id string) (int64, error) {
	o, _, err := c.line.Record(ctx, line.show, waitlist.NewOpening{ID: id, Quantity: 1, Reason: "returned"})
	if err != nil {
		return 0, err
	}
	made, err := c.line.store.DecideShow(ctx, line.no)
	if err == nil && (made == nil || len(made.Waves) != 1 || len(made.Waves[0].Fans) != 1) {
		err = errors.New("it did not go to one fan")
	}
	return o.No, err
}

// sessions are the numbers of the program's sessions in this database: those of the pool that decided.
func (c *seatCounter) sessions(ctx context.Context) (map[string]bool, error) {
	var pids []string
	if err := c.db.QueryRow(ctx, `
		SELECT array_agg(pid::text) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'fanline'`).Scan(&pids); err != nil {
		return nil, err
	}
	of := map[string]bool{}
	for _, pid := range pids {
		of[pid] = true
	}
	return of, nil
}
