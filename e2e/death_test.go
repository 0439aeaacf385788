package e2e_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fanline/sim"
	"fanline/sim/providers"
)

// crowdFans are the fans at home on an instance that dies, and crowdPace the pace at
// which their turns open. Half of them have a phone, and half a mailbox alone.
const (
	crowdFans = 1000
	crowdPace = 250
)

// TestFansOfAnInstanceThatDiedAreReachedOtherwise frees a seat for each of a thousand fans
// whose sockets a kill has just ended, and who do not come back.
func TestFansOfAnInstanceThatDiedAreReachedOtherwise(t *testing.T) {
	t.Parallel()
	w, all := newPhones(t)
	dies := w.newInstance("B", w.in[0].env...)
	dies.launch()
	dies.waitReady()
	w.crowd(dies)
	dies.process.kill()
	freed, keys := time.Now(), w.presence()
	if n := len(keys); n != crowdFans {
		t.Fatalf("Redis knows where %d fans are, want %d", n, crowdFans)
	}
	must(w.app.Free(w.ctx, "crowd", "all", sim.Free{Quantity: crowdFans, Reason: "new_inventory"}))(t)
	w.until(30*time.Second, "every phone and mailbox got the turn", func() bool { return all.Phones.Counts().Addresses >= crowdFans })
	w.wantReached(all, freed)
	w.wantFading(keys)
}

// crowd makes the line, and gives everybody a socket on one instance.
func (w *world) crowd(at *instance) {
	w.t.Helper()
	must(w.app.PutShow(w.ctx, "crowd", sim.PutShow{
		Name: "Tuesday night", Venue: "The Locksmith", StartsAt: time.Now().AddDate(0, 1, 0), Policy: &sim.Policy{ReleasePerS: new(float64(crowdPace))},
	}))(w.t)
	name := func(i int) string { return fmt.Sprintf("crowd-%04d", i) }
	must(w.app.Import(w.ctx, "crowd", func(yield func(sim.Join) bool) {
		for i := 0; i < crowdFans && yield(sim.Join{FanID: name(i)}); i++ {
		}
	}, nil))(w.t)
	w.sql(`INSERT INTO devices (fan_no, device_id, platform, token, registered_at, used)
		SELECT fan_no, 'phone', 'fcm', 'token-' || fan_id, now(), true FROM fans WHERE right(fan_id, 1) IN ('0', '2', '4', '6', '8')`)
	w.sql(`UPDATE fans SET email = fan_id || '@fans.example' WHERE right(fan_id, 1) IN ('1', '3', '5', '7', '9')`)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 32)
	for i := range crowdFans {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f, err := sim.Connect(w.ctx, sim.FanConfig{
				BaseURLs: []string{at.base}, Token: sim.Token(jwtSecret, name(i), time.Hour), Options: []sim.Option{sim.WithHTTPClient(w.http)},
			})
			if err != nil {
				w.t.Error(err)
				return
			}
			w.t.Cleanup(f.Close)
			if _, err := f.WaitFrame(w.ctx, ofType("cursor")); err != nil {
				w.t.Error(err)
			}
		})
	}
	wg.Wait()
	w.until(10*time.Second, "Redis knows of everybody", func() bool { return len(w.presence()) >= crowdFans })
}

// presence is for how long each key of a fan in Redis still stands.
func (w *world) presence() map[string]time.Duration {
	w.t.Helper()
	client := redis.NewClient(must(redis.ParseURL(w.redis.URL()))(w.t))
	defer client.Close()
	left := map[string]time.Duration{}
	names := must(client.Keys(w.ctx, "fanline:fan:*").Result())(w.t)
	answers := make([]*redis.DurationCmd, len(names))
	must(client.Pipelined(w.ctx, func(p redis.Pipeliner) error {
		for i, name := range names {
			answers[i] = p.PTTL(w.ctx, name)
		}
		return nil
	}))(w.t)
	for i, name := range names {
		left[name] = answers[i].Val()
	}
	return left
}

// wantReached checks that each fan was told of the turn, by what the fan has, in time.
func (w *world) wantReached(all *providers.All, freed time.Time) {
	w.t.Helper()
	var late time.Duration
	by := map[string]int{}
	for _, g := range all.Phones.Log() {
		late = max(late, g.At.Sub(freed))
		by[g.Channel]++
		if !g.Accepted || !strings.Contains(string(g.Payload), "The Locksmith") {
			w.t.Errorf("%+v", g)
		}
	}
	if by[providers.ChannelFCM] != crowdFans/2 || by[providers.ChannelEmail] != crowdFans/2 {
		w.t.Errorf("sends by channel: %v", by)
	}
	// While the lease lives, nobody's silence is a reason to wait longer than for an ack.
	if most := crowdFans/crowdPace*time.Second + 10*time.Second; late > most {
		w.t.Errorf("the last fan was reached %v after the seats were freed, want within %v", late, most)
	}
	w.t.Logf("the last of %d fans was reached %v after the seats were freed", crowdFans, late.Round(time.Millisecond))
}

// wantFading checks that what Redis knew of sockets that are gone ends by itself: each key
// has an end that nobody puts off.
func (w *world) wantFading(before map[string]time.Duration) {
	w.t.Helper()
	const ttl = 90 * time.Second
	for name, left := range w.presence() {
		if left <= 0 || left > ttl || left >= before[name] {
			w.t.Errorf("%s stands for %v more, and stood for %v when the instance died", name, left, before[name])
		}
	}
}
