package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fanline/sim"
	"fanline/store/embedded"
)

// byLook is how long a turn may take when no wake reaches the instance that holds
// the socket: it looks by itself each second. The rest is for a busy machine.
const byLook = 2 * time.Second

// nextTurn frees a seat at an instance and has it heard of by the n-th fan.
func (l *line) nextTurn(at, n int, opening string) {
	l.t.Helper()
	l.free(at, opening, 1)
	answered := time.Now()
	item := l.turn(n, opening, 5*time.Second)
	late := item.At.Sub(answered)
	l.t.Logf("%s: fan %d heard %v after the answer", opening, n, late.Round(time.Millisecond))
	if late > byLook {
		l.t.Errorf("%s: fan %d heard %v after the answer, want within %v", opening, n, late, byLook)
	}
}

func TestALostRedisDelaysATurnByALookAtMost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	l := w.newLine(t, 16, sim.Policy{})
	l.connectHalves()
	n := 0
	next := func(what string, turns int) {
		t.Helper()
		for range turns {
			n++
			l.nextTurn(n/2%2, n, fmt.Sprintf("%s-%d", what, n))
		}
	}
	next("before", 2)

	opt := must(redis.ParseURL(w.redis.URL()))(t)
	client := redis.NewClient(opt)
	defer client.Close()
	check(t, client.FlushAll(w.ctx).Err())
	next("flushed", 4)

	w.redis.Kill()
	next("away", 4)
	check(t, w.redis.Restart(w.ctx))
	next("back", 2)

	// The instances make themselves known again without a restart.
	w.until(15*time.Second, "both instances have a lease again", func() bool {
		return len(must(client.Keys(w.ctx, "fanline:instance:*").Result())(t)) == 2
	})
	next("healed", 4)
	for i := 1; i <= n; i++ {
		items := l.inbox(l.fans[i-1])
		if len(items) != 1 {
			t.Errorf("fan %d has %d items, want one", i, len(items))
		}
	}
	l.stayedConnected()
}

// stayedConnected checks that every socket is the one that it was, and brought
// nothing twice.
func (l *line) stayedConnected() {
	l.t.Helper()
	for fan, f := range l.on {
		if f.Connects() != 1 || f.Err() != nil {
			l.t.Errorf("the socket of %s was lost: %v", fan, f.Err())
		}
		if n := f.Doubles(); n != 0 {
			l.t.Errorf("%s got %d items twice on a socket", fan, n)
		}
	}
}

// ownPostgres is a server that a test may kill, as careful as in production.
func ownPostgres(t *testing.T) *embedded.Postgres {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	pg, err := embedded.StartPostgres(ctx, embedded.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop(context.Background()) })
	return pg
}

func TestALostPostgresLosesNothingThatWasAnswered(t *testing.T) {
	t.Parallel()
	pg := ownPostgres(t)
	w := newWorldOn(t, 2, pg.URL())
	l := w.newLine(t, 60, sim.Policy{ClaimWindowS: new(600)})
	l.connect(l.fans, w.in...)
	first := l.turnOf(1, "before")
	claim := must(l.me(l.fans[0]).Claim(w.ctx, l.show, "before"))(t)

	s := l.report(40)
	s.waitAnswered(5)
	pg.Kill()
	w.wantReadiness(http.StatusServiceUnavailable)
	s.stop()
	check(t, pg.Restart(w.ctx))
	w.wantReadiness(http.StatusOK)

	t.Logf("%d openings were answered before the crash", len(s.answered))
	for i, opening := range s.answered {
		o := must(w.app.Opening(w.ctx, l.show, opening))(t)
		if o.Quantity != 1 {
			t.Errorf("%s has %d seats", opening, o.Quantity)
		}
		fan, _ := l.firstTurn(opening, 3*byLook)
		if want := l.fans[i+1]; fan != want {
			t.Errorf("%s went to %s, want %s", opening, fan, want)
		}
	}
	if got := must(w.app.GetClaim(w.ctx, claim.ID))(t); got.State != "held" || got.FanID != l.fans[0] {
		t.Errorf("the claim answered before the crash is now %+v", got)
	}
	must(w.app.Confirm(w.ctx, claim.ID))(t)
	if diff := first.ClosesAt.Sub(l.inboxTurn(l.fans[0], "before").ClosesAt); diff != 0 {
		t.Errorf("the turn's end moved by %v", diff)
	}

	// One that was cut off may have been recorded or not; the same call again
	// settles it, and later seats go on down the line.
	free := sim.Free{Quantity: 1, Reason: "returned"}
	told := len(s.answered)
	if s.unsure != "" {
		must(w.app.Free(w.ctx, l.show, s.unsure, free))(t)
		l.firstTurn(s.unsure, byLook)
		told++
	}
	l.nextTurn(0, told+2, "after-a")
	l.nextTurn(1, told+3, "after-b")
	l.stayedConnected()
	l.onceASocket()
}

// turnOf frees a seat and returns the n-th fan's turn.
func (l *line) turnOf(n int, opening string) sim.Item {
	l.t.Helper()
	l.free(0, opening, 1)
	return l.turn(n, opening, byLook)
}

