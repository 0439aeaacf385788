package e2e_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"fanline/sim"
)

// kept is what a caller with an idempotency key remembers of an answer.
type kept struct {
	status   int
	body     string
	replayed bool
}

// post sends a request with a key to one instance. It is not ok when no whole
// answer came: that is when the caller sends it again.
func (w *world) post(in *instance, path, body, key string) (k kept, ok bool) {
	req, err := http.NewRequestWithContext(w.ctx, "POST", in.base+path, strings.NewReader(body))
	if err != nil {
		w.t.Error(err)
		return k, false
	}
	req.Header.Set("Authorization", "Bearer "+apiSecret)
	req.Header.Set("Idempotency-Key", key)
	resp, err := w.http.Do(req)
	if err != nil {
		return k, false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return kept{resp.StatusCode, string(b), resp.Header.Get("Idempotency-Replayed") == "true"}, err == nil && resp.StatusCode < 500
}

// TestARequestWithAKeyTakesEffectOnceThroughKillNine kills an instance under a storm of joins. Who got no answer asks
// the other instance, and in the end everybody asks once more.
func TestARequestWithAKeyTakesEffectOnceThroughKillNine(t *testing.T) {
	t.Parallel()
	r := random(t)
	w := newWorld(t, 2)
	for round := range *rounds {
		l := w.newLine(t, 0, sim.Policy{})
		const fans = 400
		path := "/v1/shows/" + l.show + "/entries"
		join := func(in *instance, n int) (kept, bool) {
			return w.post(in, path, fmt.Sprintf(`{"fan_id":"%s-%d"}`, l.show, n), fmt.Sprintf("%s %d", l.show, n))
		}
		first, unanswered := storm(r, w.in[0], fans, join)
		t.Logf("round %d: %d of %d joins got no answer", round+1, unanswered, fans)
		replayed := 0
		for n := range fans {
			again, ok := join(w.in[1], n)
			if !ok || again.status != http.StatusCreated {
				t.Fatalf("join %d: %+v", n, again)
			}
			if first[n].status != 0 && (again.body != first[n].body || !again.replayed) {
				t.Errorf("join %d was answered %+v, then %+v", n, first[n], again)
			}
			if first[n].status == 0 && again.replayed {
				replayed++
			}
		}
		t.Logf("%d of those had taken effect", replayed)
		if n := w.number(`SELECT count(*) FROM entries e JOIN shows USING (show_no) WHERE show_id = $1`, l.show); n != fans {
			t.Errorf("%d entries, want %d", n, fans)
		}
		if n := w.number(`SELECT count(*) FROM entry_log l JOIN shows USING (show_no) WHERE show_id = $1`, l.show); n != 0 {
			t.Errorf("%d entries were changed by repeats", n)
		}
		w.in[0].restart()
	}
}

// storm sends requests to an instance that is killed among them, after so many were answered.
func storm(r *rand.Rand, victim *instance, n int, send func(*instance, int) (kept, bool)) (answers []kept, unanswered int) {
	answers = make([]kept, n)
	answered := make(chan struct{}, n)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range n {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if k, ok := send(victim, i); ok {
				answers[i] = k
				answered <- struct{}{}
			}
		})
	}
	for range 1 + r.IntN(n/2) {
		select {
		case <-answered:
		case <-victim.w.ctx.Done():
		}
	}
	victim.kill()
	wg.Wait()
	for _, k := range answers {
		if k.status == 0 {
			unanswered++
		}
	}
	return answers, unanswered
}

// TestSignOutAndErasureCloseSocketsOnEveryInstance calls one instance for sockets on both.
func TestSignOutAndErasureCloseSocketsOnEveryInstance(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	l := w.newLine(t, 3, sim.Policy{})
	for i, call := range []struct{ method, path string }{{"POST", "/v1/fans/%s/sign-out"}, {"DELETE", "/v1/fans/%s"}} {
		fan := l.fans[i]
		var sockets []*sim.Fan
		for _, in := range w.in {
			f, err := sim.Connect(w.ctx, sim.FanConfig{BaseURLs: []string{in.base}, Token: sim.Token(jwtSecret, fan, time.Hour)})
			check(t, err)
			t.Cleanup(f.Kill)
			// Entered: before, it is not yet known whose it is.
			if _, err := f.WaitFrame(w.ctx, func(f sim.Frame) bool { return f.Type == "cursor" }); err != nil {
				t.Fatal(err)
			}
			sockets = append(sockets, f)
		}
		status := 0
		w.until(5*time.Second, "204", func() bool {
			req, err := http.NewRequestWithContext(w.ctx, call.method, w.in[0].base+fmt.Sprintf(call.path, fan), http.NoBody)
			check(t, err)
			req.Header.Set("Authorization", "Bearer "+apiSecret)
			resp, err := w.http.Do(req)
			check(t, err)
			status = resp.StatusCode
			_ = resp.Body.Close()
			return status == http.StatusNoContent
		})
		for at, f := range sockets {
			select {
			case <-f.Done():
				if code := sim.CloseCode(f.Err()); code != 4002 {
					t.Errorf("%s: the socket on instance %d ended with %v (%d), want 4002", call.method, at, f.Err(), code)
				}
			case <-w.ctx.Done():
				t.Fatalf("%s: the socket on instance %d lives on", call.method, at)
			}
		}
	}
	if n := w.number(`SELECT count(*) FROM fans WHERE fan_id = $1`, l.fans[1]); n != 0 {
		t.Error("the erased fan is still there")
	}
}
