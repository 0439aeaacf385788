package main

import (
	"context"
	"fmt"
	"time"

	"fanline/sim"
)

// rollovers are how many shows have turns that lapse at the same time, and how many fans each has in line, one after the
// other told of its one seat.
var rollovers = []struct{ shows, fans int }{{40, 12}, {300, 5}}

// rolloverBench measures from the end of a turn, as its fan was shown it, to the frame of the next fan.
type rolloverBench struct {
	*bench
	app   *sim.App
	chain *chain
}

func rollover(ctx context.Context, b *bench) error {
	i, err := b.serve(ctx)
	if err != nil {
		return err
	}
	r := &rolloverBench{bench: b, app: sim.NewApp([]string{i.url}, apiKey)}
	defer r.app.Close()
	if r.chain, err = b.openChain(ctx); err != nil {
		return err
	}
	defer r.chain.close()
	for _, set := range rollovers {
		shows := set.shows
		if b.quick {
			shows /= 4
		}
		if err := r.measure(ctx, i.url, shows, set.fans); err != nil {
			return err
		}
	}
	return nil
}

func (r *rolloverBench) measure(ctx context.Context, base string, shows, each int) error {
	name := fmt.Sprintf("rollover.%d", shows)
	for s := range shows {
		if err := r.prepareShow(ctx, fmt.Sprintf("%s-%d", name, s), name, s*each, each); err != nil {
			return err
		}
	}
	c, err := connect(ctx, base, name, shows*each)
	if err != nil {
		return err
	}
	defer c.close()
	r.progress.step()
	reported := make(chan error, 1)
	go func() { reported <- r.free(ctx, name, shows) }()
	p, err := r.collect(ctx, c, shows, each)
	if err := <-reported; err != nil {
		return err
	}
	if err != nil {
		return err
	}
	r.conclude(name, shows, p)
	return nil
}

func (r *rolloverBench) prepareShow(ctx context.Context, show, prefix string, from, n int) error {
	release, window, missed := 10_000.0, 1, 0
	if _, err := r.app.PutShow(ctx, show, sim.PutShow{
		Name: "Bench", Venue: "The Locksmith", StartsAt: time.Now().Add(240 * time.Hour).Truncate(time.Second),
		Policy: &sim.Policy{ReleasePerS: &release, ClaimWindowS: &window, MaxMissed: &missed},
	}); err != nil {
		return err
	}
	for i := range n {
		if _, err := r.app.Join(ctx, show, sim.Join{FanID: fanID(prefix, from+i)}); err != nil {
			return err
		}
	}
	return nil
}

// free reports a seat of each show, over one second, so that their turns do not end together.
func (r *rolloverBench) free(ctx context.Context, name string, shows int) error {
	tick := time.NewTicker(time.Second / time.Duration(shows))
	defer tick.Stop()
	for s := range shows {
		if _, err := r.app.Free(ctx, fmt.Sprintf("%s-%d", name, s), "o", sim.Free{Quantity: 1, Reason: "returned"}); err != nil {
			return err
		}
		<-tick.C
	}
	return nil
}

// collect takes the frames as they come. With each but a show's first it goes through the chain once, for the pair.
func (r *rolloverBench) collect(ctx context.Context, c *crowd, shows, each int) (*pairs, error) {
	var p pairs
	closes := make([]time.Time, shows) // of the show's last turn
	for got := range shows * each {
		r.progress.at(fmt.Sprintf("turns of %d shows", shows), got, shows*each)
		a, err := c.next(ctx, 20*time.Second)
		if err != nil {
			return nil, err
		}
		if a.item.Kind != "turn" {
			return nil, fmt.Errorf("an item of kind %s came", a.item.Kind)
		}
		show := a.fan / each
		last := closes[show]
		closes[show] = a.item.ClosesAt
		if last.IsZero() {
			continue
		}
		floor, err := r.chain.run(ctx)
		if err != nil {
			return nil, err
		}
		p.add(millis(a.item.At.Sub(last)), floor)
	}
	r.progress.at(fmt.Sprintf("turns of %d shows", shows), shows*each, shows*each)
	return &p, nil
}

// promised is what a lapse may take to reach the next fan, in milliseconds.
const promised = 1000

func (r *rolloverBench) conclude(name string, shows int, p *pairs) {
	p99 := func(xs []float64) float64 { return quantile(xs, 0.99) }
	kept := "p99 is under the second promised"
	if p99(p.ours) >= promised {
		kept = "p99 is NOT under the second promised"
	}
	r.report(compare(name, "ms", chainName, p, fmt.Sprintf("%d shows with a turn of 1 s lapsing at any time; p50 %.0f ms, p99 %.0f ms, most %.0f ms; %s",
		shows, median(p.ours), p99(p.ours), quantile(p.ours, 1), kept)))
	low, high := bootstrap(p.ours, p99, resamples)
	r.report(result{
		name + ".p99", "ms", p99(p.ours), promised, "the promised second",
		p99(p.ours) / promised, low / promised, high / promised, fmt.Sprintf("%d lapses", len(p.ours)),
	})
}
