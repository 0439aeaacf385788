package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"fanline/sim/providers"
)

const (
	urgentEvery = 50 * time.Millisecond // 20 a second
	urgentFans  = 400
)

// urgent measures messages of the transactional lane, from the call that brings them to the push service's receipt:
// with nothing else to do, while a blast runs, and while a service that others go by does not answer.
func urgent(ctx context.Context, b *bench) error {
	a, err := b.newAudience()
	if err != nil {
		return err
	}
	defer a.close()
	size := b.audienceSize()
	if err := errors.Join(a.fill(ctx, "blast", "apns", size), a.fill(ctx, "hanging", "fcm", max(2000, size/20)), a.fill(ctx, "urgent", "apns", urgentFans)); err != nil {
		return err
	}
	i, err := a.serve(ctx)
	if err != nil {
		return err
	}
	u := &urgentBench{audience: a, base: i.url, waiting: map[string]time.Time{}}
	a.phones.OnGot(u.got)
	defer a.phones.OnGot(nil)
	alone, err := u.bulkAlone(ctx, size)
	if err != nil {
		return err
	}
	n := b.times(300)
	idle, err := u.send(ctx, n, nil)
	if err != nil {
		return err
	}
	u.say("urgent.idle", "with nothing else to do", idle, 250)
	s, under, err := u.underBlast(ctx, size)
	if err != nil {
		return err
	}
	u.say("urgent.blast", fmt.Sprintf("while a blast to %s fans goes by the same service", figure(float64(size))), under, 250)
	ratio := s.rate() / alone
	b.report(result{
		"urgent.bulk", "deliveries/s", s.rate(), alone, "the blast alone", ratio, ratio, ratio,
		fmt.Sprintf("the rate of the blast beside 20 urgent messages a second; %s fans", figure(float64(size))),
	})
	return u.beside(ctx, n)
}

type urgentBench struct {
	*audience
	base string

	mu      sync.Mutex
	waiting map[string]time.Time // by token: since when
	took    []float64            // ms
	blast   *sending
}

// got is told of each send.
func (u *urgentBench) got(g providers.Got) {
	if !g.Accepted {
		return
	}
	u.mu.Lock()
	began, mine := u.waiting[g.Address]
	if mine {
		delete(u.waiting, g.Address)
		u.took = append(u.took, float64(g.At.Sub(began))/1e6)
	}
	s := u.blast
	u.mu.Unlock()
	if !mine && s != nil {
		s.got(g)
	}
}

// send sends n messages, one each urgentEvery, or for as long as more says so, and returns how long each took.
func (u *urgentBench) send(ctx context.Context, n int, more <-chan struct{}) ([]float64, error) {
	c, err := dialCallers(ctx, u.base, 8)
	if err != nil {
		return nil, err
	}
	defer c.close()
	u.took = nil
	tick := time.NewTicker(urgentEvery)
	defer tick.Stop()
	var wg sync.WaitGroup
	errs := make(chan error, 1)
	free := make(chan *caller, len(c))
	for _, one := range c {
		free <- one
	}
	u.progress.step()
	for i := 0; i < n || more != nil; i++ {
		if more == nil {
			u.progress.at("urgent messages", i, n)
		}
		select {
		case <-more:
			more, n = nil, 0
			continue
		case err := <-errs:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		one := <-free
		wg.Go(func() {
			defer func() { free <- one }()
			if err := u.one(one, i); err != nil {
				select {
				case errs <- err:
				default:
				}
			}
		})
	}
	wg.Wait()
	return u.all(ctx)
}

// one sends a message to a fan who has none on the way.
func (u *urgentBench) one(c *caller, i int) error {
	fan := fanID("urgent", i%urgentFans)
	token := tokenOf(fan)
	u.mu.Lock()
	if _, on := u.waiting[token]; on {
		u.mu.Unlock()
		return fmt.Errorf("a message was under way for %v", urgentFans*urgentEvery)
	}
	u.waiting[token] = time.Now()
	u.mu.Unlock()
	status, err := c.post("/v1/notifications", map[string]any{
		"fan_id": fan, "lane": "transactional", "type": "login_code", "title": "Your code", "body": fmt.Sprint(100_000 + i), "dedup_key": fmt.Sprint(time.Now().UnixNano()),
	})
	if err == nil && status != http.StatusAccepted {
		err = fmt.Errorf("a message was answered with %d", status)
	}
	return err
}

// all waits until nothing is on the way.
func (u *urgentBench) all(ctx context.Context) ([]float64, error) {
	for end := time.Now().Add(20 * time.Second); ; {
		u.mu.Lock()
		left := len(u.waiting)
		took := u.took
		u.mu.Unlock()
		if left == 0 {
			return took, nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), fmt.Errorf("%d urgent messages did not come", left))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (u *urgentBench) run(ctx context.Context, show, channel string, n int) (*sending, error) {
	s, err := u.announce(ctx, show, channel, n)
	u.mu.Lock()
	u.blast = s
	u.mu.Unlock()
	return s, err
}

func (u *urgentBench) bulkAlone(ctx context.Context, n int) (float64, error) {
	s, err := u.run(ctx, "blast", providers.ChannelAPNs, n)
	if err != nil {
		return 0, err
	}
	return s.rateAfter(ctx)
}

func (s *sending) rateAfter(ctx context.Context) (float64, error) {
	if err := s.wait(ctx, 10*time.Minute); err != nil {
		return 0, err
	}
	return s.rate(), nil
}

// underBlast sends while a blast runs.
func (u *urgentBench) underBlast(ctx context.Context, n int) (*sending, []float64, error) {
	s, err := u.run(ctx, "blast", providers.ChannelAPNs, n)
	if err != nil {
		return nil, nil, err
	}
	for s.came.Load() == 0 && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	took, err := u.send(ctx, 0, s.done)
	return s, took, err
}

// beside sends while another service does not answer, to which a blast goes.
func (u *urgentBench) beside(ctx context.Context, n int) error {
	u.fcm.Always("", providers.Answer{Hang: true})
	defer u.fcm.Clear()
	if _, err := u.announce(ctx, "hanging", providers.ChannelFCM, 1); err != nil {
		return err
	}
	for end := time.Now().Add(30 * time.Second); u.phones.Counts().Refused == 0 && time.Now().Before(end); {
		var hanging int
		if err := u.db.QueryRow(ctx, `SELECT count(*) FROM deliveries WHERE channel = 'fcm' AND state = 'leased'`).Scan(&hanging); err != nil {
			return err
		}
		if hanging > 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	took, err := u.send(ctx, n, nil)
	if err != nil {
		return err
	}
	u.say("urgent.hang", "while FCM does not answer and a blast goes to it", took, 250)
	return nil
}

func (u *urgentBench) say(name, when string, took []float64, bound float64) {
	p99 := quantile(took, 0.99)
	u.report(exact(name, "ms", p99, bound, "the bound", strings.Join([]string{
		fmt.Sprintf("99th percentile of %d messages, 20 a second, %s", len(took), when),
		fmt.Sprintf("from the call to the push service's receipt; median %.1f, most %.1f", quantile(took, 0.5), quantile(took, 1)),
	}, "; ")))
}
