package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// bigLine is a show with a line that was there before the benchmark began. Its fans are fanID(show, 0), who is first, and
// so on; all have a party of 1, no tier and places from 1 without a gap.
type bigLine struct {
	show string
	no   int32 // the show's number
	size int
}

// fan is the id of the i-th in the line, from 0.
func (l bigLine) fan(i int) string { return fanID(l.show, i) }

// linesDatabase is the template of the databases of benchmarks that want lines.
const linesDatabase = "bench_lines"

// lineSizes are those of the lines that stand ready, the largest last.
func (r *rig) lineSizes() []int { return []int{40, 1000, 40_000, r.largest} }

// of is the line of a size, which must be one of lineSizes.
func (b *bench) of(size int) bigLine {
	for _, l := range b.lines {
		if l.size == size {
			return l
		}
	}
	panic(fmt.Sprintf("no line of %d stands ready", size))
}

// readyLines makes the template once a run: filling two million takes half a minute, a copy of it seconds.
func (r *rig) readyLines(ctx context.Context) error {
	if r.lines != nil {
		return nil
	}
	b := &bench{rig: r, progress: newProgress("lines")}
	if err := b.prepare(ctx, linesDatabase, "template1"); err != nil {
		return err
	}
	err := b.fillLines(ctx)
	b.db.Close()
	if closed := b.rdb.Close(); err == nil {
		err = closed
	}
	return err
}

func (b *bench) fillLines(ctx context.Context) error {
	l, err := b.openLine(ctx, false)
	if err != nil {
		return err
	}
	defer l.close()
	var made []bigLine
	for _, size := range b.lineSizes() {
		line := bigLine{show: fmt.Sprintf("line-%d", size), size: size}
		if line.no, err = l.put(ctx, line.show, `{}`); err != nil {
			return err
		}
		b.progress.step()
		if err := b.fillBig(ctx, line); err != nil {
			return fmt.Errorf("fill the line of %d: %w", size, err)
		}
		made = append(made, line)
	}
	if err := b.settle(ctx, l); err != nil {
		return err
	}
	b.rig.lines = made
	return nil
}

// fillStep is how many entries a statement makes.
const fillStep = 100_000

// fillBig leaves behind what joins in batches of 1,000 do: fans, entries, their counts by the trigger, the line's head, and
// an event a batch.
func (b *bench) fillBig(ctx context.Context, l bigLine) error {
	for from := 1; from <= l.size; from += fillStep {
		to := min(l.size, from+fillStep-1)
		if err := pgx.BeginFunc(ctx, b.db, func(tx pgx.Tx) error { return fillPart(ctx, tx, l, from, to) }); err != nil {
			return err
		}
		b.progress.at("of the line of "+figure(float64(l.size)), to, l.size)
	}
	return nil
}

func fillPart(ctx context.Context, tx pgx.Tx, l bigLine, from, to int) error {
	if _, err := tx.Exec(ctx, `
		WITH made AS (
			INSERT INTO fans (fan_id) SELECT $1::text || '-' || (i - 1) FROM generate_series($3::bigint, $4) i ORDER BY i
			RETURNING fan_no, fan_id)
		INSERT INTO entries (show_no, eno, fan_no, place, tier, party, joined_at, joined_decision)
		SELECT $2, i, fan_no, i, '', 1, date_trunc('milliseconds', now()), 0
		FROM (SELECT fan_no, 1 + substr(fan_id, length($1) + 2)::bigint AS i FROM made) m ORDER BY i`,
		l.show, l.no, from, to); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `
		INSERT INTO events (at, type, show_no, data)
		SELECT now(), 'entry.joined', show_no,
			jsonb_build_object('fans', jsonb_agg(fan_no ORDER BY eno), 'entries', jsonb_agg(eno ORDER BY eno))
		FROM entries WHERE show_no = $1 AND eno BETWEEN $2 AND $3 GROUP BY show_no, (eno - 1) / 1000
		ORDER BY (eno - 1) / 1000`, l.no, from, to); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE lines SET next_eno = $2 + 1, next_place = $2 + 1 WHERE show_no = $1`, l.no, to)
	return err
}

// settle does what the product and the server do in the minute after: counts are folded, and tables vacuumed and analysed.
// Otherwise that would happen in the middle of some measurement.
func (b *bench) settle(ctx context.Context, l *line) error {
	for left := true; left; {
		if err := l.store.FoldPositions(ctx); err != nil {
			return err
		}
		if err := b.db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM line_deltas)`).Scan(&left); err != nil {
			return err
		}
	}
	_, err := b.db.Exec(ctx, `VACUUM (FREEZE, ANALYZE)`)
	return err
}
