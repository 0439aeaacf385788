package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

func TestFanIDsInPathsAreDecodedOnce(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"ada%40example.com": "ada@example.com",
		"ada@example.com":   "ada@example.com",
		"a%2Bb":             "a+b",
		"a+b":               "a+b",
		"a%7Cb":             "a|b",
		"auth0%7C5f%3A2":    "auth0|5f:2",
		"auth0%7c5f:2":      "auth0|5f:2",
		"%61da":             "ada",
		"a%7Cb%2Bc%40d":     "a|b+c@d",
		"a.b-c_d":           "a.b-c_d",
	} {
		r := newRig(t)
		if got := r.app("GET", "/v1/shows/s1/entries/"+path, "").json(200)["fan_id"]; got != want {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
		r.app("GET", "/v1/shows/s1/openings/o1/turns/"+path, "").json(200)
		if got := r.store.argsOf(t, "Facts")[1]; got != want {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
	}
	r := newRig(t)
	for _, path := range []string{"a%252Bb", "a%2Fb", "a%25b", "%00", "%", "a%20b", "%E4", "..", "a%3Fb"} {
		req, err := url.ParseRequestURI("/v1/shows/s1/entries/" + path)
		if err != nil {
			continue // net/http refuses it before us
		}
		hr := httptest.NewRequest("GET", "/", nil)
		hr.URL = req
		hr.Header.Set("Authorization", "Bearer "+appSecret)
		r.send(hr).problem(422, "invalid", "fan")
	}
}

func TestActionsBesideItemsAreRouted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"/v1/shows/s1/entries:import", "/v1/shows/s1/entries%3Aimport", "/v1/shows/entries:import/entries:import"} {
		r.app("POST", path, "").problemOrOK(path)
	}
	r.app("GET", "/v1/shows/s1/entries/entries:import", "").json(200)
	r.app("POST", "/v1/shows/s1/openings%3Abatch", `{"openings":[]}`).json(200)
}

func (w *response) problemOrOK(path string) {
	w.t.Helper()
	want := 200
	if strings.Contains(path, "shows/entries:import") {
		want = 422 // a colon is no part of a show's id
	}
	if w.Code != want {
		w.t.Errorf("%s: %d %s", path, w.Code, w.Body)
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"/v1/nothing", "/v1/shows/", "/v1/shows/s1/entries/", "/v1/shows/s1/entries/a/b", "/v1/shows/s1/openings:export"} {
		r.app("GET", path, "").problem(404, "not_found", "")
	}
	r.as("", "GET", "/nothing", "").problem(404, "not_found", "")
	r.as("", "GET", "/", "").problem(404, "not_found", "")
	r.fan("GET", "/v1/me/nothing", "").problem(404, "not_found", "")
	r.app("BREW", "/v1/nothing", "").problem(404, "not_found", "")
	for target, allow := range map[string]string{
		"POST /v1/shows/s1":                   "GET, HEAD, PUT, DELETE",
		"PUT /v1/shows":                       "GET, HEAD",
		"GET /v1/shows/s1/entries:import":     "POST",
		"BREW /v1/shows/s1":                   "GET, HEAD, PUT, DELETE",
		"POST /v1/shows/s1/entries/a%7Cb":     "GET, HEAD, PATCH, DELETE",
		"DELETE /v1/claims/c1":                "GET, HEAD",
		"GET /v1/shows/s1/openings/o1/claims": "POST",
	} {
		method, path, _ := strings.Cut(target, " ")
		w := r.app(method, path, "")
		w.problem(405, "method_not_allowed", "")
		if got := w.Header().Get("Allow"); got != allow {
			t.Errorf("%s: Allow %q, want %q", target, got, allow)
		}
	}
	r.as("", "POST", "/healthz", "").problem(405, "method_not_allowed", "")
}

