package live

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"fanline/notifier"
)

// world is a hub behind a real HTTP server, with fakes around it.
type world struct {
	t        testing.TB
	feed     *fakeFeed
	acts     *fakeActs
	presence *fakePresence
	hub      *Hub
	server   *http.Server
	dial     dialer
}

// newWorld serves on the loopback interface with socket buffers so small that a reader who stalls is noticed.
func newWorld(t testing.TB, change func(*HubConfig)) *world {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startWorld(t, change, l, func(ctx context.Context, network, _ string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, l.Addr().String())
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(4096)
		}
		return c, err
	})
}

// newBubble serves on pipes within the process, which a synctest bubble understands.
func newBubble(t testing.TB, change func(*HubConfig)) *world {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	return startWorld(t, change, l, l.dial)
}

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

func startWorld(t testing.TB, change func(*HubConfig), l net.Listener, dial dialer) *world {
	w := &world{
		t: t, feed: newFakeFeed(), acts: &fakeActs{did: make(chan string, 1000)},
		presence: &fakePresence{conns: map[string]int64{}}, dial: dial,
	}
	cfg := HubConfig{
		Feed: w.feed, Clock: fakeClock{}, Acts: w.acts, Registry: w.presence, Verify: verify,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if w.hub, err = NewHub(cfg); err != nil {
		t.Fatal(err)
	}
	if err := w.hub.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.server = &http.Server{Handler: w, ConnContext: smallBuffer}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = w.server.Serve(l)
	}()
	t.Cleanup(func() {
		w.stop()
		_ = w.server.Close()
		<-served
	})
	return w
}

func smallBuffer(ctx context.Context, c net.Conn) context.Context {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(4096)
	}
	return ctx
}

// stop stops the hub, which must take all goroutines with it, and twice.
func (w *world) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for range 2 {
		if err := w.hub.Stop(ctx); err != nil {
			w.t.Error(err)
		}
	}
	if s := w.hub.Stats(); s.Connections != 0 || s.Fans != 0 || s.QueuedFrames != 0 || s.QueuedBytes != 0 || s.Scheduled != 0 {
		w.t.Errorf("left behind after Stop: %+v", s)
	}
	if left := w.presence.now(); len(left) > 0 {
		w.t.Errorf("the registry still has %v", left)
	}
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(rw, r, nil)
	if err != nil {
		return
	}
	s := Session{FanID: r.URL.Query().Get("fan"), After: r.URL.Query().Get("after")}
	if life, err := time.ParseDuration(r.URL.Query().Get("life")); err == nil {
		s.Expires = now().Add(life)
	}
	w.hub.Serve(r.Context(), ws, s)
}

// verify takes "fan-1 60s" for a token of that fan and life.
func verify(_ context.Context, token string) (string, time.Time, error) {
	fan, life, ok := strings.Cut(token, " ")
	d, err := time.ParseDuration(life)
	if !ok || err != nil {
		return "", time.Time{}, errors.New("not a token")
	}
	return fan, now().Add(d), nil
}

// frame is any frame of the server.
type frame struct {
	Type         string             `json:"type"`
	Session      string             `json:"session"`
	HeartbeatS   int                `json:"heartbeat_s"`
	Now          string             `json:"now"`
	Reset        *bool              `json:"reset"`
	Item         *notifier.Item     `json:"item"`
	ID           string             `json:"id"`
	State        notifier.TurnState `json:"state"`
	InS          int                `json:"in_s"`
	RetryAfterMS int                `json:"retry_after_ms"`
	Cursor       string             `json:"cursor"`
	ShowID       string             `json:"show_id"`
	Position     *int64             `json:"position"`
	at           time.Time          // when it came, by the database's clock
}

// client is a fan's socket.
type client struct {
	t       testing.TB
	ws      *websocket.Conn
	raw     net.Conn
	frames  chan frame // but cursors and lines
	cursors chan string
	lines   chan frame
	session string
	code    chan websocket.StatusCode // gets how it ended; -1: without a close frame
}

// connect dials and reads on. query is as in "fan=fan-1&life=60s".
func (w *world) connect(query string) *client {
	w.t.Helper()
	c := w.connectDeaf(query)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.pump()
	}()
	w.t.Cleanup(func() {
		_ = c.ws.CloseNow()
		<-done
	})
	return c
}

