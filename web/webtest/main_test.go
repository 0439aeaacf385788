package webtest

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/golang-jwt/jwt/v5"

	"fanline/delivery/dial"
	"fanline/delivery/live"
	"fanline/fanout"
	"fanline/notifier"
	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
	"fanline/web"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

const (
	appKey    = "app-secret-of-the-tests"
	otherKey  = "another-secret-of-the-tests"
	fanSecret = "fan-secret-of-the-tests-0123456789"
)

// instance is the API as one process serves it: the real handler over the real
// line on Postgres. Decisions are made when the test says so.
type instance struct {
	t       testing.TB
	url     string
	store   *store.Store
	lines   *waitlist.Service
	handler http.Handler
}

// sockets note whom they were told to sign out.
type sockets struct {
	mu  sync.Mutex
	out []int64
	err error
}

func (s *sockets) SignOut(_ context.Context, fanNo int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = append(s.out, fanNo)
	return s.err
}

func (s *sockets) signedOut() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]int64(nil), s.out...)
}

type noStream struct{}

func (noStream) Full() bool { return true }

func (noStream) Serve(context.Context, *websocket.Conn, live.Session) {}

type nobody struct{}

func (nobody) WakeFans(context.Context, []int64) error { return nil }
func (nobody) WakeAll(context.Context) error           { return nil }

type quiet struct{}

func (quiet) Nudge(int32) {}

// newInstance is an instance with a database of its own.
func newInstance(t testing.TB) *instance {
	t.Helper()
	return instanceOn(t, storetest.Database(t, store.Migrate))
}

// instanceOn is one more instance on a database.
func instanceOn(t testing.TB, url string, change ...func(*web.Config)) *instance {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	s, err := store.Open(t.Context(), store.Config{URL: url, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	in := &instance{t: t, url: url, store: s, lines: waitlist.NewService(s, quiet{}, func(...int64) {})}
	t.Cleanup(func() { in.lines.Close(); s.Close() })
	fans, err := web.NewTokenVerifier(web.FanAuth{Secret: fanSecret}, log)
	if err != nil {
		t.Fatal(err)
	}
	cfg := web.Config{
		Lines: in.lines, Inbox: s, Stream: noStream{}, Messages: s, Deliveries: s, Events: s, Tail: notifier.NewTail(s, log), Endpoints: s, EndpointGuard: dial.Guard{}, Answers: s, Recipients: s, Fans: fans,
		Announcer: fanout.Announcer{Store: s, Fanout: fanout.New(nobody{}, log)},
		APIKeys:   []web.APIKey{{Name: "shop", Secret: appKey}, {Name: "box", Secret: otherKey}}, Log: log,
	}
	for _, c := range change {
		c(&cfg)
	}
	server, err := web.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	in.handler = server.Handler()
	return in
}

// answer is what a call got.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

// call sends a request; headers are name, value and so on.
func (in *instance) call(bearer, method, path, body string, headers ...string) answer {
	in.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req := httptest.NewRequest(method, path, r)
	req.Header.Set("Authorization", "Bearer "+bearer)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	in.handler.ServeHTTP(w, req)
	return answer{in.t, w.Code, w.Header(), w.Body.String()}
}

// app calls as the ticketing app.
func (in *instance) app(method, path, body string, headers ...string) answer {
	in.t.Helper()
	return in.call(appKey, method, path, body, headers...)
}

// fan calls as a fan.
func (in *instance) fan(fan, method, path, body string, headers ...string) answer {
	in.t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": fan, "exp": time.Now().Add(time.Hour).Unix()}).
		SignedString([]byte(fanSecret))
	if err != nil {
		in.t.Fatal(err)
	}
	return in.call(token, method, path, body, headers...)
}

// want fails the test unless the call was answered with that status.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// into reads the body.
func (a answer) into(v any) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
}

func (a answer) get(name string) any {
	a.t.Helper()
	var m map[string]any
	a.into(&m)
	return m[name]
}

// show makes a show whose turns all open at once.
func (in *instance) show(id string) {
	in.t.Helper()
	in.app("PUT", "/v1/shows/"+id, `{"name":"Tuesday","venue":"The Locksmith","starts_at":"`+
		time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339)+`","policy":{"release_per_s":10000}}`).want(201)
}

func (in *instance) join(show string, fans ...string) {
	in.t.Helper()
	for _, f := range fans {
		in.app("POST", "/v1/shows/"+show+"/entries", `{"fan_id":"`+f+`"}`).want(201)
	}
}

// free records an opening and has it decided.
func (in *instance) free(show, opening, body string) {
	in.t.Helper()
	in.app("PUT", "/v1/shows/"+show+"/openings/"+opening, body).want(201)
	in.decide()
}

// decide decides until nothing is due now.
func (in *instance) decide() {
	in.t.Helper()
	for range 1000 {
		shows, err := in.store.DueSoon(in.t.Context(), 0)
		if err != nil {
			in.t.Fatal(err)
		}
		if len(shows) == 0 {
			return
		}
		for _, due := range shows {
			if _, err := in.store.DecideShow(in.t.Context(), due.ShowNo); err != nil {
				in.t.Fatal(err)
			}
		}
	}
	in.t.Fatal("decisions do not come to rest")
}

// reason is the reason of a fan's verdict.
func (in *instance) reason(show, opening, fan string) string {
	in.t.Helper()
	reason, _ := in.app("GET", "/v1/shows/"+show+"/openings/"+opening+"/turns/"+fan, "").want(200).get("reason").(string)
	return reason
}

// opened waits for a turn that the pace put a few milliseconds off.
func (in *instance) opened(show, opening, fan string) {
	in.t.Helper()
	for in.t.Context().Err() == nil {
		switch r := in.reason(show, opening, fan); r {
		case "turn_open":
			return
		case "turn_upcoming":
		default:
			in.t.Fatalf("%s at %s: %s, want turn_open", fan, opening, r)
		}
	}
}
