package admin

import (
	"context"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5"

	"fanline/fanout"
	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
)

// world is the pages over a line on a database of the test's own. Decisions are
// made by the test, when it says so.
type world struct {
	*waitlist.Service
	t     testing.TB
	store *store.Store
	url   string
	logs  *strings.Builder
	dsn   string
}

// Nudge does nothing: see decide.
func (w *world) Nudge(int32) {}

const password = "correct horse"

// newWorld has one user, kim. change may change the configuration.
func newWorld(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	w := &world{t: t, logs: &strings.Builder{}, dsn: storetest.Database(t, store.Migrate)}
	var err error
	if w.store, err = store.Open(t.Context(), store.Config{URL: w.dsn, Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	w.Service = waitlist.NewService(w.store, w, func(...int64) {})
	spread := fanout.New(nobody{}, slog.New(slog.DiscardHandler))
	cfg := Config{Line: w.Service, Announcer: fanout.Announcer{Store: w.store, Fanout: spread}, Records: w.store, Users: usersOf(t, "kim", "lee"), Log: slog.New(slog.NewTextHandler(w.logs, nil))}
	for _, f := range change {
		f(&cfg)
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	root := chi.NewMux()
	root.Mount("/admin", a.Handler())
	srv := httptest.NewServer(root)
	w.url = srv.URL
	t.Cleanup(func() { a.Stop(); srv.Close(); w.Close(); w.store.Close() })
	return w
}

// nobody is connected.
type nobody struct{}

func (nobody) WakeAll(context.Context) error           { return nil }
func (nobody) WakeFans(context.Context, []int64) error { return nil }

// usersOf makes users whose hashes cost nothing.
func usersOf(t testing.TB, names ...string) *Users {
	t.Helper()
	u := newUsers()
	for _, name := range names {
		h := passwordHash{memory: 8, time: 1, threads: 1, salt: []byte("saltsalt" + name)}
		h.key = h.derive(password, 32)
		u.add(name, h, password)
	}
	return u
}

// sql runs a statement beside the store.
func (w *world) sql(sql string, args ...any) {
	w.t.Helper()
	c, err := pgx.Connect(w.t.Context(), w.dsn)
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(w.t.Context(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) show(id, name, venue string) {
	w.t.Helper()
	if _, _, err := w.PutShow(w.t.Context(), id, waitlist.ShowChange{
		Name: waitlist.Some(name), Venue: waitlist.Some(venue),
		StartsAt: waitlist.Some(time.Now().Add(24 * time.Hour)), TimeZone: waitlist.Some("Europe/Dublin"),
	}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) join(show string, joins ...waitlist.Join) {
	w.t.Helper()
	for _, j := range joins {
		if j.Party == 0 {
			j.Party = 1
		}
		if _, _, err := w.Join(w.t.Context(), show, j); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) fans(show string, ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		w.join(show, waitlist.Join{FanID: id})
	}
}

func (w *world) free(show string, o waitlist.NewOpening) {
	w.t.Helper()
	if o.Reason == "" {
		o.Reason = "returned"
	}
	if _, _, err := w.Record(w.t.Context(), show, o); err != nil {
		w.t.Fatal(err)
	}
}

// decide decides until nothing is due now.
func (w *world) decide() {
	w.t.Helper()
	for range 1000 {
		shows, err := w.store.DueSoon(w.t.Context(), 0)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(shows) == 0 {
			return
		}
		for _, due := range shows {
			if _, err := w.store.DecideShow(w.t.Context(), due.ShowNo); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.t.Fatal("decisions do not come to rest")
}

func (w *world) audits() []waitlist.Audit {
	w.t.Helper()
	list, err := w.store.Audits(w.t.Context(), waitlist.AuditFilter{Limit: 500})
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *world) entry(show, fan string) waitlist.Entry {
	w.t.Helper()
	e, err := w.Entry(w.t.Context(), show, fan)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// browser is a client that keeps cookies and goes where it is sent.
type browser struct {
	w    *world
	http *http.Client
}

func (w *world) browser() *browser {
	jar, _ := cookiejar.New(nil) // never fails
	return &browser{w, &http.Client{Jar: jar}}
}

// staff is a browser that is logged in.
func (w *world) staff(name string) *browser {
	w.t.Helper()
	b := w.browser()
	b.post("/admin/login", url.Values{"name": {name}, "password": {password}}).is(http.StatusOK)
	return b
}

// shown is a page that came back.
type shown struct {
	t      testing.TB
	status int
	header http.Header
	path   string // where it is, after being sent on
	body   string
}

func (b *browser) do(req *http.Request) *shown {
	t := b.w.t
	t.Helper()
	res, err := b.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &shown{t, res.StatusCode, res.Header, res.Request.URL.RequestURI(), string(body)}
}

func (b *browser) get(path string) *shown {
	b.w.t.Helper()
	return b.do(b.request(http.MethodGet, path, nil))
}

func (b *browser) post(path string, form url.Values) *shown {
	b.w.t.Helper()
	return b.do(b.request(http.MethodPost, path, form))
}

func (b *browser) request(method, path string, form url.Values) *http.Request {
	b.w.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(b.w.t.Context(), method, b.w.url+path, body)
	if err != nil {
		b.w.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return req
}

func (s *shown) is(status int) *shown {
	s.t.Helper()
	if s.status != status {
		s.t.Fatalf("%s: status %d, want %d\n%s", s.path, s.status, status, s.body)
	}
	return s
}

func (s *shown) at(path string) *shown {
	s.t.Helper()
	if s.path != path {
		s.t.Errorf("at %s, want %s", s.path, path)
	}
	return s
}

// says wants texts on the page, as a reader sees them.
func (s *shown) says(texts ...string) *shown {
	s.t.Helper()
	plain := html.UnescapeString(s.body)
	for _, text := range texts {
		if !strings.Contains(plain, text) {
			s.t.Errorf("%s does not say %q:\n%s", s.path, text, s.body)
		}
	}
	return s
}

func (s *shown) lacks(texts ...string) *shown {
	s.t.Helper()
	for _, text := range texts {
		if strings.Contains(s.body, text) {
			s.t.Errorf("%s holds %q", s.path, text)
		}
	}
	return s
}
