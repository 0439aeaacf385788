package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"fanline/sim"
)

// The pace of the stampede, and how many claim at once.
const (
	stampedeRate    = 1000
	stampedeCallers = 64
)

// stampede frees many seats at once in the largest line, whose fans claim the moment they may.
func stampede(ctx context.Context, b *bench) error {
	i, err := b.serve(ctx, "FANLINE_CLAIMS_PER_S=2000")
	if err != nil {
		return err
	}
	line, seats := b.of(b.largest), b.times(20_000)
	l, err := b.openLine(ctx, false)
	if err != nil {
		return err
	}
	defer l.close()
	if _, err := l.put(ctx, line.show, fmt.Sprintf(`{"release_per_s": %d, "claim_window_s": 120}`, stampedeRate)); err != nil {
		return err
	}
	app := sim.NewApp([]string{i.url}, apiKey)
	defer app.Close()
	if _, err := app.Free(ctx, line.show, "flood", sim.Free{Quantity: seats, Reason: "new_inventory"}); err != nil {
		return err
	}
	if err := b.claimAll(ctx, i.url, line, seats); err != nil {
		return err
	}
	return b.reportStampede(ctx, i, seats)
}

// claimAll claims each turn as it opens, in order. Turns of the line without a gap are those of its fans in order.
func (b *bench) claimAll(ctx context.Context, base string, line bigLine, seats int) error {
	cs, err := dialCallers(ctx, base, stampedeCallers)
	if err != nil {
		return err
	}
	defer cs.close()
	turns := make(chan int, seats)
	errs := make(chan error, len(cs))
	var wg sync.WaitGroup
	for _, c := range cs {
		wg.Go(func() {
			for i := range turns {
				if _, err := c.post("/v1/shows/"+line.show+"/openings/flood/claims", map[string]string{"fan_id": line.fan(i)}); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	err = b.followTurns(ctx, seats, turns, errs)
	close(turns)
	wg.Wait()
	return err
}

// followTurns sends the number of each turn that has opened.
func (b *bench) followTurns(ctx context.Context, seats int, turns chan<- int, errs <-chan error) error {
	b.progress.step()
	deadline := time.Now().Add(time.Duration(seats/stampedeRate)*time.Second + 2*time.Minute)
	for sent := 0; sent < seats; {
		var open int
		if err := b.db.QueryRow(ctx, `
			SELECT coalesce(sum(least(size, greatest(0, 1 + floor(extract(epoch FROM clock_timestamp() - opens_at) * rate / 1000)))), 0)::int
			FROM waves WHERE opens_at <= clock_timestamp()`).Scan(&open); err != nil {
			return err
		}
		for ; sent < min(open, seats); sent++ {
			turns <- sent
		}
		b.progress.at("turns", sent, seats)
		select {
		case err := <-errs:
			return err
		case <-time.After(2 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("only %d of %d turns opened", sent, seats)
		}
	}
	return nil
}

func (b *bench) reportStampede(ctx context.Context, i *instance, seats int) error {
	var most, claims, fans, held int
	if err := b.db.QueryRow(ctx, `
		WITH t AS (SELECT w.opens_at + (k::bigint * 1000000 / w.rate) * interval '1 millisecond' AS opens
			FROM waves w CROSS JOIN generate_series(0, w.size - 1) k)
		SELECT max(n) FROM (SELECT count(*) OVER (ORDER BY opens RANGE BETWEEN CURRENT ROW AND interval '999 milliseconds' FOLLOWING) AS n FROM t) c`).Scan(&most); err != nil {
		return err
	}
	if err := b.db.QueryRow(ctx, `SELECT count(*), count(DISTINCT eno), coalesce(sum(seats), 0) FROM claims`).Scan(&claims, &fans, &held); err != nil {
		return err
	}
	if claims != fans || held > seats {
		return fmt.Errorf("%d claims of %d fans hold %d of %d seats", claims, fans, held, seats)
	}
	rows, err := b.db.Query(ctx, `SELECT count(*)::float8 FROM claims GROUP BY date_trunc('second', claimed_at)`)
	if err != nil {
		return err
	}
	var perSecond []float64
	for rows.Next() {
		var n float64
		if err := rows.Scan(&n); err != nil {
			return err
		}
		perSecond = append(perSecond, n)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	p99 := quantile(perSecond, 0.99)
	b.report(exact("stampede.opens", "turns/s", float64(most), stampedeRate+1, "the rate + 1", "the most turns that open in any second"))
	b.report(exact("stampede.claims", "claims/s", p99, stampedeRate, "the rate",
		fmt.Sprintf("99th percentile of %d seconds, the most %.0f; %d claims, no seat twice", len(perSecond), slices.Max(perSecond), claims)))
	b.report(exact("stampede.memory", "MiB", peakMemory(i.cmd.Process.Pid), 300, "the bound", "the most resident memory of the instance"))
	return nil
}

// exact is a result of one figure beside what it is to stay below.
func exact(name, unit string, ours, bound float64, boundName, note string) result {
	return result{name, unit, ours, bound, boundName, ours / bound, ours / bound, ours / bound, note}
}

// peakMemory is the most that a process has held, in MiB, or 0 where the system does not tell.
func peakMemory(pid int) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(b), "VmHWM:")
	var kb float64
	_, _ = fmt.Sscanf(after, "%f kB", &kb)
	return kb / 1024
}
