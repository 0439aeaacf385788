package main

import (
	"context"
	"fmt"

	"fanline/waitlist"
)

// crossoverSizes are the fans of a decision's wave, with how many pairs a full run takes.
var crossoverSizes = []struct{ fans, pairs int }{{10, 100}, {100, 100}, {1000, 60}, {10_000, 20}, {20_000, 10}}

// crossover measures what the two strategies cost to decide and write, against the size of a wave: time under the show's
// lock, bytes, and processor time. One decision has a wave of at most 20,000 fans: two seconds of the fastest pace.
func crossover(ctx context.Context, b *bench) (err error) {
	w := &waveBench{bench: b}
	if w.log, err = b.logStatements(ctx); err != nil {
		return err
	}
	if w.line, err = b.openLine(ctx, false); err != nil {
		return err
	}
	defer w.line.close()
	for _, s := range crossoverSizes {
		var p pairs
		var write, read cost
		n := b.times(s.pairs)
		b.progress.step()
		for i := range n {
			b.progress.at("waves of "+figure(float64(s.fans)), i, n)
			_, byWrite, _, err := w.decide(ctx, s.fans, waitlist.Write, &write)
			if err != nil {
				return err
			}
			_, byRead, _, err := w.decide(ctx, s.fans, waitlist.Read, &read)
			if err != nil {
				return err
			}
			p.add(byRead, byWrite)
		}
		b.progress.at("waves of "+figure(float64(s.fans)), n, n)
		b.report(compare(fmt.Sprintf("crossover.%d", s.fans), "ms", "the decision by strategy write", &p,
			fmt.Sprintf("a fan by read: %s; by write: %s", &read, &write)))
	}
	return nil
}
