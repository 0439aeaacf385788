package main

import (
	"context"
	"fmt"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

// crossoverSizes are the fans of a decision's wave, with how many pairs a full run takes.
var crossoverSizes = []struct{ fans, pairs int }{{10, 100}, {100, 100}, {1000, 60}, {10_000, 20}, {20_000, 10}}

// byStrategy has ours first.
var byStrategy = [2]waitlist.Strategy{waitlist.Read, waitlist.Write}

// looksAWave is how many of a wave's fans look into their inbox.
const looksAWave = 10

// crossing measures what the two strategies cost for waves of one size: to decide and write them, and then to look.
type crossing struct {
	*waveBench
	fans           int
	decision, look pairs // by read and by write

	write, read         cost // of the decisions, a fan
	writeLook, readLook cost
}

// crossover measures both sides of the choice of a strategy, against the size of a wave. A decision: time under the show's
// lock, bytes, and processor time; one has a wave of at most 20,000 fans, two seconds of the fastest pace. And the first look
// of its fans into their inbox, without any cache, which is what a row each is written for.
func crossover(ctx context.Context, b *bench) (err error) {
	w := &waveBench{bench: b, own: true}
	if w.log, err = b.logStatements(ctx); err != nil {
		return err
	}
	if w.line, err = b.openLine(ctx, false); err != nil {
		return err
	}
	defer w.line.close()
	for _, s := range crossoverSizes {
		c := &crossing{waveBench: w, fans: s.fans}
		n := b.times(s.pairs)
		b.progress.step()
		for i := range n {
			b.progress.at("waves of "+figure(float64(s.fans)), i, n)
			if err := c.pair(ctx, i); err != nil {
				return err
			}
		}
		b.progress.at("waves of "+figure(float64(s.fans)), n, n)
		c.conclude()
	}
	return w.afterMany(ctx)
}

// manySeats are freed one after the other in a show of manySeats fans: an evening of returned tickets.
const manySeats = 500

// afterMany measures the look of fans who were told once, in a show that has had many openings since.
func (w *waveBench) afterMany(ctx context.Context) error {
	c := &crossing{waveBench: w}
	var shows [2]string
	w.progress.step()
	for which, by := range byStrategy {
		w.shows++
		shows[which] = w.show()
		no, err := w.line.put(ctx, w.show(), fmt.Sprintf(`{"release_per_s": 10000, "claim_window_s": 3600, "strategy": %q}`, by))
		if err != nil {
			return err
		}
		if err := w.line.fill(ctx, w.show(), w.show(), manySeats); err != nil {
			return err
		}
		for i := range manySeats {
			w.progress.at("seats by "+string(by), i, manySeats)
			if _, _, err := w.line.Record(ctx, w.show(), waitlist.NewOpening{ID: fmt.Sprint("o", i), Quantity: 1, Reason: "returned"}); err != nil {
				return err
			}
			if _, err := w.line.store.DecideShow(ctx, no); err != nil {
				return err
			}
		}
	}
	for i := range w.times(30) {
		if err := c.looks(ctx, shows, manySeats, i); err != nil {
			return err
		}
	}
	c.report(compare("crossover.look_after_openings", "ms", "the look by strategy write", &c.look, fmt.Sprintf(
		"a fan told once, in a show with %d openings of a seat; a look by read: %s; by write: %s", manySeats, &c.readLook, &c.writeLook)))
	return nil
}

// pair decides the same wave both ways, in either order, and has some of its fans look.
func (c *crossing) pair(ctx context.Context, i int) error {
	var ms [2]float64
	var shows [2]string
	for turn := range 2 {
		which := (turn + i) % 2
		_, took, _, err := c.decide(ctx, c.fans, byStrategy[which], []*cost{&c.read, &c.write}[which])
		if err != nil {
			return err
		}
		ms[which], shows[which] = took, c.show()
	}
	c.decision.add(ms[0], ms[1])
	// Until the last turn has opened, at 10,000 a second.
	if err := pause(ctx, time.Duration(c.fans)*time.Second/10_000+10*time.Millisecond); err != nil {
		return err
	}
	return c.looks(ctx, shows, c.fans, i)
}

// looks has fans of two shows, from all over their lines, look into their inbox, the same ones in each.
func (c *crossing) looks(ctx context.Context, shows [2]string, fans, i int) error {
	var ms [2][looksAWave]float64
	for turn := range 2 {
		which := (turn + i) % 2
		if err := c.during(ctx, []*cost{&c.readLook, &c.writeLook}[which], looksAWave, func() (err error) {
			for n := range looksAWave {
				if ms[which][n], err = c.lookIn(ctx, fanID(shows[which], n*fans/looksAWave)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for n := range looksAWave {
		c.look.add(ms[0][n], ms[1][n])
	}
	return nil
}

// lookIn times the first page of a fan's inbox, which has the turn.
func (c *crossing) lookIn(ctx context.Context, fan string) (ms float64, err error) {
	start := time.Now()
	items, _, err := c.line.store.Items(ctx, fan, notifier.InboxQuery{Limit: 50})
	ms = millis(time.Since(start))
	if err == nil && len(items) != 1 {
		err = fmt.Errorf("%s has %d items, not a turn", fan, len(items))
	}
	return ms, err
}

func (c *crossing) conclude() {
	name := fmt.Sprintf("crossover.%d", c.fans)
	c.report(compare(name, "ms", "the decision by strategy write", &c.decision,
		fmt.Sprintf("a fan by read: %s; by write: %s", &c.read, &c.write)))
	c.report(compare(name+".look", "ms", "the look by strategy write", &c.look,
		fmt.Sprintf("%s; a look by read: %s; by write: %s", c.pays(), &c.readLook, &c.writeLook)))
}

// pays says after how many looks of each fan the rows have paid for themselves, where looks are surely quicker by them.
func (c *crossing) pays() string {
	if c.look.summary().low <= 1 {
		return "rows do not pay: no look is surely quicker by them"
	}
	saved := (median(c.decision.floor) - median(c.decision.ours)) / float64(c.fans)
	return fmt.Sprintf("rows pay from %.1f looks a fan on", max(0, saved/(median(c.look.ours)-median(c.look.floor))))
}
