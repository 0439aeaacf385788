package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"fanline/sim"
)

// frameBench measures the report of a seat until its fan's frame. Each pair has a show of its own, with one fan in line.
type frameBench struct {
	*bench
	app   *sim.App // calls the first instance
	chain *chain
}

func firstFrame(ctx context.Context, b *bench) error {
	one, err := b.serve(ctx)
	if err != nil {
		return err
	}
	f := &frameBench{bench: b, app: sim.NewApp([]string{one.url}, apiKey)}
	defer f.app.Close()
	if f.chain, err = b.openChain(ctx); err != nil {
		return err
	}
	defer f.chain.close()
	for _, strategy := range []string{"write", "read"} {
		if err := f.measure(ctx, "first_frame.one."+strategy, one.url, strategy); err != nil {
			return err
		}
	}
	two, err := b.serve(ctx)
	if err != nil {
		return err
	}
	for _, strategy := range []string{"write", "read"} {
		if err := f.measure(ctx, "first_frame.two."+strategy, two.url, strategy); err != nil {
			return err
		}
	}
	return nil
}

// steps are the parts of the way, in milliseconds: until the opening was recorded, until its wave was decided, and until
// the frame was there. The moments are the database's, in whole milliseconds, on the same machine.
type steps struct{ recorded, decided, told []float64 }

// measure connects the fans to the instance at base and reports a seat for each of them to the first one.
func (f *frameBench) measure(ctx context.Context, name, base, strategy string) error {
	const warm = 5
	n := f.times(300) + warm
	for i := range n {
		show := fmt.Sprintf("%s-%d", name, i)
		if err := f.prepareShow(ctx, show, fanID(name, i), strategy); err != nil {
			return err
		}
	}
	c, err := connect(ctx, base, name, n)
	if err != nil {
		return err
	}
	defer c.close()
	var p pairs
	var s steps
	f.progress.step()
	for i := range n {
		f.progress.at(strategy+" pairs", i, n)
		ours, floor, err := f.pair(ctx, c, fmt.Sprintf("%s-%d", name, i), i, &s)
		if err != nil {
			return err
		}
		if i >= warm {
			p.add(ours, floor)
		}
	}
	f.progress.at(strategy+" pairs", n, n)
	f.report(compare(name, "ms", chainName, &p, fmt.Sprintf(
		"p99 %.1f ms, most %.1f ms; the floor's p99 %.1f ms; medians of the steps: recorded %.1f ms, decided %.1f ms, frame %.1f ms later",
		quantile(p.ours, 0.99), quantile(p.ours, 1), quantile(p.floor, 0.99), median(s.recorded), median(s.decided), median(s.told))))
	return nil
}

func (f *frameBench) prepareShow(ctx context.Context, show, fan, strategy string) error {
	release := 10_000.0
	if _, err := f.app.PutShow(ctx, show, sim.PutShow{
		Name: "Bench", Venue: "The Locksmith", StartsAt: time.Now().Add(240 * time.Hour).Truncate(time.Second),
		Policy: &sim.Policy{ReleasePerS: &release, Strategy: &strategy},
	}); err != nil {
		return err
	}
	_, err := f.app.Join(ctx, show, sim.Join{FanID: fan})
	return err
}

// pair measures both, in either order.
func (f *frameBench) pair(ctx context.Context, c *crowd, show string, fan int, s *steps) (ours, floor float64, err error) {
	// What the pair before set off is done by then, and nothing keeps step with a tick.
	if err := pause(ctx, 20*time.Millisecond+rand.N(20*time.Millisecond)); err != nil {
		return 0, 0, err
	}
	if fan%2 == 0 {
		if floor, err = f.chain.run(ctx); err != nil {
			return 0, 0, err
		}
	}
	if ours, err = f.tell(ctx, c, show, fan, s); err != nil {
		return 0, 0, err
	}
	if fan%2 == 1 {
		floor, err = f.chain.run(ctx)
	}
	return ours, floor, err
}

// tell reports a seat and waits for the fan's frame.
func (f *frameBench) tell(ctx context.Context, c *crowd, show string, fan int, s *steps) (float64, error) {
	start := time.Now()
	o, err := f.app.Free(ctx, show, "o", sim.Free{Quantity: 1, Reason: "returned"})
	if err != nil {
		return 0, err
	}
	a, err := c.next(ctx, 10*time.Second)
	if err != nil {
		return 0, err
	}
	if a.fan != fan || a.item.ShowID != show {
		return 0, fmt.Errorf("fan %d got an item of show %s, not fan %d one of %s", a.fan, a.item.ShowID, fan, show)
	}
	s.recorded = append(s.recorded, millis(o.RecordedAt.Sub(start)))
	s.decided = append(s.decided, millis(a.item.OpensAt.Sub(o.RecordedAt)))
	s.told = append(s.told, millis(a.item.At.Sub(a.item.OpensAt)))
	return millis(a.item.At.Sub(start)), nil
}
