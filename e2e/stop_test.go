package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fanline/sim"
)

func TestSIGTERMSendsFansElsewhereAndFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	l := w.newLine(t, 6, sim.Policy{})
	l.connect(l.fans[1:], w.in[1], w.in[0])
	roamer := l.connectWith(l.fans[0], sim.FanConfig{
		BaseURLs: []string{w.in[0].base, w.in[1].base}, Reconnect: true, Backoff: sim.Backoff{Base: 10 * time.Millisecond},
	})
	imported := w.startImport(t, w.in[0], l.show)

	code := make(chan int, 1)
	stopping := time.Now()
	go func() { code <- w.in[0].stop() }()
	for n := 3; n <= 5; n += 2 {
		f := l.fan(n)
		closing := must(f.WaitFrame(w.ctx, ofType("closing")))(t)
		if closing.RetryAfterMS <= 0 {
			t.Errorf("fan %d was told to come again in %d ms", n, closing.RetryAfterMS)
		}
		<-f.Done()
		if got := sim.CloseCode(f.Err()); got != 1001 {
			t.Errorf("the socket of fan %d ended with %d, want 1001", n, got)
		}
	}
	// The request that is under way is answered in full.
	imported.finish(t)
	if got := <-code; got != 0 {
		t.Errorf("exit code %d, want 0", got)
	}
	t.Logf("it took %v to stop", time.Since(stopping).Round(time.Millisecond))
	if _, _, err := w.tryGet(w.in[0].base + "/healthz"); err == nil {
		t.Error("the address still answers")
	}

	// Those who came to the other instance go on hearing.
	w.until(10*time.Second, "the roamer has come to B", func() bool { return roamer.Connects() == 2 })
	l.free(1, "later", 1)
	must(roamer.WaitItem(w.ctx, isTurnOf("later")))(t)
	for n := 2; n <= 6; n += 2 {
		if f := l.fan(n); f.Err() != nil {
			t.Errorf("the socket of fan %d on the other instance was lost: %v", n, f.Err())
		}
	}
}

// slowImport is a request that is half sent.
type slowImport struct {
	body   *io.PipeWriter
	answer chan string
}

// importPart is more lines than an import takes in at a time, so that the first of
// them can be seen before the rest is sent.
const importPart = 5000

func (w *world) startImport(t *testing.T, in *instance, show string) *slowImport {
	t.Helper()
	r, body := io.Pipe()
	t.Cleanup(func() { body.Close() })
	imp := &slowImport{body: body, answer: make(chan string, 1)}
	req, err := http.NewRequestWithContext(w.ctx, http.MethodPost, in.base+"/v1/shows/"+show+"/entries:import", r)
	check(t, err)
	req.Header.Set("Authorization", "Bearer "+apiSecret)
	req.Header.Set("Content-Type", "application/x-ndjson")
	go func() {
		resp, err := w.http.Do(req)
		if err != nil {
			imp.answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body) // a short one is no JSON
		imp.answer <- fmt.Sprintf("%d %s", resp.StatusCode, b)
	}()
	imp.send(t, 0)
	w.until(20*time.Second, "the import is under way", func() bool {
		_, err := w.app.At(1).Entry(w.ctx, show, importFan(0))
		return err == nil
	})
	return imp
}

func importFan(n int) string { return fmt.Sprintf("imported-%05d", n) }

func (imp *slowImport) send(t *testing.T, from int) {
	t.Helper()
	out := bufio.NewWriter(imp.body)
	for n := range importPart {
		fmt.Fprintf(out, `{"fan_id":%q}`+"\n", importFan(from+n))
	}
	check(t, out.Flush())
}

func (imp *slowImport) finish(t *testing.T) {
	t.Helper()
	imp.send(t, importPart)
	check(t, imp.body.Close())
	status, body, _ := strings.Cut(<-imp.answer, " ")
	var report sim.ImportReport
	if err := json.Unmarshal([]byte(body), &report); status != "200" || err != nil || report.Imported != 2*importPart {
		t.Errorf("the import that was under way was answered %s %s", status, body)
	}
}

func TestMetricsAreOnTheOperationsAddressAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	l := w.newLine(t, 2, sim.Policy{})
	l.connect(l.fans, w.in[0])
	status, body := w.get("http://" + w.in[0].ops + "/metrics")
	if status != http.StatusOK || !strings.Contains(body, "\nfanline_sockets 2\n") {
		t.Errorf("the operations address answers %d, and two sockets are not in:\n%s", status, body)
	}
	for _, path := range []string{"/metrics", "/debug/pprof/"} {
		if status, _ := w.get(w.in[0].base + path); status != http.StatusNotFound {
			t.Errorf("the public address answers %s with %d", path, status)
		}
	}
	for _, path := range []string{"/v1/shows", "/v1/me/inbox"} {
		if status, _ := w.get("http://" + w.in[0].ops + path); status != http.StatusNotFound {
			t.Errorf("the operations address answers %s with %d", path, status)
		}
		if status, _ := w.get(w.in[0].base + path); status != http.StatusUnauthorized {
			t.Errorf("the public address lets nobody's %s in with %d", path, status)
		}
	}
}

// What was written with credentials in it, right or wrong, is searched by every
// test when it ends; this one sees to it that there is something to find.
func TestLogsHoldNoSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	l := w.newLine(t, 1, sim.Policy{})
	for _, bearer := range []string{apiSecret, jwtSecret, sim.Token(jwtSecret, l.fans[0], -time.Hour), sim.Token(apiSecret, "mallory", time.Hour)} {
		for _, path := range []string{"/v1/me/inbox?token=" + bearer, "/v1/shows?key=" + bearer, "/v1/me/stream?access_token=" + bearer, "/" + bearer} {
			req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, w.in[0].base+path, nil)
			check(t, err)
			req.Header.Set("Authorization", "Bearer "+bearer)
			req.Header.Set("Sec-WebSocket-Protocol", "fanline.v1, bearer."+bearer)
			resp, err := w.http.Do(req)
			check(t, err)
			resp.Body.Close()
		}
	}
	f := l.connectWith(l.fans[0], sim.FanConfig{BaseURLs: []string{w.in[0].base}, Browser: true})
	check(t, f.Renew(w.ctx, sim.Token(jwtSecret, l.fans[0], 2*time.Hour)))
	check(t, f.Send(w.ctx, map[string]string{"type": "token", "token": sim.Token(apiSecret, l.fans[0], time.Hour)}))
	<-f.Done()
	if code := w.in[0].stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if out := w.in[0].out.all(); strings.Count(out, `"msg":"request"`) < 10 {
		t.Errorf("the requests are not in the log:\n%s", out)
	}
}