func TestRefusalsBecomeTheirStatus(t *testing.T) {
	t.Parallel()
	retry := waitlist.Refuse(waitlist.AllHeld, "every seat is held")
	retry.RetryAfter = 1200 * time.Millisecond
	for _, c := range []struct {
		err    error
		status int
		code   string
		retry  string
	}{
		{waitlist.Wrong("tier", "tier is odd"), 422, "invalid", ""},
		{waitlist.Refuse(waitlist.NotFound, "gone"), 404, "not_found", ""},
		{waitlist.Refuse(waitlist.Conflict, "other"), 409, "conflict", ""},
		{waitlist.Refuse(waitlist.NotYourTurn, "wait"), 409, "not_your_turn", ""},
		{waitlist.Refuse(waitlist.AlreadyClaimed, "once"), 409, "already_claimed", ""},
		{fmt.Errorf("claim: %w", retry), 409, "all_held", "2"},
		{waitlist.Refuse(waitlist.TurnOver, "over"), 410, "turn_over", ""},
		{waitlist.Refuse(waitlist.Filled, "filled"), 410, "filled", ""},
		{waitlist.Refuse(waitlist.Closed, "closed"), 410, "closed", ""},
		{waitlist.Refuse(waitlist.Unavailable, "busy"), 503, "unavailable", "1"},
		{context.DeadlineExceeded, 503, "unavailable", "1"},
		{waitlist.Refuse("strange", "secret"), 500, "internal", ""},
		{errors.New("secret pq: connection refused"), 500, "internal", ""},
	} {
		r := newRig(t)
		r.store.err = c.err
		for _, call := range calls {
			w := r.call(call.fan, call.method, call.path, call.body)
			if strings.HasSuffix(call.path, ":batch") {
				if got := list(w.json(200)["results"])[0].(map[string]any); got["status"] != float64(c.status) || got["code"] != c.code {
					t.Errorf("%s: %v", call.path, got)
				}
				continue
			}
			w.problem(c.status, c.code, "")
			if got := w.Header().Get("Retry-After"); got != c.retry {
				t.Errorf("%s %s: Retry-After %q, want %q", call.method, call.path, got, c.retry)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("%s shows %s", call.path, w.Body)
			}
		}
		if c.code == "internal" && !strings.Contains(r.log.String(), "secret") {
			t.Error("the log lacks the cause")
		}
	}
}

func TestAPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.panics = true
	w := r.app("GET", "/v1/shows/s1", "")
	w.problem(500, "internal", "")
	if strings.Contains(w.Body.String(), "secret") || !strings.Contains(r.log.String(), "secret inner text") {
		t.Errorf("answer %s, log %s", w.Body, r.log)
	}
	r.store.panics = false
	r.app("GET", "/v1/shows/s1", "").json(200)
}

func TestACallOutOfTimeIsUnavailable(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) { c.Timeout = time.Millisecond })
	r.store.blocks = true
	for _, path := range []string{"/v1/shows/s1", "/v1/shows/s1/entries/ada"} {
		w := r.app("GET", path, "")
		w.problem(503, "unavailable", "")
		if w.Header().Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
		}
	}
	r.app("POST", "/v1/shows/s1/entries:import", `{"fan_id":"ada"}`).problem(503, "unavailable", "")
}

func TestLogsHoldNoSecretsAndNoPeople(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := r.fanToken("carla")
	r.as(token, "GET", "/v1/me/inbox?unread=true", "")
	r.as(token, "GET", "/v1/me/stream", "")
	r.app("DELETE", "/v1/shows/s1/entries/carla?removed=true&reason=carla-was-rude", "")
	r.app("POST", "/v1/shows/s1/entries", `{"fan_id":"carla"}`)
	r.as("a-wrong-secret", "GET", "/v1/shows", "")
	log := r.log.String()
	for _, word := range []string{token, appSecret, "carla", "a-wrong-secret", "rude"} {
		if strings.Contains(log, word) {
			t.Errorf("the log holds %q", word)
		}
	}
	for _, word := range []string{`"route":"/v1/shows/{show}/entries/{fan}"`, `"by":"shop"`, `"by":"(fan)"`, `"status":401`, `"request_id"`} {
		if !strings.Contains(log, word) {
			t.Errorf("the log lacks %s:\n%s", word, log)
		}
	}
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"/v1/shows", "/nothing", "/healthz"} {
		h := r.app("GET", path, "").Header()
		if h.Get("X-Request-Id") == "" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, h)
		}
	}
	for given, keep := range map[string]bool{"abc-1.2_3": true, "a b": false, "": false, strings.Repeat("a", 65): false, "a\"b": false} {
		req := httptest.NewRequest("GET", "/healthz", nil)
		req.Header.Set("X-Request-Id", given)
		if got := r.send(req).Header().Get("X-Request-Id"); (got == given) != keep {
			t.Errorf("%q became %q", given, got)
		}
	}
}

