package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answers is a server that gives one prepared answer after the other, the last for
// ever, and keeps the requests.
type answers struct {
	mu    sync.Mutex
	list  []http.HandlerFunc
	calls []seen
}

type seen struct{ method, path, key, body string }

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	a.calls = append(a.calls, seen{r.Method, r.URL.RequestURI(), r.Header.Get("Idempotency-Key"), string(body)})
	h := a.list[0]
	if len(a.list) > 1 {
		a.list = a.list[1:]
	}
	a.mu.Unlock()
	h(w, r)
}

func (a *answers) seen() []seen {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

func serve(t *testing.T, list ...http.HandlerFunc) (*answers, string) {
	t.Helper()
	a := &answers{list: list}
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	return a, srv.URL
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func problem(status int, code string, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type":"about:blank","title":"T","status":%d,"code":%q,"detail":"D"}`, status, code)
	}
}

// cut drops the connection in the middle of a call.
func cut(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

func appFor(t *testing.T, bases []string, opts ...Option) *App {
	t.Helper()
	app := NewApp(bases, "key", opts...)
	t.Cleanup(app.Close)
	return app
}

// unpaused notes the waits of an app instead of waiting.
func unpaused(app *App) *[]time.Duration {
	var waits []time.Duration
	app.c.pause = func(ctx context.Context, d time.Duration) error {
		waits = append(waits, d)
		return ctx.Err()
	}
	return &waits
}

func TestProblemIsDecodedWithItsHeader(t *testing.T) {
	t.Parallel()
	_, base := serve(t, problem(409, "all_held", "7"))
	_, err := appFor(t, []string{base}).Claim(t.Context(), "s", "o", "ada")
	var p *Problem
	if !errors.As(err, &p) {
		t.Fatalf("not a problem: %v", err)
	}
	want := Problem{
		Type: "about:blank", Title: "T", Status: 409, Code: "all_held", Detail: "D",
		RetryAfter: 7 * time.Second, Call: "POST /v1/shows/s/openings/o/claims",
	}
	if diff := cmp.Diff(want, *p); diff != "" {
		t.Error(diff)
	}
	if CodeOf(err) != "all_held" || CodeOf(io.EOF) != "" {
		t.Error("CodeOf does not name the code")
	}
}

func TestAnswerOfAProxyIsAProblemToo(t *testing.T) {
	t.Parallel()
	_, base := serve(t, says(502, "<html>bad gateway\nmore"))
	_, err := appFor(t, []string{base}).GetShow(t.Context(), "s")
	var p *Problem
	if !errors.As(err, &p) || p.Status != 502 || p.Detail != "<html>bad gateway" || p.Title != "Bad Gateway" {
		t.Errorf("got %+v", p)
	}
}

func TestCallsGoToInstancesInTurnOrToOne(t *testing.T) {
	t.Parallel()
	a, baseA := serve(t, says(200, `{"id":"s"}`))
	b, baseB := serve(t, says(200, `{"id":"s"}`))
	app := appFor(t, []string{baseA, baseB + "/"})
	for range 4 {
		if _, err := app.GetShow(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := app.At(1).GetShow(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if len(a.seen()) != 2 || len(b.seen()) != 3 {
		t.Errorf("%d and %d calls, want 2 and 3", len(a.seen()), len(b.seen()))
	}
}

func TestPathsAreEscaped(t *testing.T) {
	t.Parallel()
	a, base := serve(t, says(200, `{}`))
	if _, err := appFor(t, []string{base}).Entry(t.Context(), "s", "a|b/c+d"); err != nil {
		t.Fatal(err)
	}
	if got := a.seen()[0].path; got != "/v1/shows/s/entries/a%7Cb%2Fc+d" {
		t.Errorf("path %s", got)
	}
}

func TestCreatedSaysThatTheAnswerWas201(t *testing.T) {
	t.Parallel()
	_, base := serve(t, says(201, `{"fan_id":"ada","place":3}`), says(200, `{"fan_id":"ada","place":3}`))
	app := appFor(t, []string{base})
	for _, want := range []bool{true, false} {
		e, err := app.Join(t.Context(), "s", Join{FanID: "ada"})
		if err != nil || e.Created != want || e.Place != 3 {
			t.Errorf("got %+v, %v", e, err)
		}
	}
}

func TestRequestsLeaveOutWhatIsNotSet(t *testing.T) {
	t.Parallel()
	a, base := serve(t, says(200, `{}`))
	app, ctx := appFor(t, []string{base}), t.Context()
	_, err1 := app.PutShow(ctx, "s", PutShow{Name: "N", Policy: &Policy{HoldS: new(20)}})
	_, err2 := app.Free(ctx, "s", "o", Free{Quantity: 2, Reason: "returned"})
	_, err3 := app.Patch(ctx, "s", "ada", EntryPatch{Move: "front", Reason: "R"})
	err4 := app.Remove(ctx, "s", "ada", "no show")
	_, err5 := app.Announce(ctx, "s", Announce{Title: "T", Body: "B"})
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	want := []seen{
		{"PUT", "/v1/shows/s", "", `{"name":"N","policy":{"hold_s":20}}`},
		{"PUT", "/v1/shows/s/openings/o", "", `{"quantity":2,"reason":"returned"}`},
		{"PATCH", "/v1/shows/s/entries/ada", "", `{"move":"front","reason":"R"}`},
		{"DELETE", "/v1/shows/s/entries/ada?reason=no+show&removed=true", "", ""},
		{"POST", "/v1/shows/s/announcements", "", `{"title":"T","body":"B"}`},
	}
	if diff := cmp.Diff(want, a.seen(), cmp.AllowUnexported(seen{})); diff != "" {
		t.Error(diff)
	}
}

func TestBatchGivesAResultForEach(t *testing.T) {
	t.Parallel()
	_, base := serve(t, says(200, `{"results":[{"status":201,"id":"a","state":"open"},{"status":409,"code":"conflict"}]}`))
	got, err := appFor(t, []string{base}).FreeBatch(t.Context(), "s", []FreeOne{{ID: "a"}, {ID: "b"}})
	if err != nil || len(got) != 2 || got[0].Status != 201 || got[0].ID != "a" || got[1].Code != "conflict" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestRetryGoesOnToAnotherInstanceUntilOneAnswers(t *testing.T) {
	t.Parallel()
	refused := httptest.NewServer(http.NotFoundHandler())
	refused.Close()
	_, base := serve(t, problem(503, "unavailable", "2"), says(200, `{"waiting":4}`))
	app := appFor(t, []string{refused.URL, base}, WithRetry(0, Backoff{Rand: func() float64 { return 0 }}))
	waits := unpaused(app)
	show, err := app.GetShow(t.Context(), "s")
	if err != nil || show.Waiting != 4 {
		t.Fatalf("got %+v, %v", show, err)
	}
	// Refused, 503, refused, then the answer.
	if want := []time.Duration{0, 2 * time.Second, 0}; !slices.Equal(*waits, want) {
		t.Errorf("waits %v, want %v", *waits, want)
	}
}

func TestCallThatWasCutOffIsRepeated(t *testing.T) {
	t.Parallel()
	a, base := serve(t, cut, cut, says(201, `{"state":"held"}`))
	app := appFor(t, []string{base}, WithRetry(0, Backoff{}))
	unpaused(app)
	if c, err := app.Claim(t.Context(), "s", "o", "ada"); err != nil || c.State != "held" || len(a.seen()) != 3 {
		t.Errorf("%d calls, %+v, %v", len(a.seen()), c, err)
	}
}

func TestWithoutRetryAnErrorComesAtOnce(t *testing.T) {
	t.Parallel()
	a, base := serve(t, problem(503, "unavailable", "1"))
	if _, err := appFor(t, []string{base}).GetShow(t.Context(), "s"); CodeOf(err) != "unavailable" {
		t.Errorf("got %v", err)
	}
	if len(a.seen()) != 1 {
		t.Errorf("%d calls", len(a.seen()))
	}
}

func TestRetryEndsAfterItsTotal(t *testing.T) {
	t.Parallel()
	a, base := serve(t, problem(503, "unavailable", "3600"))
	app := appFor(t, []string{base}, WithRetry(time.Minute, Backoff{}))
	unpaused(app)
	if _, err := app.GetShow(t.Context(), "s"); CodeOf(err) != "unavailable" || len(a.seen()) != 1 {
		t.Errorf("%d calls, %v", len(a.seen()), err)
	}
}

func TestRefusalsAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"conflict", "all_held", "turn_over"} {
		a, base := serve(t, problem(409, code, "1"))
		app := appFor(t, []string{base}, WithRetry(0, Backoff{}))
		if _, err := app.Claim(t.Context(), "s", "o", "ada"); CodeOf(err) != code || len(a.seen()) != 1 {
			t.Errorf("%s: %d calls, %v", code, len(a.seen()), err)
		}
	}
}

func TestRepeatedPostCarriesOneIdempotencyKey(t *testing.T) {
	t.Parallel()
	a, base := serve(t, cut, problem(409, "conflict", "1"), says(200, `{}`))
	app := appFor(t, []string{base}, WithRetry(0, Backoff{}))
	unpaused(app)
	if _, err := app.Extend(t.Context(), "c", 90*time.Second); err != nil {
		t.Fatal(err)
	}
	calls := a.seen()
	if len(calls) != 3 || calls[0].key == "" || calls[0].key != calls[2].key || calls[2].body != `{"by_s":90}` {
		t.Errorf("calls %+v", calls)
	}
}

func TestPatchThatMayHaveArrivedIsNotRepeated(t *testing.T) {
	t.Parallel()
	a, base := serve(t, cut, says(200, `{}`))
	app := appFor(t, []string{base}, WithRetry(0, Backoff{}))
	if _, err := app.Patch(t.Context(), "s", "ada", EntryPatch{Move: "restore"}); err == nil || len(a.seen()) != 1 {
		t.Errorf("%d calls, %v", len(a.seen()), err)
	}
}

func TestEntriesPageThroughAll(t *testing.T) {
	t.Parallel()
	a, base := serve(t,
		says(200, `{"items":[{"fan_id":"ada"},{"fan_id":"ben"}],"next_cursor":"c1"}`),
		says(200, `{"items":[{"fan_id":"cleo"}],"next_cursor":null}`))
	var fans []string
	for e, err := range appFor(t, []string{base}).Entries(t.Context(), "s", EntryFilter{State: "waiting", AfterPlace: 9}) {
		if err != nil {
			t.Fatal(err)
		}
		fans = append(fans, e.FanID)
	}
	if !slices.Equal(fans, []string{"ada", "ben", "cleo"}) {
		t.Errorf("fans %v", fans)
	}
	if got := a.seen()[1].path; got != "/v1/shows/s/entries?after_place=9&cursor=c1&limit=500&state=waiting" {
		t.Errorf("second page %s", got)
	}
}

func TestPagingStopsAtItsFirstError(t *testing.T) {
	t.Parallel()
	_, base := serve(t, says(200, `{"items":[{"id":"o1"}],"next_cursor":"c1"}`), problem(400, "invalid", ""))
	var codes []string
	for _, err := range appFor(t, []string{base}).Openings(t.Context(), "s") {
		codes = append(codes, CodeOf(err))
	}
	if !slices.Equal(codes, []string{"", "invalid"}) {
		t.Errorf("got %q", codes)
	}
}

func TestImportStreamsLinesInOrder(t *testing.T) {
	t.Parallel()
	const lines = 5000
	wrong := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		for sc := bufio.NewScanner(r.Body); sc.Scan(); {
			n++
			var j Join
			if err := json.Unmarshal(sc.Bytes(), &j); err != nil || j.FanID != stadiumFan(n) {
				wrong <- sc.Text()
				return
			}
		}
		fmt.Fprintf(w, `{"imported":%d,"errors":[{"line":3,"detail":"D"}]}`, n)
	}))
	t.Cleanup(srv.Close)
	var progress []int
	report, err := appFor(t, []string{srv.URL}).Import(t.Context(), "s", stadiumJoins(1, lines),
		func(sent int) { progress = append(progress, sent) })
	if err != nil || report.Imported != lines || report.Errors[0].Line != 3 {
		t.Fatalf("got %+v, %v", report, err)
	}
	if !slices.IsSorted(progress) || progress[0] != progressEvery || progress[len(progress)-1] != lines {
		t.Errorf("progress %v", progress)
	}
	select {
	case line := <-wrong:
		t.Errorf("out of order: %s", line)
	default:
	}
}

func TestImportThatIsRefusedStopsItsWriter(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(problem(404, "not_found", ""))
	t.Cleanup(srv.Close)
	endless := func(yield func(Join) bool) {
		for yield(Join{FanID: strings.Repeat("x", 64)}) {
		}
	}
	if _, err := appFor(t, []string{srv.URL}).Import(t.Context(), "s", endless, nil); CodeOf(err) != "not_found" {
		t.Errorf("got %v", err)
	}
}
