package store_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/ratelimit"
	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
)

// office is a bench whose fans are told by providers that the test plays. Its jobs
// run when the test says so, one by one, so that it can run one twice.
type office struct {
	*bench
	p        *delivery.Pipeline
	redis    string
	online   whoIsOnline
	channels map[notifier.Channel]*fakeProvider
	retire   *retireSwitch
	guard    *delivery.RetireGuard // in place of retire
	limits   string
	gate     *turnstile // in place of the limits
	inForce  *delivery.Limits
	outbox   delivery.Outbox // in place of the store's
	later    []laterJob
}

// job is one of the queue's.
type job struct {
	kind, queue, args string
}

type laterJob struct {
	job
	at time.Time
}

type whoIsOnline map[int64]bool

func (w whoIsOnline) Online(context.Context, []int64) (map[int64]bool, error) { return w, nil }

// benchClock tells the time of a bench's database.
type benchClock struct{ b *bench }

func (c benchClock) Now() (at time.Time) {
	_ = c.b.store.Pool().QueryRow(context.Background(), `SELECT clock_timestamp()`).Scan(&at)
	return at.UTC()
}

type retireSwitch struct{ never bool }

func (*retireSwitch) Note(notifier.Channel, delivery.Outcome) {}
func (r *retireSwitch) May(notifier.Channel) bool             { return !r.never }

// fakeProvider answers as the test says, Accepted without, and remembers.
type fakeProvider struct {
	channel notifier.Channel
	answer  func(e *delivery.Envelope) delivery.Verdict

	mu  sync.Mutex
	got []delivery.Envelope
}

func (f *fakeProvider) Channel() notifier.Channel { return f.channel }
func (f *fakeProvider) Close() error              { return nil }

func (f *fakeProvider) Send(_ context.Context, e *delivery.Envelope) delivery.Verdict {
	f.mu.Lock()
	f.got = append(f.got, *e)
	answer := f.answer
	f.mu.Unlock()
	if answer == nil {
		return delivery.Verdict{Outcome: delivery.Accepted, ID: fmt.Sprintf("%s-%s", f.channel, e.Key)}
	}
	return answer(e)
}

func (f *fakeProvider) say(o delivery.Outcome) {
	f.answer = func(*delivery.Envelope) delivery.Verdict { return delivery.Verdict{Outcome: o, Reason: "because"} }
}

// to are the addresses that got something, in order.
func (f *fakeProvider) to() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]string, len(f.got))
	for i := range f.got {
		list[i] = f.got[i].Address.To
	}
	slices.Sort(list)
	return list
}

func newOffice(t testing.TB) *office {
	t.Helper()
	return officeOn(newStopped(t), storetest.Redis(t))
}

func officeOn(b *bench, redisURL string) *office {
	b.t.Helper()
	o := &office{
		bench: b, redis: redisURL, online: whoIsOnline{}, retire: &retireSwitch{}, channels: map[notifier.Channel]*fakeProvider{},
	}
	for _, c := range []notifier.Channel{notifier.APNs, notifier.FCM, notifier.SMS, notifier.Email} {
		o.channels[c] = &fakeProvider{channel: c}
	}
	o.restart()
	return o
}

// restart makes the pipeline anew, as another process has it.
func (o *office) restart() {
	o.t.Helper()
	client, err := store.OpenRedis(o.redis)
	must(o.t, err)
	o.t.Cleanup(func() { _ = client.Close() })
	quiet := slog.New(slog.DiscardHandler)
	limiter, err := ratelimit.New(ratelimit.Config{Redis: client, Log: quiet})
	must(o.t, err)
	cfg, err := delivery.ParseLimits(o.limits)
	must(o.t, err)
	var providers []delivery.Provider
	for _, f := range o.channels {
		providers = append(providers, f)
	}
	var retire interface {
		Note(notifier.Channel, delivery.Outcome)
		May(notifier.Channel) bool
	} = o.retire
	if o.guard != nil {
		retire = o.guard
	}
	o.inForce = delivery.NewLimits(limiter, cfg)
	var permits interface {
		Take(ctx context.Context, c notifier.Channel, l notifier.Lane, n int) (int, time.Duration)
		Slow(ctx context.Context, c notifier.Channel, retryAfter time.Duration)
	} = o.inForce
	if o.gate != nil {
		permits = o.gate
	}
	outbox := o.outbox
	if outbox == nil {
		outbox = o.store
	}
	o.p, err = delivery.NewPipeline(delivery.PipelineConfig{
		Outbox: outbox, Recipients: o.store, Online: o.online, Providers: providers,
		Keys:   delivery.NewKeys(delivery.KeysConfig{Redis: client, Database: "test", Log: quiet}),
		Limits: permits, Breakers: delivery.NewBreakers(quiet), Retire: retire,
		Clock: benchClock{o.bench}, Unsubscribe: "https://tickets.example/u/", Log: quiet,
	})
	must(o.t, err)
}

// device gives a fan a device; its token is its name in hexadecimal.
func (o *office) device(fan string, platform notifier.Channel, name string) string {
	o.t.Helper()
	token := fmt.Sprintf("%x", "token-of-"+fan+"-"+name)
	if len(token)%2 == 1 {
		token += "0"
	}
	_, _, err := o.store.PutDevice(o.t.Context(), fan, name, func(d *delivery.Device) error {
		d.Platform, d.Token = platform, token
		return d.Check(false)
	})
	must(o.t, err)
	return token
}

