package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"fanline/sim"
	"fanline/sim/providers"
)

// A blast through kill -9 at random moments, with Redis killed and empty in between:
// nobody is missed, and whoever is sent it twice, since their process died between the
// provider's answer and the record, has one alert.
func TestABlastSurvivesKillNineAndTheLossOfRedis(t *testing.T) {
	t.Parallel()
	if *rounds < 2 {
		t.Skip("takes minutes, in which the jobs of dead processes are waited for: it is of the long fault rounds")
	}
	const fans, kills = 5000, 10
	r := random(t)
	w := newWorldOn(t, 0, database(t))
	all := must(providers.StartAll(providers.NewPhones(providers.PhonesConfig{Keep: 20_000})))(t)
	t.Cleanup(all.Close)
	for _, name := range []string{"A", "B"} {
		in := w.newInstance(name)
		in.env = append(phoneEnv(t, all), "FANLINE_PUBLIC_URL="+in.base, "FANLINE_LIMITS=fcm=400/s")
		in.launch()
		in.waitReady()
	}
	all.FCM.Always("", providers.Answer{Delay: 30 * time.Millisecond})
	w.app = sim.NewApp([]string{w.in[0].base, w.in[1].base}, apiSecret, sim.WithHTTPClient(w.http), patience)
	w.audience("s", fans)
	must(w.app.Call(w.ctx, http.MethodPost, "/v1/shows/s/announcements",
		map[string]any{"id": "a", "title": "Doors at seven", "body": "See you", "channels": []string{"fcm"}}, nil))(t)
	must(all.Phones.Wait(w.ctx, func(providers.Got) bool { return true }))(t)
	var deaths []death
	for n := range kills {
		time.Sleep(time.Duration(r.Int64N(int64(2 * time.Second)))) // the moment is the point
		in, d := w.in[n%2], death{after: time.Now()}
		in.kill()
		d.before = time.Now()
		t.Logf("killed %s after %d sends", in.name, all.Phones.Counts().Accepted)
		if n == kills/2 {
			w.redis.Kill()
			check(t, w.redis.Restart(w.ctx)) // with nothing in it
		}
		deaths = append(deaths, d)
		in.restart()
	}
	began := time.Now()
	w.comesToNothing(3*time.Minute, func() (missed int) { return fans - all.Phones.Counts().Addresses })
	// The jobs that were under way run again to their end.
	w.comesToNothing(2*time.Minute, w.queued)
	t.Logf("all were sent it %v after the last kill", time.Since(began))
	wantOneAlert(t, all.Phones.Log(), fans, deaths)
}

// audience is a line of fans with a device each.
func (w *world) audience(show string, n int) {
	w.t.Helper()
	must(w.app.PutShow(w.ctx, show, sim.PutShow{Name: "Stadium", Venue: "Field", StartsAt: time.Now().Add(24 * time.Hour)}))(w.t)
	must(w.app.Import(w.ctx, show, func(yield func(sim.Join) bool) {
		for i := range n {
			if !yield(sim.Join{FanID: fmt.Sprintf("f%05d", i)}) {
				return
			}
		}
	}, nil))(w.t)
	w.sql(`
		INSERT INTO devices (fan_no, device_id, platform, token, registered_at)
		SELECT fan_no, 'phone', 'fcm', 'token-of-' || fan_id, clock_timestamp() - interval '1 hour' FROM fans`)
}

// queued counts the jobs that are not done.
func (w *world) queued() int {
	w.t.Helper()
	return int(w.number(`SELECT count(*) FROM river_job WHERE state NOT IN ('completed', 'discarded', 'cancelled')`))
}

// comesToNothing waits until nothing is left.
func (w *world) comesToNothing(patience time.Duration, left func() int) {
	w.t.Helper()
	for end := time.Now().Add(patience); left() > 0; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%d are left", left())
		}
	}
}
