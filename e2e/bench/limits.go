package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"fanline/ratelimit"
)

const (
	// permitsACall is how many permits ours takes at once: a twentieth of the limit, the most that senders take.
	permitsACall = 500
	// permitCallers ask at once.
	permitCallers = 16
	// enough is so high a limit that nobody is refused: what is measured is what asking costs.
	enough = 100_000_000
	// permitWindow is short enough for rows to leave it while it is measured, and holds about as many as a limit of 10,000 a
	// second does.
	permitWindow = 20 * time.Millisecond
)

// permitBench measures permits of a limit: ours, beside the rows of a log by hand, which is the least that a limit that holds in
// each window takes, and beside the usual library, which keeps one number and lets up to twice the limit through in a window.
type permitBench struct {
	*bench
	ours  *ratelimit.Limiter
	rival *redis_rate.Limiter
	turns int // names a fresh limiter for each measurement
}

func limits(ctx context.Context, b *bench) (err error) {
	p := &permitBench{bench: b, rival: redis_rate.NewLimiter(b.rdb)}
	if p.ours, err = ratelimit.New(ratelimit.Config{Redis: b.rdb, Timeout: 5 * time.Second, Log: slog.New(slog.DiscardHandler)}); err != nil {
		return err
	}
	var hand, many, one pairs
	n := b.times(300)
	b.progress.step()
	for i := range n {
		b.progress.at("rounds", i, n)
		ours, err := p.perS(permitsACall, 10, p.take(ctx))
		if err != nil {
			return err
		}
		rows, err := p.perS(permitsACall, 10, p.byHand(ctx))
		if err != nil {
			return err
		}
		theirs, err := p.perS(permitsACall, 100, p.allow(ctx))
		if err != nil {
			return err
		}
		hand.add(ours, rows)
		many.add(ours, theirs)
		if ours, err = p.perS(1, 100, p.take(ctx)); err != nil {
			return err
		}
		if theirs, err = p.perS(1, 100, p.allow(ctx)); err != nil {
			return err
		}
		one.add(ours, theirs)
	}
	b.progress.at("rounds", n, n)
	how := fmt.Sprintf("%d permits a call on both sides, %d callers", permitsACall, permitCallers)
	b.report(compare("limiter", "permits/s", "the same rows by hand", &hand, how+"; a permit is a row of a log, so that no window ever holds more"))
	b.report(compare("limiter.rival", "permits/s", "redis_rate", &many, how+"; the rival keeps one number, and lets up to twice the limit through in a window"))
	b.report(compare("limiter.one", "permits/s", "redis_rate", &one, "one permit a call on both sides"))
	return nil
}

// perS has the callers ask each times for permits, at a limiter that nobody asked yet.
func (p *permitBench) perS(permits, each int, ask func(name, call string, permits int) error) (float64, error) {
	p.turns++
	name := "limit-" + strconv.Itoa(p.turns)
	took, err := together(permitCallers, each, func(w, i int) error { return ask(name, fmt.Sprint(w, "-", i), permits) })
	return rate(permitCallers*each*permits, took), err
}

func (p *permitBench) take(ctx context.Context) func(name, call string, permits int) error {
	return func(name, _ string, permits int) error {
		got, _, err := p.ours.Take(ctx, name, ratelimit.Limit{N: enough, Per: permitWindow}, permits)
		if err == nil && got != permits {
			err = errors.New("ours refused a permit")
		}
		return err
	}
}

func (p *permitBench) allow(ctx context.Context) func(name, call string, permits int) error {
	return func(name, _ string, permits int) error {
		r, err := p.rival.AllowN(ctx, name, redis_rate.PerSecond(enough), permits)
		if err == nil && r.Allowed != permits {
			err = errors.New("the rival refused a permit")
		}
		return err
	}
}

// byHand adds a row a permit by one command, and takes out what has left the window by another, in one round trip.
func (p *permitBench) byHand(ctx context.Context) func(name, call string, permits int) error {
	return func(name, call string, permits int) error {
		now := time.Now()
		rows := make([]redis.Z, permits)
		for i := range rows {
			rows[i] = redis.Z{Score: float64(now.UnixMicro()), Member: call + ":" + strconv.Itoa(i)}
		}
		_, err := p.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.ZRemRangeByScore(ctx, name, "-inf", strconv.FormatInt(now.Add(-permitWindow).UnixMicro(), 10))
			pipe.ZAdd(ctx, name, rows...)
			pipe.PExpire(ctx, name, permitWindow)
			return nil
		})
		return err
	}
}
