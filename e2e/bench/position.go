package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// position measures GET of an entry with its position, of fans anywhere in the largest line, against fans in a line of 1,000.
// Nobody is asked for twice, so that nothing is answered from a cache.
func position(ctx context.Context, b *bench) error {
	i, err := b.serve(ctx)
	if err != nil {
		return err
	}
	c, err := dialCaller(ctx, i.url)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	small, large := b.of(1000), b.of(b.largest)
	order := rand.Perm(small.size)
	const warm = 20
	n := b.times(900) + warm
	var p pairs
	b.progress.step()
	for i := range n {
		b.progress.at("pairs", i, n)
		ms, err := inTurn(i, func() error { return c.entry(large, rand.N(large.size)) }, func() error { return c.entry(small, order[i]) })
		if err != nil {
			return err
		}
		if i >= warm {
			p.add(ms[0], ms[1])
		}
	}
	b.progress.at("pairs", n, n)
	b.report(compare("position", "ms", "the same in a line of 1,000", &p, fmt.Sprintf(
		"line of %s; p99 %.2f ms, of the small line %.2f ms", figure(float64(large.size)), quantile(p.ours, 0.99), quantile(p.floor, 0.99))))
	return nil
}

func (c *caller) entry(l bigLine, i int) error {
	return c.get("/v1/shows/"+l.show+"/entries/"+l.fan(i), apiKey)
}

// inTurn times both, in the one order or the other by the number of the pair, and returns their milliseconds.
func inTurn(pair int, ours, floor func() error) (ms [2]float64, err error) {
	both := [2]func() error{ours, floor}
	for k := range both {
		which := (k + pair) % 2
		start := time.Now()
		if err := both[which](); err != nil {
			return ms, err
		}
		ms[which] = millis(time.Since(start))
	}
	return ms, nil
}
