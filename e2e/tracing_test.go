package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"fanline/sim"
)

// collector is an OpenTelemetry collector that keeps what it got. Names stand in the
// clear in protobuf.
type collector struct {
	mu  sync.Mutex
	got bytes.Buffer
}

func newCollector(t *testing.T) (*collector, string) {
	t.Helper()
	c := &collector{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s of %q: %v", r.Method, r.URL.Path, r.Header.Get("Content-Type"), err)
		}
		c.mu.Lock()
		c.got.Write(body)
		c.mu.Unlock()
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(srv.Close)
	return c, srv.URL
}

func (c *collector) has(words string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Contains(c.got.Bytes(), []byte(words))
}

func TestTracesOfRequestsStatementsAndJobsGoToTheCollectorAndNameNobody(t *testing.T) {
	t.Parallel()
	c, url := newCollector(t)
	w := newWorld(t, 0)
	in := w.newInstance("traced", "OTEL_EXPORTER_OTLP_ENDPOINT="+url, "OTEL_BSP_SCHEDULE_DELAY=100")
	in.launch()
	in.waitReady()
	w.app = sim.NewApp([]string{in.base}, apiSecret, sim.WithHTTPClient(w.http))
	l := w.newLine(t, 1, sim.Policy{})
	_ = must(w.app.Free(w.ctx, l.show, "o1", sim.Free{Quantity: 1, Reason: "returned"}))(t)
	for _, words := range []string{"fanline", "POST /v1/shows/{show}/entries", "INSERT INTO", "river.work/"} {
		w.until(20*time.Second, "a span with "+words, func() bool { return c.has(words) })
	}
	if code := in.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, secret := range []string{l.fans[0], l.show, apiSecret} {
		if c.has(secret) {
			t.Errorf("the traces hold %s", secret)
		}
	}
}

func TestACollectorThatIsAwayHoldsNothingUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	in := w.newInstance("traced", "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+freeAddr(t), "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_EXPORTER_OTLP_TIMEOUT=200")
	in.launch()
	in.waitReady()
	w.app = sim.NewApp([]string{in.base}, apiSecret, sim.WithHTTPClient(w.http))
	w.newLine(t, 3, sim.Policy{})
	if _, err := in.line(w.ctx, `"msg":"traces could not be sent"`); err != nil {
		t.Error(err)
	}
	if code := in.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
