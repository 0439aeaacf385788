package e2e_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fanline/sim"
	"fanline/sim/providers"
)

const (
	blastFans = 5000
	// blastLimit keeps a blast going for long enough to be hit many times. Bulk work may
	// use four fifths of it.
	blastLimit = "apns=400/s"
)

// blast is an announcement by push to everybody in a line who has a device, sent by two
// instances.
type blast struct {
	*world
	t      *testing.T
	phones *providers.Phones
	kills  []death
}

func newBlast(t *testing.T, databaseURL string) *blast {
	t.Helper()
	w := newWorldOn(t, 0, databaseURL)
	var end context.CancelFunc
	w.ctx, end = context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(end)
	b := &blast{world: w, t: t, phones: providers.NewPhones(providers.PhonesConfig{Keep: 10 * blastFans})}
	apns := must(providers.StartAPNs(providers.APNsConfig{Phones: b.phones}))(t)
	t.Cleanup(apns.Close)
	apns.Always("", providers.Answer{Delay: 20 * time.Millisecond})
	var bases []string
	for _, name := range []string{"A", "B"} {
		in := w.newInstance(name,
			"FANLINE_APNS_URL="+apns.URL(), "FANLINE_APNS_KEY="+apns.Key(), "FANLINE_APNS_KEY_ID="+providers.APNsKeyID,
			"FANLINE_APNS_TEAM_ID="+providers.APNsTeamID, "FANLINE_APNS_TOPIC="+providers.APNsTopic,
			"FANLINE_LIMITS="+blastLimit, "FANLINE_LOG=info")
		in.launch()
		in.waitReady()
		bases = append(bases, in.base)
	}
	w.app = sim.NewApp(bases, apiSecret, sim.WithHTTPClient(w.http))
	b.fill()
	return b
}

// fill makes the line, each fan with a device.
func (b *blast) fill() {
	b.t.Helper()
	must(b.app.PutShow(b.ctx, "arena", sim.PutShow{Name: "Arena", Venue: "Arena", StartsAt: time.Now().Add(48 * time.Hour)}))(b.t)
	report := must(b.app.Import(b.ctx, "arena", func(yield func(sim.Join) bool) {
		for i := range blastFans {
			if !yield(sim.Join{FanID: fmt.Sprintf("fan-%d", i)}) {
				return
			}
		}
	}, nil))(b.t)
	if report.Imported != blastFans {
		b.t.Fatalf("imported %d fans, want %d", report.Imported, blastFans)
	}
	b.sql(`INSERT INTO devices (fan_no, device_id, platform, token, environment, registered_at, used)
		SELECT fan_no, 'phone', 'apns', encode(sha256(fan_id::bytea), 'hex'), 'production', now(), true FROM fans`)
}

// announce begins the blast.
func (b *blast) announce() {
	b.t.Helper()
	must(b.app.Announce(b.ctx, "arena", sim.Announce{ID: "doors", Title: "Doors at seven", Body: "Come early.", Channels: []string{"apns"}}))(b.t)
}

// waitSent waits until so many fans were told.
func (b *blast) waitSent(n int) {
	b.t.Helper()
	b.until(2*time.Minute, fmt.Sprintf("%d were told", n), func() bool { return b.phones.Counts().Addresses >= n })
}

// kill ends both instances at once and starts them again, when what they left behind is
// anybody's.
func (b *blast) kill() {
	b.t.Helper()
	d := death{after: time.Now()}
	for _, in := range b.in {
		in.process.kill()
	}
	d.before = time.Now()
	b.kills = append(b.kills, d)
	if *rounds == 1 { // in the long runs this comes by itself, after 10 to 15 s
		b.sql(`UPDATE river_job SET state = 'available', scheduled_at = now() WHERE state = 'running'`)
		b.sql(`UPDATE river_leader SET elected_at = now() - interval '2 minutes', expires_at = now() - interval '1 minute'`)
		b.sql(`UPDATE deliveries SET next_at = now() WHERE state = 'leased'`)
	}
	for _, in := range b.in {
		in.launch()
	}
	for _, in := range b.in {
		in.waitReady()
	}
}

// TestABlastGoesOnWhenTheProcessWithItsOnlyChunkIsKilled has nothing made older: what the
// killed process had in hand is another's by itself.
func TestABlastGoesOnWhenTheProcessWithItsOnlyChunkIsKilled(t *testing.T) {
	t.Parallel()
	w, all := newPhones(t)
	const n = 300 // one chunk
	all.APNs.Always("", providers.Answer{Delay: 2 * time.Second})
	l := w.newLine(t, n, sim.Policy{})
	w.sql(`INSERT INTO devices (fan_no, device_id, platform, token, environment, registered_at, used)
		SELECT fan_no, 'phone', 'apns', encode(sha256(fan_id::bytea), 'hex'), 'production', now(), true FROM fans`)
	must(w.app.Announce(w.ctx, l.show, sim.Announce{ID: "doors", Title: "Doors at seven", Body: "Come early.", Channels: []string{"apns"}}))(t)
	w.until(30*time.Second, "the chunk is under way", func() bool { return w.number(`SELECT count(*) FROM deliveries WHERE state = 'leased'`) == n })
	goesOn := w.newInstance("B", w.in[0].env...)
	w.in[0].process.kill()
	killed := time.Now()
	goesOn.launch()
	goesOn.waitReady()
	all.APNs.Always("", providers.Answer{})
	w.until(startPatience, "every phone got it", func() bool { return all.Phones.Counts().Addresses >= n })
	t.Logf("the last of %d pushes came %v after the kill", n, time.Since(killed).Round(100*time.Millisecond))
	for _, g := range all.Phones.Log() {
		if late := g.At.Sub(killed); late > 20*time.Second {
			t.Fatalf("a push came %v after the kill, want within 15 s and what a busy machine takes", late)
		}
	}
}