// inboxTurn is the turn as the fan reads it.
func (l *line) inboxTurn(fan, opening string) sim.Item {
	l.t.Helper()
	items := l.inbox(fan)
	i := slices.IndexFunc(items, isTurnOf(opening))
	if i < 0 {
		l.t.Fatalf("%s has no turn of %s", fan, opening)
	}
	return items[i]
}

// reporter frees one seat after the other until it is stopped or cut off.
type reporter struct {
	l        *line
	end      context.CancelFunc
	wg       sync.WaitGroup
	more     chan struct{}
	answered []string // 201, in order; to be read after stop
	unsure   string   // the one that was cut off
}

func (l *line) report(most int) *reporter {
	ctx, cancel := context.WithCancel(l.w.ctx)
	r := &reporter{l: l, end: cancel, more: make(chan struct{}, most)}
	l.t.Cleanup(r.stop)
	r.wg.Go(func() {
		for n := 1; n <= most; n++ {
			opening := openingOf(n)
			o, err := l.w.app.Free(ctx, l.show, opening, sim.Free{Quantity: 1, Reason: "returned"})
			if err != nil {
				r.unsure = opening
				return
			}
			if !o.Created {
				l.t.Errorf("%s was there already", opening)
			}
			r.answered = append(r.answered, opening)
			r.more <- struct{}{}
		}
	})
	return r
}

func (r *reporter) waitAnswered(n int) {
	r.l.t.Helper()
	for range n {
		select {
		case <-r.more:
		case <-r.l.w.ctx.Done():
			r.l.t.Fatal("the reports were not answered")
		}
	}
}

// stop lets the call that is under way be answered.
func (r *reporter) stop() {
	r.wg.Wait()
	r.end()
}

// wantReadiness waits until every instance says so on both addresses.
func (w *world) wantReadiness(want int) {
	w.t.Helper()
	for _, in := range w.in {
		for _, base := range []string{in.base, "http://" + in.ops} {
			w.until(15*time.Second, fmt.Sprintf("%s answers /readyz with %d", base, want), func() bool {
				status, body := w.get(base + "/readyz")
				if status == http.StatusServiceUnavailable && !strings.Contains(body, `"postgres"`) {
					w.t.Errorf("%s does not say what is missing: %s", base, body)
				}
				return status == want
			})
			if status, _ := w.get(base + "/healthz"); status != http.StatusOK {
				w.t.Errorf("/healthz is %d: the process is alive", status)
			}
		}
	}
}

const listeners = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'LISTEN %'`

func TestTheQueueListensAgainAfterItsConnectionDied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	l := w.newLine(t, 4, sim.Policy{})
	l.connectHalves()
	l.nextTurn(0, 1, "before")
	w.allWorked(5 * time.Second)
	before := w.number(listeners)
	if before < 2 {
		t.Fatalf("%d connections listen, want one an instance", before)
	}
	killed := w.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'LISTEN %'`)
	if killed != before {
		t.Fatalf("ended %d connections of %d", killed, before)
	}
	l.nextTurn(0, 2, "cut")
	w.allWorked(5 * time.Second) // by the poll
	w.until(30*time.Second, "the instances listen again", func() bool { return w.number(listeners) == before })
	l.nextTurn(1, 3, "again")
	w.allWorked(5 * time.Second)
	l.stayedConnected()
}

const (
	unworked = `SELECT count(*) FROM river_job WHERE kind = 'event' AND state <> 'completed'`
	worked   = `SELECT count(*) FROM river_job WHERE kind = 'event' AND state = 'completed'`
)

// allWorked waits until every event has reached its subscribers.
func (w *world) allWorked(patience time.Duration) {
	w.t.Helper()
	start := time.Now()
	w.until(patience, "all events are worked", func() bool { return w.number(unworked) == 0 && w.number(worked) > 0 })
	w.t.Logf("all events were worked %v later", time.Since(start).Round(time.Millisecond))
}

func TestAJobWhoseProcessWasKilledIsTakenAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	l := w.newLine(t, 1, sim.Policy{})
	l.free(0, "seat", 1)
	w.allWorked(5 * time.Second)
	w.in[0].kill()

	// As the process would have left it in the middle of a job, over a minute ago,
	// with the queue's leadership that it had.
	stuck := w.sql(`UPDATE river_job SET state = 'running', finalized_at = NULL, attempted_at = now() - interval '61 seconds'`)
	w.sql(`UPDATE river_leader SET elected_at = now() - interval '2 minutes', expires_at = now() - interval '1 minute'`)
	if stuck == 0 {
		t.Fatal("there are no jobs")
	}
	w.in[0].restart()
	start := time.Now()
	w.allWorked(45 * time.Second)
	t.Logf("%d jobs were taken again %v after the start", stuck, time.Since(start).Round(time.Millisecond))
	if n := w.number(`SELECT count(*) FROM river_job WHERE kind = 'event' AND attempt < 2`); n != 0 {
		t.Errorf("%d jobs were not tried again", n)
	}
	if told := l.told("seat"); !slices.Equal(told, l.fans) {
		t.Errorf("told were %v", told)
	}
}
