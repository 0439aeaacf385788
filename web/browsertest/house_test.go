package browsertest

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"fanline/delivery/live"
	"fanline/fanout"
	"fanline/notifier"
	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
	"fanline/web"
	"fanline/web/admin"
	"fanline/web/demo"
)

const (
	appKey    = "app-secret-of-the-tests"
	fanSecret = "fan-secret-of-the-tests-0123456789"
	// staffPassword is that of admin in the box office.
	staffPassword = "staff-password-of-the-tests"
)

// staff are made once: their hash is slow to make.
var staff = sync.OnceValue(func() *admin.Users {
	users, err := admin.SingleUser(staffPassword)
	if err != nil {
		panic(err) // it is long enough
	}
	return users
})

// house is one instance of Fanline at an address that stays over restarts, with a
// door that a test can shut, and whose sockets it can cut.
type house struct {
	t    testing.TB
	db   string
	addr string
	url  string

	refusing atomic.Int64  // how many more upgrades the door answers with 503
	dials    atomic.Int64  // upgrades that came, also those refused
	declines chan struct{} // where it is not nil, declines wait until it is closed
	pushKey  string        // that of Web Push, from the next restart on
	app      string        // a page of an app, at /app?fan=, which finds the fan's token at /my/fan-token
	mu       sync.Mutex
	sockets  map[net.Conn]bool

	*instance
}

// instance is one run of it.
type instance struct {
	store    *store.Store
	clock    *store.Clock
	fanout   *fanout.Fanout
	deadline *waitlist.Clock
	lines    *waitlist.Service
	hub      *live.Hub
	http     *http.Server
	served   chan struct{}
}

// newHouse opens a house on a database of the test's own.
func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, db: storetest.Database(t, store.Migrate), sockets: map[net.Conn]bool{}}
	h.open("127.0.0.1:0")
	t.Cleanup(func() { h.close() })
	return h
}

// restart stops the server as it is asked to, and starts another at the address.
func (h *house) restart() {
	h.t.Helper()
	h.close()
	h.open(h.addr)
}

func (h *house) open(addr string) {
	h.t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		h.t.Fatal(err)
	}
	h.addr = ln.Addr().String()
	h.url = "http://" + h.addr
	log := slog.New(slog.DiscardHandler)
	in := &instance{served: make(chan struct{})}
	h.instance = in
	in.store = must(store.Open(h.t.Context(), store.Config{URL: h.db, Log: log}))(h.t)
	in.clock = must(in.store.NewClock(h.t.Context()))(h.t)
	in.fanout = fanout.New(waker{h}, log)
	in.deadline = waitlist.NewClock(in.store, log, in.fanout.Decided)
	in.lines = waitlist.NewService(in.store, in.deadline, in.fanout.Changed)
	fans := must(web.NewTokenVerifier(web.FanAuth{Secret: fanSecret}, log))(h.t)
	in.hub = must(live.NewHub(live.HubConfig{
		Feed: in.store.Feed(), Lines: in.store.Lines(), Clock: in.clock, Acts: acts{in}, Verify: fans.Verify, Log: log,
	}))(h.t)
	announcer := fanout.Announcer{Store: in.store, Fanout: in.fanout}
	pages := must(admin.New(admin.Config{Line: in.lines, Announcer: announcer, Records: in.store, Users: staff(), Log: log}))(h.t)
	server := must(web.New(web.Config{
		Lines: in.lines, Inbox: in.store, Stream: in.hub, Answers: in.store, Sockets: signer{h}, Fans: fans,
		Announcer: announcer, Admin: pages.Handler(), Recipients: in.store, WebPushKey: h.pushKey,
		Messages: &notifier.Intake{Messages: in.store, Changed: in.fanout.Changed},
		APIKeys:  []web.APIKey{{Name: "shop", Secret: appKey}}, AllowedOrigins: []string{h.url}, Log: log,
		Demo: demo.Handler(&stage{h}, log),
	}))(h.t)
	in.deadline.Start()
	if err := in.hub.Start(context.Background()); err != nil {
		h.t.Fatal(err)
	}
	in.http = &http.Server{Handler: h.door(server.Handler()), ConnState: h.note, ReadHeaderTimeout: patience}
	go func() {
		defer close(in.served)
		_ = in.http.Serve(ln)
	}()
}

// close stops in the order of the program: sockets first.
func (h *house) close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	in := h.instance
	if err := errors.Join(in.hub.Stop(ctx), in.http.Shutdown(ctx)); err != nil {
		h.t.Error(err)
	}
	<-in.served
	in.lines.Close()
	in.deadline.Stop()
	in.fanout.Wait()
	in.clock.Stop()
	in.store.Close()
}

// wake has the hub look now; decisions may come while the instance is being made.
func (h *house) wake() {
	if h.hub != nil {
		h.hub.Wake()
	}
}

