package sim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/golang-jwt/jwt/v5"
)

// house is as much of a Fanline as the story needs: a line a show, a turn for the
// first who waits, and the next when it ends. It keeps no rule but order.
type house struct {
	url    string
	window time.Duration // of a turn
	hold   time.Duration
	full   chan struct{} // where given, imports are answered once it is closed

	mu      sync.Mutex
	lines   map[string][]string // by show, those waiting
	known   map[string]bool     // show/fan that ever joined
	sockets map[string]*websocket.Conn
	live    map[string]string    // opening -> whose turn
	freed   map[string][]Opening // by show, the newest first
	closed  bool
	gone    chan struct{}
	wg      sync.WaitGroup
}

func openHouse(t *testing.T) *house {
	h := &house{
		window: 300 * time.Millisecond, hold: 300 * time.Millisecond, gone: make(chan struct{}),
		lines: map[string][]string{}, known: map[string]bool{}, sockets: map[string]*websocket.Conn{}, live: map[string]string{},
		freed: map[string][]Opening{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/shows/{show}", says(201, `{}`))
	mux.HandleFunc("POST /v1/shows/{show}/entries", h.join)
	mux.HandleFunc("POST /v1/shows/{show}/{import}", h.importLine)
	mux.HandleFunc("GET /v1/shows/{show}/entries", h.entries)
	mux.HandleFunc("GET /v1/shows/{show}/entries/{fan}", h.entry)
	mux.HandleFunc("PUT /v1/shows/{show}/openings/{opening}", h.free)
	mux.HandleFunc("GET /v1/shows/{show}/openings", h.openings)
	mux.HandleFunc("GET /v1/shows/{show}/openings/{opening}", says(200, `{"quantity":1,"reason":"returned","recorded_at":"2999-01-02T03:04:05.678Z"}`))
	mux.HandleFunc("POST /v1/me/turns/{show}/{opening}/claim", h.claim)
	mux.HandleFunc("POST /v1/me/turns/{show}/{opening}/decline", h.decline)
	mux.HandleFunc("POST /v1/claims/{claim}/confirm", says(200, `{"state":"confirmed","seats":1}`))
	mux.HandleFunc("POST /v1/me/inbox/read", says(200, `{"unread":0}`))
	mux.HandleFunc("GET /v1/me/stream", h.stream)
	srv := httptest.NewServer(mux)
	h.url = srv.URL
	t.Cleanup(func() {
		h.mu.Lock()
		h.closed = true
		h.mu.Unlock()
		close(h.gone)
		srv.Close()
		h.wg.Wait()
	})
	return h
}

func (h *house) add(show, fan string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines[show] = append(h.lines[show], fan)
	h.known[show+"/"+fan] = true
	return len(h.lines[show])
}

func (h *house) join(w http.ResponseWriter, r *http.Request) {
	var j Join
	if json.NewDecoder(r.Body).Decode(&j) != nil {
		problem(400, "invalid", "")(w, r)
		return
	}
	position := h.add(r.PathValue("show"), j.FanID)
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"fan_id":%q,"position":%d}`, j.FanID, position)
}

func (h *house) importLine(w http.ResponseWriter, r *http.Request) {
	n := 0
	for sc := bufio.NewScanner(r.Body); sc.Scan(); n++ {
		var j Join
		if json.Unmarshal(sc.Bytes(), &j) == nil {
			h.add(r.PathValue("show"), j.FanID)
		}
	}
	if h.full != nil {
		select {
		case <-h.full:
		case <-h.gone:
		}
	}
	fmt.Fprintf(w, `{"imported":%d}`, n)
}

func (h *house) entries(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var after int64
	fmt.Sscan(r.FormValue("after_place"), &after)
	p := page[Entry]{Items: []Entry{}}
	for i, fan := range h.lines[r.PathValue("show")] {
		if int64(i) >= after {
			p.Items = append(p.Items, Entry{FanID: fan, Place: int64(i) + 1})
		}
	}
	json.NewEncoder(w).Encode(p)
}

func (h *house) entry(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known[r.PathValue("show")+"/"+r.PathValue("fan")] {
		problem(404, "not_found", "")(w, r)
		return
	}
	io.WriteString(w, `{}`)
}

func (h *house) free(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, `{}`)
	show, opening := r.PathValue("show"), r.PathValue("opening")
	h.mu.Lock()
	h.freed[show] = slices.Insert(h.freed[show], 0, Opening{ID: opening})
	h.mu.Unlock()
	h.turn(show, opening)
}

func (h *house) openings(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	json.NewEncoder(w).Encode(page[Opening]{Items: h.freed[r.PathValue("show")]})
}

// turn gives the first in line a turn, whose lapse gives the next one theirs.
func (h *house) turn(show, opening string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.lines[show]) == 0 {
		return
	}
	fan := h.lines[show][0]
	h.lines[show] = h.lines[show][1:]
	h.live[opening] = fan
	now := time.Now()
	h.tell(fan, map[string]any{"type": "item", "item": map[string]any{
		"id": "turn:" + show + ":" + opening, "kind": "turn", "state": "open", "show_id": show, "opening_id": opening,
		"opens_at": now, "closes_at": now.Add(h.window),
	}})
	h.later(h.window, func() { h.over(show, opening, fan) })
}

func (h *house) later(d time.Duration, do func()) {
	h.wg.Go(func() {
		select {
		case <-time.After(d):
			do()
		case <-h.gone:
		}
	})
}

// over passes the opening on, unless fan's turn was taken up or ended before.
func (h *house) over(show, opening, fan string) {
	h.mu.Lock()
	mine := h.live[opening] == fan
	if mine {
		h.tell(fan, map[string]any{"type": "update", "id": "turn:" + show + ":" + opening, "state": "over"})
		h.live[opening] = ""
	}
	h.mu.Unlock()
	if mine {
		h.turn(show, opening)
	}
}

func (h *house) tell(fan string, frame any) {
	raw, err := json.Marshal(frame)
	if err == nil && h.sockets[fan] != nil {
		h.sockets[fan].Write(context.Background(), websocket.MessageText, raw)
	}
}

func subject(r *http.Request) string {
	var c jwt.RegisteredClaims
	raw := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	jwt.ParseWithClaims(raw, &c, func(*jwt.Token) (any, error) { return []byte("jwt"), nil })
	return c.Subject
}

func (h *house) claim(w http.ResponseWriter, r *http.Request) {
	opening, fan := r.PathValue("opening"), subject(r)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.live[opening] != fan {
		problem(410, "turn_over", "")(w, r)
		return
	}
	h.live[opening] = "held by " + fan
	w.WriteHeader(http.StatusCreated)
	json.NewEncoder(w).Encode(Claim{ID: "c-" + opening, Seats: 1, State: "held", ExpiresAt: time.Now().Add(h.hold)})
}

func (h *house) decline(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusNoContent)
	h.over(r.PathValue("show"), r.PathValue("opening"), subject(r))
}

func (h *house) stream(w http.ResponseWriter, r *http.Request) {
	fan := subject(r)
	ws, err := websocket.Accept(w, r, nil)
	if err != nil || fan == "" {
		return
	}
	h.mu.Lock()
	h.sockets[fan] = ws
	h.mu.Unlock()
	ws.Write(context.Background(), websocket.MessageText, []byte(hello))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h.wg.Go(func() {
		select {
		case <-h.gone:
			ws.CloseNow()
		case <-ctx.Done():
		}
	})
	for {
		if _, _, err := ws.Read(ctx); err != nil {
			return
		}
	}
}

// telling is a writer that a test reads line by line while the story runs.
type telling struct {
	mu    sync.Mutex
	all   bytes.Buffer
	wrote chan struct{}
}

func newTelling() *telling { return &telling{wrote: make(chan struct{}, 1)} }

func (w *telling) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.wrote <- struct{}{}:
	default:
	}
	return w.all.Write(p)
}

func (w *telling) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

func (w *telling) until(t *testing.T, words ...string) {
	t.Helper()
	limit := time.After(60 * time.Second)
	for {
		missing := ""
		for _, word := range words {
			if !strings.Contains(w.String(), word) {
				missing = word
			}
		}
		if missing == "" {
			return
		}
		select {
		case <-w.wrote:
		case <-limit:
			t.Fatalf("no %q in:\n%s", missing, w)
		}
	}
}

func startStory(t *testing.T, cfg StoryConfig) (stop func()) {
	t.Helper()
	cfg.APIKey, cfg.JWTSecret, cfg.Every = "key", "jwt", 40*time.Millisecond
	s, err := NewStory(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := take(t, ended); err != nil {
			t.Errorf("the story ends with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func TestStoryTellsWhatHappensToSeats(t *testing.T) {
	t.Parallel()
	h, out := openHouse(t), newTelling()
	stop := startStory(t, StoryConfig{BaseURL: h.url, Out: out, Stadium: 3000, StadiumSockets: 30, Seed: 1})
	out.until(t, "vance line  3,000 in", "  freed  ", "  turn  ", "  claimed  ", "  bought  ", "  declined  ", "  lapsed  ",
		"  next  ", "vance      #", "did not pay in time", "did not look in", "told in")
	stop()
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 && !strings.Contains(line, "failed") {
			t.Errorf("wider than 80: %s", line)
		}
	}
}

func TestStoryOnTheSameDataImportsOnlyWhatIsMissing(t *testing.T) {
	t.Parallel()
	h, out := openHouse(t), newTelling()
	for n := range 700 {
		h.add(stadiumShow, stadiumFan(n+1))
	}
	stop := startStory(t, StoryConfig{BaseURL: h.url, Out: out, Stadium: 1000, StadiumSockets: 5})
	out.until(t, "vance line  300 in", "vance      #")
	stop()
	again := newTelling()
	stop = startStory(t, StoryConfig{BaseURL: h.url, Out: again, Stadium: 1000, StadiumSockets: 5})
	again.until(t, "vance      #")
	stop()
	if strings.Contains(again.String(), "vance line") {
		t.Errorf("imports again:\n%s", again)
	}
}

func TestTheNumbersOfOpeningsGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	h, out := openHouse(t), newTelling()
	h.freed[clubShow] = []Opening{{ID: "hand-1764470421"}, {ID: "demo-other"}, {ID: "demo-mcr0-41"}, {ID: "demo-mcr0-39"}}
	h.freed[stadiumShow] = []Opening{{ID: "demo-mcr0-40"}}
	startStory(t, StoryConfig{BaseURL: h.url, Out: out})
	out.until(t, "#43")
	if said := out.String(); !strings.Contains(said, "#42") || strings.Contains(said, "#41") || strings.Contains(said, "#1 ") {
		t.Errorf("numbers begin anew:\n%s", said)
	}
}

func TestTheClubsStoryDoesNotWaitForTheStadium(t *testing.T) {
	t.Parallel()
	h, out := openHouse(t), newTelling()
	h.full = make(chan struct{})
	startStory(t, StoryConfig{BaseURL: h.url, Out: out, Stadium: 100, StadiumSockets: 5, Terminal: true})
	out.until(t, "Stop with Ctrl-C.", "vance line [", "  #3 ", "told in")
	if strings.Contains(out.String(), "vance line  100 in") {
		t.Fatalf("the line is full before its import was answered:\n%s", out)
	}
	close(h.full)
	out.until(t, "vance line  100 in", "vance      #")
}

func TestPastedCurlFreesASeatAndTheFansAnswer(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil && os.Getenv("CI") != "" {
		t.Fatal("CI runs what is shown; scripts/setup tests installs curl")
	} else if err != nil {
		t.Skip("curl is not here; scripts/setup tests installs it")
	}
	h, out := openHouse(t), newTelling()
	startStory(t, StoryConfig{BaseURL: h.url, Out: out})
	out.until(t, "Stop with Ctrl-C.")
	_, rest, _ := strings.Cut(out.String(), "  curl ")
	command, _, _ := strings.Cut(rest, "\n\n")
	if said, err := exec.CommandContext(t.Context(), "sh", "-c", "curl -sf "+command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v, %s", command, err, said)
	}
	out.until(t, "1 seat, by somebody else: returned")
}

func TestStoryStopsWhileItSetsUp(t *testing.T) {
	t.Parallel()
	h, out := openHouse(t), newTelling()
	stop := startStory(t, StoryConfig{BaseURL: h.url, Out: out, Stadium: 5_000_000})
	out.until(t, "vance line [")
	stop()
}

func TestStoryPlaysOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for base, allowed := range map[string]bool{
		"http://127.0.0.1:8080": true, "http://localhost:1": true, "http://[::1]:8080": true, "http://127.9.9.9": true,
		"http://0.0.0.0:8080": false, "https://tickets.example": false, "http://10.0.0.1": false, "": false,
		"http://localhost.example": false, "http://127.0.0.1.example": false, "http://127.0.0.1@example.com": false,
	} {
		_, err := NewStory(StoryConfig{BaseURL: base, APIKey: "k", JWTSecret: "j", Out: io.Discard})
		if (err == nil) != allowed {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestStoryNeedsItsKeys(t *testing.T) {
	t.Parallel()
	if _, err := NewStory(StoryConfig{BaseURL: "http://localhost"}); err == nil {
		t.Error("a story without keys is taken")
	}
}

func TestCancelledShowIsExplained(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(problem(410, "closed", ""))
	t.Cleanup(srv.Close)
	s, err := NewStory(StoryConfig{BaseURL: srv.URL, APIKey: "k", JWTSecret: "j", Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(t.Context())
	var p *Problem
	if !errors.As(err, &p) || !strings.Contains(err.Error(), "start with a fresh one") {
		t.Errorf("got %v", err)
	}
}

func TestAFanWhomAPersonPlaysIsLeftToThem(t *testing.T) {
	t.Parallel()
	h, out := openHouse(t), newTelling()
	cfg := StoryConfig{BaseURL: h.url, APIKey: "key", JWTSecret: "jwt", Every: 40 * time.Millisecond, Out: out}
	s, err := NewStory(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() { cancel(); take(t, ended) })
	out.until(t, "Stop with Ctrl-C.")
	for range 2 {
		if token, ok := s.HandOver("ada"); !ok || token == "" {
			t.Errorf("HandOver: %q, %v", token, ok)
		}
	}
	if _, ok := s.HandOver("somebody"); ok {
		t.Error("somebody who is no fan of the demo was handed over")
	}
	out.until(t, "ada is yours now, on the fan page")
	if err := s.connectOne(ctx, clubShow, "ada"); err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for a := range s.actors {
		if a.name == "ada" {
			t.Error("the story still plays ada")
		}
	}
	if n := strings.Count(out.String(), "ada is yours"); n != 1 {
		t.Errorf("told %d times", n)
	}
}
