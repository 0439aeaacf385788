package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/golang-jwt/jwt/v5"

	netdial "fanline/delivery/dial"
	"fanline/delivery/live"
	"fanline/fanout"
	"fanline/notifier"
	"fanline/waitlist"
)

const (
	appSecret = "app-secret-of-the-tests"
	fanSecret = "fan-secret-of-the-tests-0123456789"
)

// fakeStream says hello with the session it got, and ends.
type fakeStream struct {
	mu       sync.Mutex
	full     bool
	sessions []live.Session
}

func (f *fakeStream) Full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.full
}

func (f *fakeStream) Serve(ctx context.Context, ws *websocket.Conn, s live.Session) {
	f.mu.Lock()
	f.sessions = append(f.sessions, s)
	f.mu.Unlock()
	_ = ws.Write(ctx, websocket.MessageText, []byte(s.FanID))
	_ = ws.Close(websocket.StatusNormalClosure, "")
}

// nobody is who is woken when nobody is connected.
type nobody struct{}

func (nobody) WakeFans(context.Context, []int64) error { return nil }
func (nobody) WakeAll(context.Context) error           { return nil }

// rig is a server over fakes.
type rig struct {
	t      *testing.T
	server *Server
	store  *fakeStore
	inbox  *fakeInbox
	stream *fakeStream
	log    *syncBuffer
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, store: newFakeStore(), stream: &fakeStream{}, log: &syncBuffer{}}
	r.inbox = &fakeInbox{fakeStore: r.store, items: []notifier.Item{{
		ID: "turn:s1:o1", Kind: notifier.KindTurn, Lane: notifier.Turns, ShowID: "s1", OpeningID: "o1", Title: "T", Body: "B",
		Seats: 2, State: notifier.StateOpen, OpensAt: notifier.StampOf(&noon), CreatedAt: notifier.Stamp(noon),
	}}}
	lines := waitlist.NewService(r.store, r.store, func(...int64) {})
	t.Cleanup(lines.Close)
	fans, err := NewTokenVerifier(FanAuth{Secret: fanSecret}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Lines: lines, Inbox: r.inbox, Announcer: fanout.Announcer{Store: r.store, Fanout: fanout.New(nobody{}, slog.New(slog.DiscardHandler))},
		Stream: r.stream, Recipients: r.store, Messages: r.store, Deliveries: r.store, Callbacks: r.store, Events: r.store, Tail: r.store, Endpoints: r.store, EndpointGuard: netdial.Guard{}, APIKeys: []APIKey{{"box", "other-secret"}, {"shop", appSecret}}, Fans: fans,
		AllowedOrigins: []string{"https://fans.example"}, Log: slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Version: "v0",
	}
	for _, c := range change {
		c(&cfg)
	}
	if r.server, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

// sign makes a fan's token.
func sign(t *testing.T, claims jwt.MapClaims) string {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(fanSecret))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (r *rig) fanToken(fan string) string {
	return sign(r.t, jwt.MapClaims{"sub": fan, "exp": time.Now().Add(time.Hour).Unix()})
}

type response struct {
	*httptest.ResponseRecorder
	t *testing.T
}

func (r *rig) send(req *http.Request) *response {
	r.t.Helper()
	w := httptest.NewRecorder()
	r.server.Handler().ServeHTTP(w, req)
	return &response{w, r.t}
}

// as sends a request with a bearer token and, unless body is "", JSON.
func (r *rig) as(bearer, method, target, body string) *response {
	r.t.Helper()
	var b io.Reader
	if body != "" {
		b = strings.NewReader(body)
	}
	req := httptest.NewRequest(method, target, b)
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	return r.send(req)
}

func (r *rig) app(method, target, body string) *response {
	r.t.Helper()
	return r.as(appSecret, method, target, body)
}

func (r *rig) fan(method, target, body string) *response {
	r.t.Helper()
	return r.as(r.fanToken("ada"), method, target, body)
}

// json reads the answer, which must have that status.
func (w *response) json(status int) map[string]any {
	w.t.Helper()
	if w.Code != status {
		w.t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	var v map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		w.t.Fatalf("not JSON: %v: %s", err, w.Body)
	}
	return v
}

// problem checks that the answer is one of the contract's problems, and that it
// names the field, unless that is "".
func (w *response) problem(status int, code, field string) map[string]any {
	w.t.Helper()
	p := w.json(status)
	if ct := w.Header().Get("Content-Type"); ct != "application/problem+json" {
		w.t.Errorf("Content-Type %q", ct)
	}
	if p["code"] != code || p["status"] != float64(status) || p["type"] != "about:blank" || p["title"] == "" || p["detail"] == "" {
		w.t.Errorf("problem %v, want code %s and status %d", p, code, status)
	}
	if field == "" {
		return p
	}
	for _, e := range list(p["errors"]) {
		if e.(map[string]any)["field"] == field {
			return p
		}
	}
	w.t.Errorf("problem %v does not name %s", p, field)
	return p
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func mustJSON(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}