func TestHealthAndMetrics(t *testing.T) {
	t.Parallel()
	fault := error(nil)
	r := newRig(t, func(c *Config) {
		c.Ready = func(context.Context) []Check { return []Check{{"postgres", fault}, {"lanes", nil}} }
	})
	ops := func(path string) *response {
		w := httptest.NewRecorder()
		r.server.OpsHandler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return &response{w, t}
	}
	r.as("", "GET", "/readyz", "").json(200)
	fault = errors.New("dial 10.0.0.7: refused")
	w := r.as("", "GET", "/readyz", "")
	w.problem(503, "unavailable", "")
	if strings.Contains(w.Body.String(), "10.0.0.7") || w.Header().Get("Retry-After") == "" {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	if w := ops("/readyz"); w.Code != 503 || !strings.Contains(w.Body.String(), "10.0.0.7") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	r.app("GET", "/v1/shows/s1", "")
	r.app("BREW", "/v1/shows/s1", "")
	body := ops("/metrics").Body.String()
	for _, want := range []string{
		`fanline_http_request_duration_seconds_count{method="GET",route="/v1/shows/{show}",status="200"} 1`,
		`fanline_http_request_duration_seconds_count{method="other",route="none",status="405"} 1`,
		`fanline_http_requests_in_flight 0`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("metrics lack %s:\n%s", want, body)
		}
	}
	if w := ops("/healthz"); w.Code != 200 {
		t.Errorf("%d", w.Code)
	}
	if w := ops("/debug/pprof/goroutine?debug=1"); w.Code != 200 || !strings.Contains(w.Body.String(), "TestHealthAndMetrics") {
		t.Errorf("profile: %d", w.Code)
	}
	r.as("", "GET", "/debug/pprof/goroutine", "").problem(404, "not_found", "")
	// The command's arguments may hold a secret.
	if w := ops("/debug/pprof/cmdline"); w.Code != 404 {
		t.Errorf("the command's arguments: %d %s", w.Code, w.Body)
	}
}

func TestAllowedPagesMayCallTheFansPart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	preflight := func(path, origin string) *response {
		req := httptest.NewRequest("OPTIONS", path, nil)
		req.Header.Set("Origin", origin)
		req.Header.Set("Access-Control-Request-Method", "POST")
		return r.send(req)
	}
	if w := preflight("/v1/me/inbox/read", "https://fans.example"); w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != "https://fans.example" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for path, origin := range map[string]string{"/v1/me/inbox": "https://evil.example", "/v1/shows": "https://fans.example", "/v1/me/entries": "null"} {
		if w := preflight(path, origin); w.Code != 401 || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s from %s: %d %v", path, origin, w.Code, w.Header())
		}
	}
	for _, bad := range []string{"*", "fans.example", "https://*.example", "https://fans.example/", "https://fans.example/app"} {
		if _, err := parseOrigins([]string{bad}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestTheDocumentIsTrue(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.as("", "GET", "/openapi.json", "")
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Security    []map[string][]string
			Responses   map[string]json.RawMessage
		}
		Components struct {
			Schemas map[string]struct {
				Properties map[string]json.RawMessage
			}
		}
	}
	mustJSON(t, w.Body.String(), &doc)
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("version %q", doc.OpenAPI)
	}
	documented := map[string]bool{}
	for path, item := range doc.Paths {
		for method, op := range item {
			documented[strings.ToUpper(method)+" "+path] = true
			if areaOf(path) != areaOpen && len(op.Security) != 1 {
				t.Errorf("%s %s has security %v", method, path, op.Security)
			}
		}
	}
	for _, c := range calls {
		op := r.operation(c.method, c.path)
		if doc.Paths[op.Path][strings.ToLower(c.method)].Responses[fmt.Sprint(c.status)] == nil {
			t.Errorf("%s %s does not document %d", c.method, op.Path, c.status)
		}
	}
	for _, route := range r.server.router.Routes() {
		for method := range route.Handlers {
			if key := method + " " + route.Pattern; !documented[key] && route.Pattern != "/openapi.json" {
				t.Errorf("%s is served but not documented", key)
			}
		}
	}
	// The stand-in for notifier.Item has the same fields, so that none is forgotten.
	full := notifier.Item{
		Type: "t", ShowID: "s", OpeningID: "o", Data: json.RawMessage("{}"), Seats: 1, State: "open",
		OpensAt: notifier.StampOf(&noon), ClosesAt: notifier.StampOf(&noon),
	}
	var fields map[string]any
	mustJSON(t, string(value(json.Marshal(full))), &fields)
	for name := range fields {
		if doc.Components.Schemas["Item"].Properties[name] == nil {
			t.Errorf("the schema of an item lacks %s", name)
		}
	}
	for _, name := range []string{"Stamp", "Milli"} {
		if _, ok := doc.Components.Schemas[name]; ok {
			t.Errorf("the document shows Go's %s", name)
		}
	}
}

func TestListenServesUntilShutdown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, listen := range []func(context.Context, string) (*Listener, error){r.server.Listen, r.server.ListenOps} {
		l, err := listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- l.Serve() }()
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Get("http://" + l.Addr().String() + "/healthz")
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v %v", resp, err)
		}
		_ = resp.Body.Close()
		for range 2 {
			if err := l.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	l, err := r.server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Shutdown(t.Context()); err != nil { // never served
		t.Error(err)
	}
	if _, err := r.server.Listen(t.Context(), "127.0.0.1:notaport"); err == nil {
		t.Error("no error")
	}
}