// door is before everything: an empty page for scripts of tests, and the refusals.
func (h *house) door(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/empty"):
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<!doctype html><title>empty</title><link rel="icon" href="data:,">`))
			return
		case r.URL.Path == "/app":
			w.Header().Set("Content-Type", "text/html")
			http.SetCookie(w, &http.Cookie{Name: "fan", Value: r.URL.Query().Get("fan")})
			_, _ = w.Write([]byte(`<!doctype html><title>app</title><link rel="icon" href="data:,">` + h.app))
			return
		case r.URL.Path == "/my/fan-token":
			if fan, err := r.Cookie("fan"); err == nil {
				_, _ = w.Write([]byte(token(fan.Value, time.Hour)))
			}
			return
		case h.declines != nil && strings.HasSuffix(r.URL.Path, "/decline"):
			<-h.declines
		case r.URL.Path == "/v1/me/stream":
			h.dials.Add(1)
			if h.refusing.Add(-1) >= 0 {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// note keeps the sockets, which a server does not know any more once they are upgraded.
func (h *house) note(c net.Conn, state http.ConnState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if state == http.StateHijacked {
		h.sockets[c] = true
	}
}

// cut cuts every socket without a word.
func (h *house) cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.sockets {
		_ = c.Close()
	}
	clear(h.sockets)
}

// waker is a registry of one instance.
type waker struct{ h *house }

func (w waker) WakeFans(context.Context, []int64) error { w.h.wake(); return nil }

func (w waker) WakeAll(context.Context) error { w.h.wake(); return nil }

type acts struct{ in *instance }

func (a acts) Connected(ctx context.Context, fan string) error { return a.in.lines.Wake(ctx, fan) }

func (a acts) Ack(ctx context.Context, fan string, _ []string) error {
	return a.in.lines.Wake(ctx, fan)
}

func (a acts) Read(ctx context.Context, fan string, ids []string) error {
	_, err := a.in.store.MarkRead(ctx, fan, ids)
	return err
}

type signer struct{ h *house }

func (s signer) SignOut(ctx context.Context, fanNo int64) error {
	defer s.h.wake()
	return s.h.store.SignOut(ctx, fanNo)
}

// The ticketing app.

func (h *house) show(id, name, venue string, window time.Duration) {
	h.t.Helper()
	_, _, err := h.lines.PutShow(h.t.Context(), id, waitlist.ShowChange{
		Name: waitlist.Some(name), Venue: waitlist.Some(venue), StartsAt: waitlist.Some(time.Now().Add(24 * time.Hour)),
		Policy: waitlist.Some(waitlist.PolicyChange{ClaimWindowS: waitlist.Some(int(window.Seconds())), HoldS: waitlist.Some(int(window.Seconds()))}),
	})
	check(h.t, err)
}

func (h *house) join(show string, fans ...string) {
	h.t.Helper()
	for _, f := range fans {
		_, _, err := h.lines.Join(h.t.Context(), show, waitlist.Join{FanID: f, Party: 1})
		check(h.t, err)
	}
}

func (h *house) free(show, opening string) {
	h.t.Helper()
	_, _, err := h.lines.Record(h.t.Context(), show, waitlist.NewOpening{ID: opening, Quantity: 1, Reason: "returned"})
	check(h.t, err)
}

// reason is the reason of a fan's verdict.
func (h *house) reason(show, opening, fan string) string {
	h.t.Helper()
	v, err := h.lines.Verdict(h.t.Context(), waitlist.OpeningRef{ShowID: show, OpeningID: opening}, fan)
	check(h.t, err)
	return string(v.Reason)
}

// token is a fan's, good for as long.
func token(fan string, life time.Duration) string {
	claims := jwt.MapClaims{"sub": fan, "exp": time.Now().Add(life).Unix(), "jti": rand.Text()}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(fanSecret))
	if err != nil {
		panic(err) // HS256 with a key of bytes cannot fail
	}
	return signed
}

// stage is the ticketing app behind the fan page.
type stage struct{ h *house }

func (s *stage) Scene(ctx context.Context) (scene demo.Scene, err error) {
	shows, err := s.h.store.Shows(ctx, "", 10)
	for _, show := range shows {
		scene.Shows = append(scene.Shows, demo.Show{
			ID: show.ID, Name: show.Name, Venue: show.Venue, StartsAt: show.StartsAt.Format(time.RFC3339), Waiting: show.Waiting,
		})
		entries, err := s.h.lines.Entries(ctx, show.ID, waitlist.EntryFilter{Limit: 20})
		if err != nil {
			return scene, err
		}
		for i, e := range entries {
			scene.Fans = append(scene.Fans, demo.Fan{ID: e.FanID, ShowID: show.ID, Position: int64(i + 1)})
		}
	}
	return scene, err
}

func (s *stage) Token(_ context.Context, fan string) (string, error) {
	return token(fan, time.Hour), nil
}

func (s *stage) Pay(ctx context.Context, claim string) error {
	_, err := s.h.lines.Confirm(ctx, claim)
	return err
}

func (s *stage) Join(ctx context.Context, show, fan string) error {
	_, _, err := s.h.lines.Join(ctx, show, waitlist.Join{FanID: fan, Party: 1})
	return err
}

func (s *stage) Free(ctx context.Context, show string) error {
	_, _, err := s.h.lines.Record(ctx, show, waitlist.NewOpening{ID: "hand-" + time.Now().Format("150405.000"), Quantity: 1, Reason: "returned"})
	return err
}

// check fails the test on an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must is check for a call with a value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}
