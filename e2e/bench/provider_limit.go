package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"fanline/sim/providers"
)

// providerLimit is the limit that two instances share while far more is to be sent.
const providerLimit = 500

// limitLog is where Redis has the permits of the last second.
const limitLog = "fanline:limit:{provider:apns}"

// providerLimits measures what is granted of a provider's limit, by Redis' own log of it.
func providerLimits(ctx context.Context, b *bench) error {
	a, err := b.newAudience()
	if err != nil {
		return err
	}
	defer a.close()
	n := max(5000, b.audienceSize()/10)
	if err := a.fill(ctx, "blast", "apns", n); err != nil {
		return err
	}
	for range 2 {
		if _, err := a.serve(ctx, fmt.Sprintf("FANLINE_LIMITS=apns=%d/s;transactional=0%%", providerLimit)); err != nil {
			return err
		}
	}
	s, err := a.announce(ctx, "blast", providers.ChannelAPNs, n)
	if err != nil {
		return err
	}
	a.phones.OnGot(s.got)
	defer a.phones.OnGot(nil)
	following, stop := context.WithCancel(ctx)
	defer stop()
	granted := make(chan map[string]int64, 1)
	failed := make(chan error, 1)
	go func() {
		log, err := permitLog(following, b.rdb)
		granted <- log
		failed <- err
	}()
	waited := s.wait(ctx, 10*time.Minute)
	stop()
	log := <-granted
	if err := errors.Join(waited, <-failed); err != nil {
		return err
	}
	return a.reportLimits(ctx, s, log)
}

// permitLog gathers the permits with their moments by Redis' clock until ctx ends.
func permitLog(ctx context.Context, rdb *redis.Client) (map[string]int64, error) {
	log := map[string]int64{}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		ended := ctx.Err() != nil // once more then
		list, err := rdb.ZRangeWithScores(context.WithoutCancel(ctx), limitLog, 0, -1).Result()
		if err != nil {
			return log, fmt.Errorf("read the log of permits: %w", err)
		}
		for _, z := range list {
			log[fmt.Sprint(z.Member)] = int64(z.Score)
		}
		if ended {
			return log, nil
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (a *audience) reportLimits(ctx context.Context, s *sending, log map[string]int64) error {
	moments := make([]int64, 0, len(log))
	for _, at := range log {
		moments = append(moments, at)
	}
	slices.Sort(moments)
	most := mostIn(moments, time.Second.Microseconds())
	a.report(exact("limits.window", "permits/s", float64(most), providerLimit, "the limit", fmt.Sprintf(
		"the most permits in any second, of %d in Redis' log; two instances, %d sends wanted at once", len(moments), s.want)))
	// The first second begins with a whole window's permits at once, and for the last ones there is no demand behind them.
	took := time.Duration(s.busy.Load() - s.first.Load())
	rate := float64(s.want*95/100-providerLimit) / took.Seconds()
	used := rate / providerLimit
	a.report(result{
		"limits.used", "sends/s", rate, providerLimit, "the limit", used, used, used,
		"what the push service took after the first window's, until 95 % were sent; nothing was lost: " + strconv.FormatInt(s.came.Load(), 10) + " of " + strconv.Itoa(s.want),
	})
	var sent int
	if err := a.db.QueryRow(ctx, `SELECT count(*) FROM deliveries WHERE state = 'sent'`).Scan(&sent); err != nil {
		return err
	}
	if most > providerLimit || a.phones.Counts().Accepted != s.want {
		return fmt.Errorf("%d permits in one second, %d sends for %d fans, %d recorded", most, a.phones.Counts().Accepted, s.want, sent)
	}
	return nil
}

// mostIn is the most of the sorted moments in any span that begins with one and does not reach its end.
func mostIn(moments []int64, span int64) (most int) {
	first := 0
	for i, at := range moments {
		for moments[first] <= at-span {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
