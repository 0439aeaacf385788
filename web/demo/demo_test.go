package demo

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fanline/waitlist"
)

// script is a stage that says what it was asked for.
type script struct{ asked []string }

func (s *script) note(what string) error {
	s.asked = append(s.asked, what)
	if strings.HasSuffix(what, "refused") {
		return waitlist.Refuse(waitlist.NotFound, "there is no such fan")
	}
	if strings.HasSuffix(what, "broken") {
		return errors.New("secret of the inside")
	}
	return nil
}

func (s *script) Scene(context.Context) (Scene, error) { return Scene{}, s.note("scene") }

func (s *script) Token(_ context.Context, fan string) (string, error) {
	return "t", s.note("token " + fan)
}

func (s *script) Pay(_ context.Context, claim string) error { return s.note("pay " + claim) }

func (s *script) Join(_ context.Context, show, fan string) error {
	return s.note("join " + show + " " + fan)
}

func (s *script) Free(_ context.Context, show string) error { return s.note("free " + show) }

// ask sends a request as a browser on this machine would; change may make it another.
func ask(s Stage, method, path, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "127.0.0.1:8080", "127.0.0.1:50000"
	r.Header.Set("Origin", "http://127.0.0.1:8080")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	Handler(s, slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
	return w
}

func TestTokensAreForThisMachineAndThisPageAlone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*http.Request){
		"a name that leads here":   func(r *http.Request) { r.Host = "evil.example:8080" },
		"another machine":          func(r *http.Request) { r.RemoteAddr = "192.0.2.7:50000" },
		"another site's page":      func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another port's page":      func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"an old browser elsewhere": func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "http://evil.example") },
	} {
		s := &script{}
		if w := ask(s, "POST", "/token", `{"fan":"ada"}`, change); w.Code != http.StatusForbidden || len(s.asked) > 0 {
			t.Errorf("%s: %d, asked %v", name, w.Code, s.asked)
		}
	}
	for _, host := range []string{"127.0.0.1:8080", "localhost:8080", "[::1]:8080", "localhost"} {
		w := ask(&script{}, "POST", "/token", `{"fan":"ada"}`, func(r *http.Request) { r.Host = host })
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"token":"t"`) {
			t.Errorf("%s: %d %s", host, w.Code, w.Body)
		}
	}
}

func TestTheStageIsAskedForWhatThePageAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path, body, asked string
		status                    int
		says                      string
	}{
		{"GET", "/scene", "", "scene", 200, `"shows":null`},
		{"POST", "/token", `{"fan":"ada"}`, "token ada", 200, `"token":"t"`},
		{"POST", "/pay", `{"claim":"c1"}`, "pay c1", 200, "null"},
		{"POST", "/join", `{"show":"s","fan":"ada"}`, "join s ada", 200, "null"},
		{"POST", "/free", `{"show":"s"}`, "free s", 200, "null"},
		{"POST", "/token", `{"fan":"refused"}`, "token refused", 409, "there is no such fan"},
		{"POST", "/token", `{"fan":"broken"}`, "token broken", 502, "the log has it"},
		{"POST", "/token", `[]`, "", 400, "must be an object"},
		{"POST", "/token", `{"fan":"` + strings.Repeat("x", maxBody) + `"}`, "", 400, "must be an object"},
	} {
		s := &script{}
		w := ask(s, c.method, c.path, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s %s: %d %s", c.path, c.body[:min(len(c.body), 30)], w.Code, w.Body)
		}
		if got := strings.Join(s.asked, ","); got != c.asked {
			t.Errorf("%s: asked %q, want %q", c.path, got, c.asked)
		}
	}
}

func TestEveryFileIsServedUnderTheStrictPolicy(t *testing.T) {
	t.Parallel()
	entries, err := files.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/", "/sw.js"}
	for _, e := range entries {
		paths = append(paths, "/assets/"+e.Name())
	}
	for _, path := range paths {
		w := ask(&script{}, "GET", path, "")
		if w.Code != 200 || w.Body.Len() == 0 || w.Header().Get("Content-Security-Policy") != policy || w.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("policy %s", policy)
	}
	for _, path := range []string{"/assets/none.js", "/assets/..%2fdemo.go", "/elsewhere"} {
		if w := ask(&script{}, "GET", path, ""); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestThePageHasNoScriptOrStyleOfItsOwn: the policy would stop it, and say so in the console.
func TestThePageHasNoScriptOrStyleOfItsOwn(t *testing.T) {
	t.Parallel()
	page := ask(&script{}, "GET", "/", "").Body.String()
	for _, never := range []string{" style=", "<style", " onclick", "javascript:", "http://", "https://"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %s", never)
		}
	}
}
