package main

import (
	"context"
	"fmt"
	"time"

	"fanline/sim"
	"fanline/waitlist"
)

const (
	claimants  = 128 // fans who claim at once
	claimsEach = 2   // bursts of them that make one measurement
	claimBurst = claimants * claimsEach
	// claimLine is how many fans are told of one opening before the next show takes over.
	claimLine = 20_000
)

// claimBench measures bursts of claims on an opening that thousands were told of.
type claimBench struct {
	*bench
	line  *line
	app   *sim.App
	conns callers

	shows int // made so far
	ref   waitlist.OpeningRef
	left  int // fans told of the opening who have not claimed
	event int64

	store, http claimFigures
	floor       cost
}

type claimFigures struct {
	pairs   pairs
	cost    cost
	batches []float64
}

func claims(ctx context.Context, b *bench) error {
	c := &claimBench{bench: b}
	defer c.close()
	if err := c.open(ctx); err != nil {
		return err
	}
	if err := c.round(ctx); err != nil { // to warm up
		return err
	}
	c.store, c.http, c.floor = claimFigures{}, claimFigures{}, cost{}
	n := b.times(300)
	b.progress.step()
	for i := range n {
		b.progress.at("rounds", i, n)
		if err := c.round(ctx); err != nil {
			return err
		}
	}
	b.progress.at("rounds", n, n)
	c.conclude()
	return nil
}

func (c *claimBench) open(ctx context.Context) (err error) {
	i, err := c.serve(ctx)
	if err != nil {
		return err
	}
	if _, err := c.db.Exec(ctx, `CREATE TABLE bench_claims (LIKE claims INCLUDING ALL)`); err != nil {
		return err
	}
	c.app = sim.NewApp([]string{i.url}, apiKey)
	if c.line, err = c.openLine(ctx, true); err != nil {
		return err
	}
	c.conns, err = dialCallers(ctx, i.url, claimants)
	return err
}

func (c *claimBench) close() {
	c.conns.close()
	if c.app != nil {
		c.app.Close()
	}
	if c.line != nil {
		c.line.close()
	}
}

// round is one pair of each comparison, on the same opening.
func (c *claimBench) round(ctx context.Context) error {
	if c.left < 2*claimBurst {
		if err := c.heat(ctx); err != nil {
			return err
		}
	}
	store, err := c.ours(ctx, &c.store, func(_ int, fan string) error {
		_, created, err := c.line.Claim(ctx, c.ref, fan)
		if err == nil && !created {
			err = fmt.Errorf("%s had a claim", fan)
		}
		return err
	})
	if err != nil {
		return err
	}
	floor, err := c.bare(ctx)
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/v1/shows/%s/openings/%s/claims", c.ref.ShowID, c.ref.OpeningID)
	http, err := c.ours(ctx, &c.http, func(w int, fan string) error {
		status, err := c.conns[w].post(path, map[string]string{"fan_id": fan})
		if err == nil && status != 201 {
			err = fmt.Errorf("%s had a claim", fan)
		}
		return err
	})
	c.store.pairs.add(store, floor)
	c.http.pairs.add(http, floor)
	return err
}

// heat makes the next show: a line that is told of one opening, all of it at once.
func (c *claimBench) heat(ctx context.Context) error {
	c.shows++
	c.ref = waitlist.OpeningRef{ShowID: fmt.Sprintf("hot-%d", c.shows), OpeningID: "o"}
	if _, err := c.line.put(ctx, c.ref.ShowID, `{"mode": "everyone", "release_per_s": 10000, "claim_window_s": 3600, "hold_s": 3600}`); err != nil {
		return err
	}
	n := claimLine
	if c.quick {
		n = claimLine / 2
	}
	if err := c.line.fill(ctx, c.ref.ShowID, "fan", n); err != nil {
		return err
	}
	if _, err := c.app.Free(ctx, c.ref.ShowID, c.ref.OpeningID, sim.Free{Quantity: n, Reason: "new_inventory"}); err != nil {
		return err
	}
	for {
		o, err := c.app.Opening(ctx, c.ref.ShowID, c.ref.OpeningID)
		if err != nil {
			return err
		}
		if o.Told == n {
			break
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	c.left = n
	return nil
}

// ours measures a burst and how large its batches were.
func (c *claimBench) ours(ctx context.Context, f *claimFigures, claim func(worker int, fan string) error) (perS float64, err error) {
	c.left -= claimBurst
	from := c.left
	err = c.during(ctx, &f.cost, claimBurst, func() error {
		took, err := together(claimants, claimsEach, func(w, i int) error { return claim(w, fanID("fan", from+w*claimsEach+i)) })
		perS = rate(claimBurst, took)
		return err
	})
	if err != nil {
		return 0, err
	}
	// A batch is one transaction.
	var batches, claims int
	if err := c.db.QueryRow(ctx, `
		SELECT count(DISTINCT xid), count(*), coalesce(max(id), $1) FROM events WHERE id > $1 AND type = 'claim.held'`, c.event).
		Scan(&batches, &claims, &c.event); err != nil {
		return 0, err
	}
	if claims != claimBurst {
		return 0, fmt.Errorf("%d claims have an event, of %d", claims, claimBurst)
	}
	f.batches = append(f.batches, float64(claims)/float64(batches))
	return perS, nil
}

// bare is the floor: a row inserted and committed for each claim, from as many connections.
func (c *claimBench) bare(ctx context.Context) (perS float64, err error) {
	base := time.Now().UnixNano()
	return perS, c.during(ctx, &c.floor, claimBurst, func() error {
		took, err := together(claimants, claimsEach, func(w, i int) error {
			n := base + int64(w*claimsEach+i)
			_, err := c.db.Exec(ctx, `
				INSERT INTO bench_claims (id, show_no, opening_no, eno, fan_no, seats, claimed_at, expires_at)
				VALUES ($1, 1, 1, $2, $2, 1, now(), now() + interval '1 hour')`, fmt.Sprintf("clm_%026d", n), n)
			return err
		})
		perS = rate(claimBurst, took)
		return err
	})
}

func (c *claimBench) conclude() {
	floor := "an insert and commit each"
	c.report(compare("claims.store", "claims/s", floor, &c.store.pairs, fmt.Sprintf(
		"Service.Claim by %d fans at once, %d told of the opening; %.0f claims a batch on the mean; %s; the floor: %s",
		claimants, claimLine, mean(c.store.batches), &c.store.cost, &c.floor)))
	c.report(compare("claims.http", "claims/s", floor, &c.http.pairs, fmt.Sprintf(
		"POST claims on %d connections; %.0f claims a batch on the mean; %s", claimants, mean(c.http.batches), &c.http.cost)))
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
