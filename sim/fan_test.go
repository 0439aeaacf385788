package sim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// streams is a server whose sockets a test plays by hand, one after the other.
type streams struct {
	url  string
	next chan *socket
	gone chan struct{} // closed when the test ends

	mu     sync.Mutex
	refuse []http.HandlerFunc // the first requests, before any socket
}

// socket is one accepted connection. The handler holds it until the test lets go.
type socket struct {
	ws      *websocket.Conn
	request *http.Request
	frames  chan string // what the client sent
	ended   chan error  // how the reading ended
}

func serveStreams(t *testing.T, refuse ...http.HandlerFunc) *streams {
	t.Helper()
	s := &streams{next: make(chan *socket, 16), gone: make(chan struct{}), refuse: refuse}
	srv := httptest.NewServer(s)
	s.url = srv.URL
	t.Cleanup(func() { close(s.gone); srv.Close() })
	return s
}

func (s *streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if len(s.refuse) > 0 {
		h := s.refuse[0]
		s.refuse = s.refuse[1:]
		s.mu.Unlock()
		h(w, r)
		return
	}
	s.mu.Unlock()
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: []string{"fanline.v1"}, InsecureSkipVerify: true,
	})
	if err != nil {
		return
	}
	k := &socket{ws: ws, request: r, frames: make(chan string, 64), ended: make(chan error, 1)}
	go k.read()
	s.next <- k
	<-s.gone
	ws.CloseNow()
}

func (k *socket) read() {
	for {
		_, raw, err := k.ws.Read(context.Background())
		if err != nil {
			k.ended <- err
			return
		}
		k.frames <- string(raw)
	}
}

func (k *socket) say(t *testing.T, frames ...string) {
	t.Helper()
	for _, f := range frames {
		if err := k.ws.Write(t.Context(), websocket.MessageText, []byte(f)); err != nil {
			t.Fatal(err)
		}
	}
}

func take[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came in 20 s")
		panic("unreachable")
	}
}

func item(id string) string { return fmt.Sprintf(`{"type":"item","item":{"id":%q,"kind":"turn"}}`, id) }

const hello = `{"type":"hello","session":"s1","heartbeat_s":25,"now":"2026-01-02T03:04:05.678Z","reset":false}`

// join connects a fan that comes back at once, and its first socket.
func (s *streams) join(t *testing.T, cfg FanConfig) (*Fan, *socket) {
	t.Helper()
	cfg.BaseURLs = []string{s.url}
	if cfg.Token == "" {
		cfg.Token = "t1"
	}
	cfg.Backoff.Rand = func() float64 { return 0 }
	f, err := Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Kill)
	return f, take(t, s.next)
}

func ids(items []Item) []string {
	var all []string
	for _, i := range items {
		all = append(all, i.ID)
	}
	return all
}

func TestFanComesBackAfterTheLastCursorAndDropsDoubles(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	f, first := s.join(t, FanConfig{Reconnect: true})
	if got := first.request.URL.RequestURI(); got != "/v1/me/stream" {
		t.Errorf("the first connection asks for %s", got)
	}
	first.say(t, hello, item("a"), `{"type":"cursor","cursor":"c 1"}`, item("b"))
	if _, err := f.WaitItem(t.Context(), func(i Item) bool { return i.ID == "b" }); err != nil {
		t.Fatal(err)
	}
	first.ws.CloseNow()

	second := take(t, s.next)
	if got := second.request.URL.RequestURI(); got != "/v1/me/stream?after=c+1" {
		t.Errorf("the second connection asks for %s", got)
	}
	second.say(t, hello, item("b"), item("c"))
	if _, err := f.WaitItem(t.Context(), func(i Item) bool { return i.ID == "c" }); err != nil {
		t.Fatal(err)
	}
	if got := ids(f.Items()); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("items %v", got)
	}
	if f.Doubles() != 1 || f.Connects() != 2 || f.Session() != "s1" {
		t.Errorf("%d doubles, %d connects, session %q", f.Doubles(), f.Connects(), f.Session())
	}
}

func TestCloseCodeDecidesWhetherTheFanComesBack(t *testing.T) {
	t.Parallel()
	for code, back := range map[int]bool{
		1000: true, 1001: true, 1011: true, 1012: true, 4000: true,
		4001: false, 4002: false, 4003: false, 4007: false, 4008: true, 4009: false, 4400: false,
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			s := serveStreams(t)
			f, k := s.join(t, FanConfig{Reconnect: true})
			k.ws.Close(websocket.StatusCode(code), "")
			if back {
				take(t, s.next)
				return
			}
			take(t, f.Done())
			if got := CloseCode(f.Err()); got != code {
				t.Errorf("ended with %d: %v", got, f.Err())
			}
			if f.Connects() != 1 {
				t.Errorf("%d connects", f.Connects())
			}
		})
	}
}

