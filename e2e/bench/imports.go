package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
)

// importBench measures imports of fans who are new, each into a show of its own, beside the same rows by hand.
type importBench struct {
	*bench
	base string
	hand *pgx.Conn
	size int
}

func imports(ctx context.Context, b *bench) error {
	i, err := b.serve(ctx)
	if err != nil {
		return err
	}
	m := &importBench{bench: b, base: i.url, size: min(b.largest/20, 100_000)}
	if m.hand, err = pgx.Connect(ctx, b.url); err != nil {
		return err
	}
	defer m.hand.Close(context.WithoutCancel(ctx))
	l, err := b.openLine(ctx, false)
	if err != nil {
		return err
	}
	defer l.close()
	if err := m.prepareHand(ctx); err != nil {
		return err
	}
	n := b.times(20)
	var p pairs
	b.progress.step()
	for i := range n + 1 { // the first warms up
		b.progress.at("imports", i, n+1)
		ours, byHand := fmt.Sprintf("ours-%d", i), fmt.Sprintf("hand-%d", i)
		for _, show := range []string{ours, byHand} {
			if _, err := l.put(ctx, show, `{}`); err != nil {
				return err
			}
		}
		ms, err := inTurn(i, func() error { return m.post(ctx, ours) }, func() error { return m.byHand(ctx, byHand) })
		if err != nil {
			return err
		}
		if i > 0 {
			p.add(1000*float64(m.size)/ms[0], 1000*float64(m.size)/ms[1])
		}
	}
	b.progress.at("imports", n+1, n+1)
	b.report(compare("import", "lines/s", "COPY to a staging table, INSERT ... ON CONFLICT", &p, fmt.Sprintf(
		"%s new fans each, over HTTP as NDJSON; by hand in two statements and one transaction, without order, counts or events",
		figure(float64(m.size)))))
	return nil
}

// post imports over HTTP.
func (m *importBench) post(ctx context.Context, show string) error {
	var lines bytes.Buffer
	for i := range m.size {
		fmt.Fprintf(&lines, "{\"fan_id\":\"%s\"}\n", fanID(show, i))
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", m.base+"/v1/shows/"+show+"/entries:import", &lines)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+apiKey)
	req.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err == nil && !bytes.Contains(said, fmt.Appendf(nil, `"imported":%d,`, m.size)) {
		err = fmt.Errorf("import: %d: %s", resp.StatusCode, said)
	}
	return err
}

// prepareHand makes tables as the product's, with the same indexes and without its trigger.
func (m *importBench) prepareHand(ctx context.Context) error {
	_, err := m.hand.Exec(ctx, `
		CREATE TABLE bench_fans (LIKE fans INCLUDING ALL);
		CREATE TABLE bench_entries (LIKE entries INCLUDING ALL);
		CREATE TEMP TABLE staging (i bigint, fan_id text)`)
	return err
}

// byHand is the least: the lines are copied, new fans and entries inserted.
func (m *importBench) byHand(ctx context.Context, show string) error {
	return pgx.BeginFunc(ctx, m.hand, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `TRUNCATE staging`); err != nil {
			return err
		}
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"staging"}, []string{"i", "fan_id"},
			pgx.CopyFromSlice(m.size, func(i int) ([]any, error) { return []any{int64(i + 1), fanID(show, i)}, nil })); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO bench_fans (fan_id) SELECT fan_id FROM staging ORDER BY i ON CONFLICT DO NOTHING`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO bench_entries (show_no, eno, fan_no, place, tier, party, joined_at, joined_decision)
			SELECT (SELECT show_no FROM shows WHERE show_id = $1), s.i, f.fan_no, s.i, '', 1, now(), 0
			FROM staging s JOIN bench_fans f USING (fan_id) ORDER BY s.i ON CONFLICT DO NOTHING`, show)
		return err
	})
}
