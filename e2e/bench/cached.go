package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fanline/sim"
)

const (
	// pollers are the connections that poll, and pollingFans the fans of a line whose pages they are.
	pollers     = 16
	pollingFans = 200
	// pollsEach is how many reads of a pair each connection makes.
	pollsEach = 250
)

// verdicts measures fans who ask where they stand, as a page that waits does.
func verdicts(ctx context.Context, b *bench) error {
	return b.polled(ctx, "verdict", func(l bigLine) string { return "/v1/me/turns/" + l.show + "/polled" })
}

// inboxes measures fans who look into their inboxes.
func inboxes(ctx context.Context, b *bench) error {
	return b.polled(ctx, "inbox", func(bigLine) string { return "/v1/me/inbox?limit=20" })
}

// polled compares a read of fans with the bare server, and in the largest line with a line of 1,000.
func (b *bench) polled(ctx context.Context, name string, path func(bigLine) string) (err error) {
	i, err := b.serve(ctx)
	if err != nil {
		return err
	}
	small, large := b.of(1000), b.of(b.largest)
	in := map[string][]poll{}
	for _, l := range []bigLine{small, large} {
		if err := b.somethingToRead(ctx, i, l); err != nil {
			return err
		}
		for range pollingFans {
			in[l.show] = append(in[l.show], poll{path(l), sim.Token(fanSecret, l.fan(1+rand.N(l.size-1)), time.Hour)})
		}
	}
	body, err := fetch(i.url, in[large.show][0])
	if err != nil {
		return err
	}
	floor, err := b.bare(ctx, body)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, floor.stop()) }()
	ours, err := dialCallers(ctx, i.url, pollers)
	if err != nil {
		return err
	}
	defer ours.close()
	bares, err := dialCallers(ctx, floor.url, pollers)
	if err != nil {
		return err
	}
	defer bares.close()
	before, err := cacheReads(i.ops)
	if err != nil {
		return err
	}
	long := func() (float64, error) { return ours.poll(in[large.show]) }
	against, err := b.pairsOf(60, long, func() (float64, error) { return bares.poll(in[large.show]) })
	if err != nil {
		return err
	}
	after, err := cacheReads(i.ops)
	if err != nil {
		return err
	}
	b.report(compare(name, "reads/s", "one Redis GET behind a bare handler", against, fmt.Sprintf(
		"%d connections, %d fans of a line of %s; inputs %s", pollers, pollingFans, figure(float64(large.size)), after.since(before))))
	lengths, err := b.pairsOf(60, long, func() (float64, error) { return ours.poll(in[small.show]) })
	if err != nil {
		return err
	}
	b.report(compare(name+"_size", "reads/s", "the same in a line of 1,000", lengths, "line of "+figure(float64(large.size))))
	return nil
}

// somethingToRead has a seat freed in a line, which its first fan gets a turn for, and two announcements made.
func (b *bench) somethingToRead(ctx context.Context, i *instance, l bigLine) error {
	c, err := dialCaller(ctx, i.url)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	if _, err := c.call("PUT", "/v1/shows/"+l.show+"/openings/polled", apiKey, []byte(`{"quantity": 1, "reason": "returned"}`)); err != nil {
		return err
	}
	for _, id := range []string{"one", "two"} {
		if _, err := c.post("/v1/shows/"+l.show+"/announcements", map[string]any{
			"id": id, "title": "Doors at eight", "body": "Come early, the coat check is small.", "channels": []string{"live"},
		}); err != nil {
			return err
		}
	}
	return nil
}

// poll is one read of a fan.
type poll struct{ path, token string }

// poll has every connection make its reads and returns how many there were a second.
func (cs callers) poll(of []poll) (float64, error) {
	took, err := together(len(cs), pollsEach, func(worker, _ int) error {
		p := of[rand.N(len(of))]
		return cs[worker].get(p.path, p.token)
	})
	return rate(len(cs)*pollsEach, took), err
}

// pairsOf takes pairs in the one order and the other, after one that does not count.
func (b *bench) pairsOf(most int, ours, floor func() (float64, error)) (*pairs, error) {
	n := b.times(most)
	var p pairs
	b.progress.step()
	for i := range n + 1 {
		b.progress.at("pairs", i, n+1)
		var found [2]float64
		for k := range 2 {
			which := (k + i) % 2
			var err error
			if found[which], err = [2]func() (float64, error){ours, floor}[which](); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			p.add(found[0], found[1])
		}
	}
	return &p, nil
}

// fetch makes one read and returns its body.
func fetch(url string, p poll) ([]byte, error) {
	r, err := http.NewRequest("GET", url+p.path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", p.path, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// cacheCounts are how many inputs came from where.
type cacheCounts map[string]float64

// cacheReads reads them from an instance's figures.
func cacheReads(ops string) (cacheCounts, error) {
	resp, err := http.Get(ops + "/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	found := cacheCounts{}
	in := bufio.NewScanner(resp.Body)
	for in.Scan() {
		if rest, ok := strings.CutPrefix(in.Text(), `fanline_cache_reads_total{from="`); ok {
			where, n, _ := strings.Cut(rest, `"} `)
			if found[where], err = strconv.ParseFloat(n, 64); err != nil {
				return nil, err
			}
		}
	}
	return found, in.Err()
}

func (c cacheCounts) since(before cacheCounts) string {
	var all float64
	for where := range c {
		all += c[where] - before[where]
	}
	part := func(where string) float64 { return 100 * (c[where] - before[where]) / max(1, all) }
	return fmt.Sprintf("%.1f %% from the process, %.1f %% from Redis, %.1f %% from Postgres, %.1f %% by another's load",
		part("process"), part("redis"), part("postgres"), part("joined"))
}