// connectDeaf dials and does not read.
func (w *world) connectDeaf(query string) *client {
	w.t.Helper()
	c := &client{t: w.t, frames: make(chan frame, 20_000), cursors: make(chan string, 20_000), lines: make(chan frame, 1000), code: make(chan websocket.StatusCode, 1)}
	var mu sync.Mutex
	transport := &http.Transport{DialContext: func(ctx context.Context, n, a string) (net.Conn, error) {
		raw, err := w.dial(ctx, n, a)
		mu.Lock()
		defer mu.Unlock()
		c.raw = raw
		return raw, err
	}}
	ws, _, err := websocket.Dial(w.t.Context(), "ws://fanline.test/?"+query, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	c.ws = ws
	c.ws.SetReadLimit(1 << 20)
	w.t.Cleanup(func() {
		_ = ws.CloseNow()
		transport.CloseIdleConnections()
	})
	return c
}

func (c *client) pump() {
	defer close(c.frames)
	for {
		_, b, err := c.ws.Read(context.Background())
		if err != nil {
			c.code <- websocket.CloseStatus(err)
			return
		}
		f := frame{at: now()}
		if err := json.Unmarshal(b, &f); err != nil {
			c.t.Errorf("not JSON: %q", b)
		}
		switch f.Type {
		case "cursor":
			c.cursors <- f.Cursor
		case "line":
			c.lines <- f
		default:
			c.frames <- f
		}
	}
}

// next returns the next frame, which must be of this type.
func (c *client) next(typ string) frame {
	c.t.Helper()
	select {
	case f, ok := <-c.frames:
		if !ok {
			c.t.Fatalf("the socket ended with %d; want a frame %q", <-c.code, typ)
		}
		if f.Type != typ {
			c.t.Fatalf("got %+v, want a frame %q", f, typ)
		}
		return f
	case <-time.After(20 * time.Second):
		c.t.Fatalf("no frame; want %q", typ)
		panic("unreachable")
	}
}

// item returns the id of the next frame, which must be an item.
func (c *client) item() string {
	c.t.Helper()
	return c.next("item").Item.ID
}

func (c *client) wantItems(ids ...string) {
	c.t.Helper()
	for _, id := range ids {
		if got := c.item(); got != id {
			c.t.Fatalf("got item %s, want %s", got, id)
		}
	}
}

// cursor returns the next cursor.
func (c *client) cursor() string {
	c.t.Helper()
	select {
	case cursor := <-c.cursors:
		return cursor
	case <-time.After(20 * time.Second):
		c.t.Fatal("no cursor")
		panic("unreachable")
	}
}

// wantNothing says that nothing is on its way: the next frame is the answer to a ping.
func (c *client) wantNothing() {
	c.t.Helper()
	c.send(`{"type":"ping"}`)
	c.next("pong")
}

// wantClose skips frames until the socket ends, and returns them.
func (c *client) wantClose(code websocket.StatusCode) []frame {
	c.t.Helper()
	var got []frame
	timeout := time.After(30 * time.Second)
	for {
		select {
		case f, ok := <-c.frames:
			if ok {
				got = append(got, f)
				continue
			}
			if got := <-c.code; got != code {
				c.t.Fatalf("closed with %d, want %d", got, code)
			}
			return got
		case <-timeout:
			c.t.Fatalf("not closed; want %d", code)
		}
	}
}

func (c *client) send(text string) {
	c.t.Helper()
	if err := c.ws.Write(c.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatalf("send %.60s: %v", text, err)
	}
}

func (w *world) did(want string) {
	w.t.Helper()
	select {
	case got := <-w.acts.did:
		if got != want {
			w.t.Fatalf("done: %s, want %s", got, want)
		}
	case <-time.After(20 * time.Second):
		w.t.Fatalf("nothing was done, want %s", want)
	}
}

// join connects a fan and waits until the hub has them.
func (w *world) join(fan int) *client {
	w.t.Helper()
	c := w.connect("fan=fan-" + strconv.Itoa(fan))
	c.session = c.next("hello").Session
	w.did("connected fan-" + strconv.Itoa(fan))
	return c
}
