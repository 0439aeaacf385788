package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"fanline/sim/providers"
)

// blast measures an announcement by push to a line of the size given and to a tenth of it, and one job a fan beside it.
func blast(ctx context.Context, b *bench) error {
	a, err := b.newAudience()
	if err != nil {
		return err
	}
	defer a.close()
	large, small := b.audienceSize(), b.audienceSize()/10
	for show, n := range map[string]int{"large": large, "small": small} {
		if err := a.fill(ctx, show, "apns", n); err != nil {
			return err
		}
	}
	// Each by an instance of its own, whose memory is nobody else's.
	few, err := a.blastOnce(ctx, "small", small)
	if err != nil {
		return err
	}
	many, err := a.blastOnce(ctx, "large", large)
	if err != nil {
		return err
	}
	pause := time.NewTimer(2 * time.Second) // the server's processes of the instance end
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	before, err := a.spent(ctx)
	if err != nil {
		return err
	}
	rival, err := a.oneJobEach(ctx, small)
	if err != nil {
		return err
	}
	after, err := a.spent(ctx)
	if err != nil {
		return err
	}
	ratio := many.rate / rival
	b.report(result{
		"blast.rate", "deliveries/s", many.rate, rival, "one River job a fan", ratio, ratio, ratio,
		fmt.Sprintf("%s fans, one blast; the rival %s, jobs inserted by thousands and worked by 100, each one call, with no record but its job", figure(float64(large)), figure(float64(small))),
	})
	ours, theirs := many.cost.each(), after.less(before, small).each()
	b.report(result{
		"blast.cpu", "µs", ours, theirs, "one River job a fan", ours / theirs, ours / theirs, ours / theirs,
		"of all processes, the push service too, for a delivery. " + many.cost.String(),
	})
	b.report(exact("blast.memory", "MiB", many.memory, few.memory, "a tenth of the fans", fmt.Sprintf("the most resident memory of the instance, %s fans against %s", figure(float64(large)), figure(float64(small)))))
	return nil
}

// blasted is what a blast took.
type blasted struct {
	rate, memory float64
	cost         cost
}

func (a *audience) blastOnce(ctx context.Context, show string, n int) (found blasted, err error) {
	i, err := a.serve(ctx)
	if err != nil {
		return found, err
	}
	before, err := a.spent(ctx)
	if err != nil {
		return found, err
	}
	s, err := a.announce(ctx, show, providers.ChannelAPNs, n)
	if err != nil {
		return found, err
	}
	a.phones.OnGot(s.got)
	defer a.phones.OnGot(nil)
	if err := s.wait(ctx, 10*time.Minute); err != nil {
		return found, err
	}
	after, err := a.spent(ctx)
	if err != nil {
		return found, err
	}
	found = blasted{rate: s.rate(), memory: peakMemory(i.cmd.Process.Pid), cost: *after.less(before, n)}
	return found, a.stopInstances()
}

// less is what was spent for n since before.
func (c *cost) less(before cost, n int) *cost {
	return &cost{
		units: n, wal: c.wal - before.wal, program: c.program - before.program,
		postgres: c.postgres - before.postgres, bench: c.bench - before.bench,
	}
}

// each is the CPU of all for one, in µs.
func (c *cost) each() float64 {
	return float64(c.program+c.postgres+c.bench) / 1e3 / float64(c.units)
}

// oneArgs is the rival's job: a fan.
type oneArgs struct {
	Token string `json:"token"`
}

func (oneArgs) Kind() string { return "bench_one" }

type oneWorker struct {
	river.WorkerDefaults[oneArgs]
	client *http.Client
	url    string
	bearer string
	done   func()
}

// Work makes the call that the product makes.
func (w *oneWorker) Work(ctx context.Context, job *river.Job[oneArgs]) error {
	body := `{"aps":{"alert":{"title":"Doors at seven","body":"The support act is on at eight, so come early."}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/3/device/"+job.Args.Token, strings.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"authorization": "bearer " + w.bearer, "apns-topic": providers.APNsTopic, "apns-push-type": "alert", "apns-priority": "10",
		"apns-expiration": "0", "apns-id": "00000000-0000-4000-8000-000000000000",
	} {
		req.Header.Set(name, value)
	}
	res, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		var said bytes.Buffer
		_, _ = said.ReadFrom(res.Body)
		return fmt.Errorf("%d: %s", res.StatusCode, said.String())
	}
	w.done()
	return nil
}

// oneJobEach is the rate at which River works a job a fan, each of which makes one call.
func (a *audience) oneJobEach(ctx context.Context, n int) (float64, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": providers.APNsTeamID, "iat": time.Now().Unix()})
	token.Header["kid"] = providers.APNsKeyID
	key, err := jwt.ParseECPrivateKeyFromPEM([]byte(a.apns.Key()))
	if err != nil {
		return 0, err
	}
	bearer, err := token.SignedString(key)
	if err != nil {
		return 0, err
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	var worked atomic.Int64
	done := make(chan struct{})
	workers := river.NewWorkers()
	river.AddWorker(workers, &oneWorker{
		client: &http.Client{Transport: &http.Transport{Protocols: protocols}, Timeout: 10 * time.Second}, url: a.apns.URL(), bearer: bearer,
		done: func() {
			if worked.Add(1) == int64(n) {
				close(done)
			}
		},
	})
	client, err := river.NewClient(riverpgxv5.New(a.db), &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{"bench": {MaxWorkers: 100, FetchCooldown: 10 * time.Millisecond, FetchPollInterval: 100 * time.Millisecond}},
	})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := a.insertOnes(ctx, client, n); err != nil {
		return 0, err
	}
	if err := client.Start(ctx); err != nil {
		return 0, err
	}
	select {
	case <-done:
	case <-time.After(10 * time.Minute):
		err = fmt.Errorf("%d of %d jobs were worked", worked.Load(), n)
	case <-ctx.Done():
		err = ctx.Err()
	}
	took := time.Since(began)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if stopped := client.Stop(stop); err == nil {
		err = stopped
	}
	return rate(n, took), err
}

// insertOnes inserts the jobs.
func (a *audience) insertOnes(ctx context.Context, client *river.Client[pgx.Tx], n int) error {
	for from := 0; from < n; from += 1000 {
		jobs := make([]river.InsertManyParams, min(1000, n-from))
		for i := range jobs {
			jobs[i] = river.InsertManyParams{Args: oneArgs{fmt.Sprintf("%064x", from+i)}, InsertOpts: &river.InsertOpts{Queue: "bench"}}
		}
		if _, err := client.InsertManyFast(ctx, jobs); err != nil {
			return err
		}
	}
	return nil
}

// audienceSize is how many fans a blast has.
func (b *bench) audienceSize() int {
	if b.quick {
		return b.audience / 10
	}
	return b.audience
}