func (o *office) profile(fan string, change func(p *delivery.Profile) error) {
	o.t.Helper()
	_, err := o.store.PutProfile(o.t.Context(), fan, change)
	must(o.t, err)
}

func (o *office) contact(fan, phone, email string) {
	o.t.Helper()
	o.profile(fan, func(p *delivery.Profile) error {
		if err := p.SetPhone(phone); err != nil {
			return err
		}
		return p.SetEmail(email)
	})
}

func (o *office) fanNo(fan string) int64 {
	o.t.Helper()
	no, err := o.store.FanNo(o.t.Context(), fan)
	must(o.t, err)
	return no
}

// take takes the jobs that can run now out of the queue, in order.
func (o *office) take() []job {
	o.t.Helper()
	rows, err := o.store.Pool().Query(o.t.Context(), `DELETE FROM river_job RETURNING id, kind, queue, args::text`)
	must(o.t, err)
	type numbered struct {
		job
		id int64
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (n numbered, err error) {
		err = row.Scan(&n.id, &n.kind, &n.queue, &n.args)
		return n, err
	})
	must(o.t, err)
	slices.SortFunc(list, func(a, b numbered) int { return cmp.Compare(a.id, b.id) })
	var jobs []job
	for _, n := range list {
		jobs = append(jobs, n.job)
	}
	now := benchClock{o.bench}.Now()
	o.later = slices.DeleteFunc(o.later, func(l laterJob) bool {
		if !l.at.After(now) {
			jobs = append(jobs, l.job)
			return true
		}
		return false
	})
	return jobs
}

// work runs a job. One that is to run later waits for its time.
func (o *office) work(j job) error {
	o.t.Helper()
	ctx, err := o.t.Context(), error(nil)
	switch j.kind {
	case "plan":
		err = o.p.Plan(ctx, read[notifier.PlanArgs](o.t, j.args))
	case "route":
		lane := notifier.Lane(strings.TrimPrefix(j.queue, "lane_"))
		err = o.p.Plan(ctx, notifier.PlanArgs{Lane: lane, Messages: read[notifier.RouteArgs](o.t, j.args).Messages, Step: 1})
	case "send":
		err = o.p.Send(ctx, read[notifier.SendArgs](o.t, j.args))
	case "blast":
		err = o.p.Blast(ctx, read[notifier.BlastArgs](o.t, j.args))
	case "digest":
		err = o.p.Digest(ctx, read[notifier.DigestArgs](o.t, j.args))
	case "event":
		if a := read[notifier.EventArgs](o.t, j.args); a.Subscriber == notifier.Blasts {
			err = o.store.Blaster(o.p.Channels())(ctx, a)
		}
	}
	var later *notifier.Later
	if errors.As(err, &later) {
		o.later = append(o.later, laterJob{j, benchClock{o.bench}.Now().Add(later.After)})
		return nil
	}
	return err
}

func read[T any](t testing.TB, args string) (a T) {
	t.Helper()
	must(t, json.Unmarshal([]byte(args), &a))
	return a
}

// deliver does all there is to do now.
func (o *office) deliver() {
	o.t.Helper()
	for range 100 {
		_, err := o.store.FireAlerts(o.t.Context(), o.p.Channels(), 500)
		must(o.t, err)
		jobs := o.take()
		if len(jobs) == 0 {
			return
		}
		for _, j := range jobs {
			must(o.t, o.work(j))
		}
	}
	o.t.Fatal("the jobs do not come to rest")
}

// later lets time pass in steps and does what comes due.
func (o *office) after(d time.Duration) {
	o.t.Helper()
	for d > 0 {
		step := min(d, time.Second)
		o.pass(step)
		o.deliver()
		d -= step
	}
}

// turn gives fans a turn each of a new opening, open at once.
func (o *office) turn(show, opening string, fans ...string) {
	o.t.Helper()
	o.join(show, fans...)
	o.free(show, opening, len(fans))
	o.decide()
	o.after(time.Second)
}

func (o *office) wantSent(c notifier.Channel, want ...string) {
	o.t.Helper()
	slices.Sort(want)
	if got := o.channels[c].to(); !slices.Equal(got, want) {
		o.t.Errorf("by %s: %v, want %v", c, got, want)
	}
}

// phases are a fan's deliveries as "channel: phase phase(reason)", in order.
func (o *office) phases(fan string) []string {
	o.t.Helper()
	list, err := o.store.DeliveriesTo(o.t.Context(), o.fanNo(fan), 100)
	must(o.t, err)
	var lines []string
	for _, d := range list {
		line := string(d.Channel) + ":"
		for _, p := range d.Phases {
			line += " " + string(p.Phase)
			if p.Reason != "" {
				line += "(" + p.Reason + ")"
			}
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func (o *office) wantPhases(fan string, want ...string) {
	o.t.Helper()
	slices.Sort(want)
	if got := o.phases(fan); !slices.Equal(got, want) {
		o.t.Errorf("deliveries to %s: %q, want %q", fan, got, want)
	}
}

// stadium is a show whose turns all open at once.
func (o *office) stadium(policy waitlist.PolicyChange) {
	policy.ReleasePerS = waitlist.Some(waitlist.Milli(10_000_000))
	o.show("s", policy)
}