// finish waits until the blast is through, and looks at what was recorded.
func (b *blast) finish() {
	b.t.Helper()
	const left = `SELECT count(*) FROM river_job WHERE kind = 'blast' AND state NOT IN ('completed', 'cancelled', 'discarded')`
	b.until(3*time.Minute, "every chunk is through", func() bool { return b.number(left) == 0 })
	if n := b.number(`SELECT count(*) FROM river_job WHERE state IN ('cancelled', 'discarded')`); n != 0 {
		b.t.Errorf("%d jobs were given up", n)
	}
	if n := b.number(`SELECT count(*) FROM deliveries WHERE state = 'sent'`); n != blastFans {
		b.t.Errorf("%d deliveries are recorded as sent, want %d", n, blastFans)
	}
}

// check looks at what each phone got, and at which sends were made again.
func (b *blast) check() (twice int) {
	b.t.Helper()
	return wantOneAlert(b.t, b.phones.Log(), blastFans, b.kills)
}

func TestABlastMissesNobodyWhoeverIsKilled(t *testing.T) {
	t.Parallel()
	r := random(t)
	b := newBlast(t, database(t))
	b.announce()
	b.waitSent(1)
	kills := 3
	if *rounds > 1 {
		kills = 10
	}
	for range kills {
		b.waitSent(min(blastFans, b.phones.Counts().Addresses+r.IntN(400)))
		b.kill()
	}
	b.finish()
	b.check()
}

func TestABlastTellsNobodyTwiceThoughAnInstanceStoodStillInIt(t *testing.T) {
	t.Parallel()
	if *rounds < 2 {
		t.Skip("takes half a minute, in which the leases of who stands still end: it is of the long fault rounds")
	}
	r := random(t)
	b := newBlast(t, database(t))
	b.announce()
	b.waitSent(1)
	for _, in := range b.in {
		b.waitSent(min(blastFans, b.phones.Counts().Addresses+200+r.IntN(600)))
		d := death{after: time.Now()}
		in.signal(syscall.SIGSTOP)
		d.before = time.Now()
		sleep(b.ctx, 20*time.Second)
		d.resumed = time.Now()
		in.signal(syscall.SIGCONT)
		b.kills = append(b.kills, d)
	}
	b.finish()
	b.check()
}

func TestABlastTellsFewTwiceWhoseInstancesAreKilledWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	if *rounds < 2 {
		t.Skip("takes half a minute: it is of the long fault rounds")
	}
	b := newBlast(t, database(t))
	b.announce()
	b.waitSent(blastFans / 8)
	b.redis.Kill()
	b.waitSent(blastFans / 4)
	b.kill()
	check(t, b.redis.Restart(b.ctx))
	b.finish()
	b.check()
}

func TestABlastMissesNobodyAndTellsNobodyTwiceWhileRedisIsLost(t *testing.T) {
	t.Parallel()
	b := newBlast(t, database(t))
	away := 3 * time.Second
	if *rounds > 1 {
		away = 30 * time.Second
	}
	b.announce()
	b.waitSent(blastFans / 4)
	client := redis.NewClient(must(redis.ParseURL(b.redis.URL()))(t))
	defer client.Close()
	check(t, client.FlushAll(b.ctx).Err())
	b.waitSent(blastFans / 2)
	b.redis.Kill()
	sleep(b.ctx, away)
	check(t, b.redis.Restart(b.ctx))
	b.finish()
	if n := b.check(); n != 0 {
		t.Errorf("%d sends were made again", n)
	}
	if n := b.metric("fanline_keys_errors_total"); n == 0 {
		t.Error("nobody counted that Redis did not answer")
	}
}

// metric adds up a figure of all instances.
func (b *blast) metric(name string) (total float64) {
	b.t.Helper()
	for _, in := range b.in {
		_, body := b.get("http://" + in.ops + "/metrics")
		for line := range strings.Lines(body) {
			if value, ok := strings.CutPrefix(line, name+" "); ok {
				total += must(strconv.ParseFloat(strings.TrimSpace(value), 64))(b.t)
			}
		}
	}
	return total
}

func TestABlastMissesNobodyAndTellsNobodyTwiceWhenPostgresIsRestarted(t *testing.T) {
	t.Parallel()
	pg := ownPostgres(t)
	b := newBlast(t, pg.URL())
	b.announce()
	b.waitSent(blastFans / 3)
	pg.Kill()
	if *rounds > 1 { // longer than what was sent is recorded again and again
		sleep(b.ctx, 20*time.Second)
	}
	check(t, pg.Restart(b.ctx))
	b.finish()
	if n := b.check(); n != 0 {
		t.Errorf("%d sends were made again", n)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