func TestWithoutReconnectTheFanEndsWithItsSocket(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	f, k := s.join(t, FanConfig{})
	k.say(t, item("a"))
	k.ws.Close(1001, "")
	if _, err := f.WaitItem(t.Context(), func(i Item) bool { return i.ID == "none" }); CloseCode(err) != 1001 {
		t.Errorf("waiting ends with %v", err)
	}
	if got := ids(f.Items()); !slices.Equal(got, []string{"a"}) {
		t.Errorf("items %v", got)
	}
}

func TestFanWaitsAtLeastAsLongAsTheServerAsks(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	waits := make(chan time.Duration, 4)
	f, k := s.join(t, FanConfig{Reconnect: true, Options: []Option{func(c *client) {
		c.pause = func(ctx context.Context, d time.Duration) error { waits <- d; return ctx.Err() }
	}}})
	s.mu.Lock()
	s.refuse = []http.HandlerFunc{problem(503, "unavailable", "3")}
	s.mu.Unlock()
	k.say(t, hello, `{"type":"closing","retry_after_ms":1500}`)
	k.ws.Close(1001, "draining")
	take(t, s.next).say(t, item("a"))
	if _, err := f.WaitItem(t.Context(), func(Item) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if got := take(t, waits); got != 1500*time.Millisecond {
		t.Errorf("after draining it waits %v", got)
	}
	if got := take(t, waits); got != 3*time.Second {
		t.Errorf("after a 503 it waits %v", got)
	}
	if f.Connects() != 2 {
		t.Errorf("%d connects", f.Connects())
	}
}

func TestFanThatIsNotLetInSaysWhy(t *testing.T) {
	t.Parallel()
	s := serveStreams(t, problem(401, "unauthenticated", ""), problem(503, "unavailable", "9"))
	_, err := Connect(t.Context(), FanConfig{BaseURLs: []string{s.url}, Token: "bad", Reconnect: true})
	if CodeOf(err) != "unauthenticated" {
		t.Errorf("a bad token: %v", err)
	}
	_, err = Connect(t.Context(), FanConfig{BaseURLs: []string{s.url}, Token: "t"})
	var p *Problem
	if !errors.As(err, &p) || p.RetryAfter != 9*time.Second {
		t.Errorf("a full server: %v", err)
	}
}

func TestConnectGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	refused := httptest.NewServer(http.NotFoundHandler())
	refused.Close()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Connect(ctx, FanConfig{
		BaseURLs: []string{refused.URL}, Reconnect: true,
		Backoff: Backoff{Rand: func() float64 { cancel(); return 0.5 }},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestKillSendsNoCloseFrame(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	f, k := s.join(t, FanConfig{Reconnect: true})
	f.Kill()
	f.Kill()
	if err := take(t, k.ended); CloseCode(err) != -1 {
		t.Errorf("the server got %v", err)
	}
	if !errors.Is(f.Err(), ErrClosed) {
		t.Errorf("ended with %v", f.Err())
	}
}

func TestCloseSaysGoodbye(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	f, k := s.join(t, FanConfig{Reconnect: true})
	f.Close()
	f.Close()
	if err := take(t, k.ended); CloseCode(err) != 1000 {
		t.Errorf("the server got %v", err)
	}
	if !errors.Is(f.Err(), ErrClosed) {
		t.Errorf("ended with %v", f.Err())
	}
}

func TestCloseWhileComingBackEndsTheFan(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	waiting := make(chan struct{}, 1)
	f, k := s.join(t, FanConfig{Reconnect: true, Options: []Option{func(c *client) {
		c.pause = func(ctx context.Context, _ time.Duration) error {
			waiting <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
	}}})
	k.ws.CloseNow()
	take(t, waiting)
	f.Close()
	if f.Connects() != 1 || !errors.Is(f.Err(), ErrClosed) {
		t.Errorf("%d connects, %v", f.Connects(), f.Err())
	}
}

func TestCutFanComesBack(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	f, k := s.join(t, FanConfig{Reconnect: true})
	f.Cut()
	if err := take(t, k.ended); CloseCode(err) != -1 {
		t.Errorf("the server got %v", err)
	}
	take(t, s.next)
}

func TestSilentServerIsLeft(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	_, k := s.join(t, FanConfig{Reconnect: true})
	k.say(t, `{"type":"hello","heartbeat_s":0.01}`)
	take(t, s.next)
}

func TestPingsOfTheServerKeepTheFan(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	f, k := s.join(t, FanConfig{Reconnect: true})
	k.say(t, `{"type":"hello","heartbeat_s":1}`)
	// Longer than the two and a half beats after which silence would be noticed.
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 30 {
		<-tick.C
		if err := k.ws.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if f.Connects() != 1 {
		t.Errorf("%d connects", f.Connects())
	}
}

func TestFanSpeaksTheClientFrames(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	f, k := s.join(t, FanConfig{AutoAck: true})
	ctx := t.Context()
	err := errors.Join(f.Ping(ctx), f.Ack(ctx, "a", "b"), f.Read(ctx, "c"), f.Renew(ctx, "t2"), f.Send(ctx, []byte("{bad")))
	if err != nil {
		t.Fatal(err)
	}
	k.say(t, item("d"))
	for _, want := range []string{
		`{"type":"ping"}`, `{"ids":["a","b"],"type":"ack"}`, `{"ids":["c"],"type":"read"}`,
		`{"token":"t2","type":"token"}`, `{bad`, `{"ids":["d"],"type":"ack"}`,
	} {
		if got := take(t, k.frames); got != want {
			t.Errorf("sent %s, want %s", got, want)
		}
	}
}

func TestBrowserSendsTheTokenAsSubprotocol(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	_, plain := s.join(t, FanConfig{Token: "t"})
	_, browser := s.join(t, FanConfig{Token: "t", Browser: true, Origin: "https://tickets.example"})
	if h := plain.request.Header; h.Get("Authorization") != "Bearer t" || h.Get("Origin") != "" {
		t.Errorf("headers %v", h)
	}
	h := browser.request.Header
	if got := h.Get("Sec-WebSocket-Protocol"); got != "fanline.v1,bearer.t" && got != "fanline.v1, bearer.t" {
		t.Errorf("subprotocols %q", got)
	}
	if h.Get("Authorization") != "" || h.Get("Origin") != "https://tickets.example" {
		t.Errorf("headers %v", h)
	}
}

func TestBoundedFanKeepsTheNewestFrames(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	heard := make(chan Frame, 32)
	f, k := s.join(t, FanConfig{Keep: 3, OnFrame: func(fr Frame) { heard <- fr }})
	for n := range 10 {
		k.say(t, item(fmt.Sprint(n)))
	}
	for n := range 10 {
		if fr := take(t, heard); fr.Item.ID != fmt.Sprint(n) || fr.At.IsZero() || fr.Item.At != fr.At || len(fr.Raw) == 0 {
			t.Errorf("frame %d is %+v", n, fr)
		}
	}
	if got := ids(f.Items()); !slices.Equal(got, []string{"7", "8", "9"}) {
		t.Errorf("kept %v", got)
	}
}

func TestBoundedFanStillKnowsRecentDoubles(t *testing.T) {
	t.Parallel()
	l := newFrameLog(2)
	for n := range seenBound + 5 {
		l.add(&Frame{Type: "item", Item: &Item{ID: fmt.Sprint(n)}})
	}
	for _, c := range []struct {
		id     string
		double bool
	}{{fmt.Sprint(seenBound + 4), true}, {"5", true}, {"0", false}} {
		fr := Frame{Type: "item", Item: &Item{ID: c.id}}
		if l.add(&fr); fr.Double != c.double {
			t.Errorf("item %s: double %v", c.id, fr.Double)
		}
	}
	if len(l.seen) > seenBound || len(l.frames) > 4 {
		t.Errorf("%d ids and %d frames kept", len(l.seen), len(l.frames))
	}
}

func TestWaitUpdateFindsWhatCameBefore(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	f, k := s.join(t, FanConfig{})
	k.say(t, `{"type":"update","id":"turn:s:o","state":"open"}`, `{"type":"update","id":"turn:s:o","state":"over"}`, item("end"))
	if _, err := f.WaitItem(t.Context(), func(Item) bool { return true }); err != nil {
		t.Fatal(err)
	}
	for state, want := range map[string]string{"over": "over", "": "open"} {
		if fr, err := f.WaitUpdate(t.Context(), "turn:s:o", state); err != nil || fr.State != want {
			t.Errorf("%q: got %q, %v", state, fr.State, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.WaitUpdate(ctx, "turn:s:o", "claimed"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOddFrameEndsTheConnection(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	f, k := s.join(t, FanConfig{})
	k.say(t, "not json")
	take(t, f.Done())
	if f.Err() == nil || errors.Is(f.Err(), ErrClosed) {
		t.Errorf("ended with %v", f.Err())
	}
}
