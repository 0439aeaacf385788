package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// waveSizes are the fans of a decision's wave, with how many pairs a full run takes.
var waveSizes = []struct{ fans, pairs int }{{2_000, 100}, {10_000, 40}, {20_000, 20}}

// waveBench measures decisions of one large wave each. Nothing else decides.
type waveBench struct {
	*bench
	line  *line
	log   *sqlLog
	shows int
	own   bool // each show has fans of its own, not the same as the others
}

func waveWrite(ctx context.Context, b *bench) (err error) {
	w := &waveBench{bench: b}
	if w.log, err = b.logStatements(ctx); err != nil {
		return err
	}
	if w.line, err = b.openLine(ctx, false); err != nil {
		return err
	}
	defer w.line.close()
	if _, err := b.db.Exec(ctx, `CREATE TABLE bench_inbox (LIKE inbox INCLUDING ALL)`); err != nil {
		return err
	}
	total := 0
	for _, s := range waveSizes {
		total += b.times(s.pairs)
	}
	b.progress.step()
	done := 0
	for _, s := range waveSizes {
		f := &waveFigures{size: s.fans, parts: map[string][]float64{}}
		for range b.times(s.pairs) {
			b.progress.at("waves", done, total)
			if err := w.pair(ctx, f); err != nil {
				return err
			}
			done++
		}
		w.conclude(f)
	}
	b.progress.at("waves", done, total)
	return nil
}

// waveFigures are those of one size of wave.
type waveFigures struct {
	size                  int
	rows, decision, reads pairs
	write, read, floor    cost
	parts                 map[string][]float64 // ms by the first words of a statement
	wrote                 string
}

// pair is a decision by strategy write, the same rows by hand, and the same decision by strategy read, each in a show of
// its own with the same fans.
func (w *waveBench) pair(ctx context.Context, f *waveFigures) error {
	opening, ms, ss, err := w.decide(ctx, f.size, waitlist.Write, &f.write)
	if err != nil {
		return err
	}
	inbox, err := took(ss, "INSERT INTO inbox")
	if err != nil {
		return err
	}
	parts := map[string]float64{}
	for _, s := range ss {
		parts[s.words] += s.ms
	}
	for words, ms := range parts {
		f.parts[words] = append(f.parts[words], ms)
	}
	byHand, whole, err := w.byHand(ctx, opening, &f.floor, f.size)
	if err != nil {
		return err
	}
	_, read, _, err := w.decide(ctx, f.size, waitlist.Read, &f.read)
	if err != nil {
		return err
	}
	f.rows.add(1000*float64(f.size)/inbox, 1000*float64(f.size)/byHand)
	f.decision.add(ms, whole)
	f.reads.add(read, ms)
	if f.wrote == "" {
		f.wrote, err = w.wrote(ctx, opening)
	}
	return err
}

// decide makes a line and an opening for all of it, and times the decision.
func (w *waveBench) decide(ctx context.Context, size int, by waitlist.Strategy, c *cost) (opening int64, ms float64, ss []statement, err error) {
	w.shows++
	show, fans := w.show(), "fan"
	if w.own {
		fans = show
	}
	no, err := w.line.put(ctx, show, fmt.Sprintf(`{"release_per_s": 10000, "strategy": %q}`, by))
	if err != nil {
		return 0, 0, nil, err
	}
	if err := w.line.fill(ctx, show, fans, size); err != nil {
		return 0, 0, nil, err
	}
	o, _, err := w.line.Record(ctx, show, waitlist.NewOpening{ID: "o", Quantity: size, Reason: "new_inventory"})
	if err != nil {
		return 0, 0, nil, err
	}
	if _, err := w.log.read(); err != nil {
		return 0, 0, nil, err
	}
	var made *waitlist.Decided
	err = w.during(ctx, c, size, func() error {
		start := time.Now()
		made, err = w.line.store.DecideShow(ctx, no)
		ms = millis(time.Since(start))
		return err
	})
	if err == nil && (made == nil || len(made.Waves) != 1 || len(made.Waves[0].Fans) != size) {
		err = fmt.Errorf("the decision did not take the %d fans into one wave", size)
	}
	if err != nil {
		return 0, 0, nil, err
	}
	ss, err = w.log.read()
	return o.No, ms, ss, err
}

// show is the one that decide made last.
func (w *waveBench) show() string { return fmt.Sprintf("show-%d", w.shows) }

// byHand writes the same inbox rows into a table with the same indexes, in a transaction of its own. It returns the
// milliseconds of the statement and of the whole.
func (w *waveBench) byHand(ctx context.Context, opening int64, c *cost, size int) (ms, whole float64, err error) {
	err = w.during(ctx, c, size, func() error {
		start := time.Now()
		err := pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `
				INSERT INTO bench_inbox (fan_no, kind, ref, visible_at, show_no, eno, n, k, seats)
				SELECT t.fan, 'turn', w.opening_no, w.opens_at + t.k::bigint * 1000000 / w.rate * interval '1 millisecond',
					w.show_no, t.eno, w.n, t.k, t.party
				FROM waves w JOIN wave_members m USING (opening_no, n)
				CROSS JOIN LATERAL unnest(m.enos, m.fans, m.ks, m.parties) AS t (eno, fan, k, party)
				WHERE w.opening_no = $1`, opening)
			return err
		})
		whole = millis(time.Since(start))
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	ss, err := w.log.read()
	if err != nil {
		return 0, 0, err
	}
	ms, err = took(ss, "INSERT INTO bench_inbox")
	return ms, whole, err
}

// wrote counts the rows of a decision by table.
func (w *waveBench) wrote(ctx context.Context, opening int64) (string, error) {
	var s string
	err := w.db.QueryRow(ctx, `
		SELECT format('%s inbox rows, %s wave, %s wave_members, %s marks, %s event(s), %s due',
			(SELECT count(*) FROM inbox WHERE ref = $1), (SELECT count(*) FROM waves WHERE opening_no = $1),
			(SELECT count(*) FROM wave_members WHERE opening_no = $1), (SELECT count(*) FROM marks WHERE opening_no = $1),
			(SELECT count(*) FROM events WHERE opening_no = $1 AND type = 'opening.wave'),
			(SELECT count(*) FROM due d JOIN openings o USING (show_no) WHERE o.opening_no = $1))`, opening).Scan(&s)
	return s, err
}

func (w *waveBench) conclude(f *waveFigures) {
	name := fmt.Sprintf("wave_write.%d", f.size)
	w.report(compare(name, "rows/s", "the same INSERT by hand", &f.rows, fmt.Sprintf(
		"inbox rows by the time of their statement in the server's log; %s", &f.write)))
	w.report(compare(name+".decision", "ms", "that INSERT and a commit", &f.decision, fmt.Sprintf(
		"it wrote %s; most of its time: %s; by hand %s", f.wrote, f.longest(5), &f.floor)))
	w.report(compare(fmt.Sprintf("wave_read.%d.decision", f.size), "ms", "the same by strategy write", &f.reads, f.read.String()))
}

// longest names the statements that took most of the decision, by their median.
func (f *waveFigures) longest(n int) string {
	type part struct {
		words string
		ms    float64
	}
	var ps []part
	for words, ms := range f.parts {
		ps = append(ps, part{words, median(ms)})
	}
	slices.SortFunc(ps, func(a, b part) int { return int(1e6 * (b.ms - a.ms)) })
	var said []string
	for _, p := range ps[:min(n, len(ps))] {
		said = append(said, fmt.Sprintf("%s %.1f ms", p.words, p.ms))
	}
	return strings.Join(said, ", ")
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
