package admin

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fanline/waitlist"
)

func credentials(name, password string) url.Values {
	return url.Values{"name": {name}, "password": {password}}
}

func TestNobodyGetsInWhenNobodyIsConfigured(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Users = nil })
	w.browser().get("/admin").is(http.StatusOK).says("Nobody can log in yet", "FANLINE_ADMIN_USERS")
	w.browser().post("/admin/login", credentials("admin", "")).is(http.StatusForbidden).says("Nobody can log in yet")
	b := w.browser()
	req := b.request(http.MethodGet, "/admin/shows", nil)
	req.AddCookie(&http.Cookie{Name: "fanline_admin", Value: "x"})
	b.do(req).at("/admin/login?next=%2Fadmin%2Fshows")
}

func TestOnlyTheRightPasswordOfAKnownNameLetsIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []url.Values{
		credentials("kim", "wrong"), credentials("KIM", password), credentials("nobody", password), credentials("lee ", password),
	} {
		b := w.browser()
		b.post("/admin/login", c).is(http.StatusUnauthorized).says("The name or the password is wrong.")
		b.get("/admin/shows").says("Box office")
	}
	w.browser().post("/admin/login", credentials("kim", "")).is(http.StatusUnprocessableEntity)
	if n := len(w.audits()); n != 0 {
		t.Errorf("%d audits of logins that failed", n)
	}
	w.staff("kim").get("/admin").is(http.StatusOK).at("/admin").says("kim", "There is no show yet")
}

func TestALoginLeadsToThePageThatWasAskedForAndNowhereElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	b := w.browser()
	b.get("/admin/shows/club/line?state=waiting").says("Box office", `value="/admin/shows/club/line?state=waiting"`)
	form := credentials("kim", password)
	form.Set("next", "/admin/shows/club/line?state=waiting")
	b.post("/admin/login", form).is(http.StatusOK).at("/admin/shows/club/line?state=waiting")

	for _, next := range []string{
		"//evil.example", "https://evil.example/admin/", "/\\evil.example", "/admin/../v1/shows", "/adminx", "javascript:alert(1)",
		"/admin//evil.example/", "http:/admin/", "/admin/\\..", "/admin/login", "", "%2F%2Fevil.example", "/admin/%2e%2e/x",
	} {
		if got := localPage(next); got != "/admin" {
			t.Errorf("next %q leads to %q", next, got)
		}
	}
}

func TestASessionIsNewAtLoginAndGoneAfterLogout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.staff("kim")
	before := b.cookie("/admin")
	if before == nil || before.Value == "" {
		t.Fatal("no cookie")
	}
	b.post("/admin/login", credentials("kim", password)).is(http.StatusOK)
	if after := b.cookie("/admin"); after.Value == before.Value {
		t.Error("the second login kept the first one's token")
	}
	old := w.browser()
	req := old.request(http.MethodGet, "/admin/shows", nil)
	req.AddCookie(before)
	old.do(req).says("Box office")

	stolen := b.cookie("/admin")
	b.post("/admin/logout", url.Values{}).is(http.StatusOK).says("You are logged out.")
	b.get("/admin/shows").says("Box office")
	req = old.request(http.MethodGet, "/admin/shows", nil)
	req.AddCookie(stolen)
	old.do(req).says("Box office")

	var acts []string
	for _, a := range w.audits() {
		acts = append(acts, a.Who+" "+string(a.Act))
	}
	if got := strings.Join(acts, ", "); got != "kim logout, kim login, kim login" {
		t.Errorf("the log holds %s", got)
	}
}

// cookie is the one that the browser would send.
func (b *browser) cookie(path string) *http.Cookie {
	u, _ := url.Parse(b.w.url + path)
	for _, c := range b.http.Jar.Cookies(u) {
		return c
	}
	return nil
}

func TestACookieIsAsStrictAsTheAddressAllows(t *testing.T) {
	t.Parallel()
	set := func(w *world) *http.Cookie {
		b := w.browser()
		b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		page := b.post("/admin/login", credentials("kim", password)).is(http.StatusSeeOther)
		c, err := http.ParseSetCookie(page.header.Get("Set-Cookie"))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	plain := set(newWorld(t))
	if plain.Name != "fanline_admin" || !plain.HttpOnly || plain.SameSite != http.SameSiteLaxMode || plain.Path != "/admin" || plain.Secure {
		t.Errorf("over HTTP: %+v", plain)
	}
	tls := set(newWorld(t, func(c *Config) { c.PublicURL = "https://tickets.example.com" }))
	if tls.Name != "__Host-fanline_admin" || !tls.HttpOnly || !tls.Secure || tls.Path != "/" || tls.Domain != "" {
		t.Errorf("over TLS: %+v", tls)
	}
}

func TestTheDatabaseHoldsNoToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.staff("kim")
	token := b.cookie("/admin").Value
	keys := usersOf(t, "kim", "lee").keys(token)
	for _, k := range keys {
		if strings.Contains(string(k), token) {
			t.Error("a key holds the token")
		}
	}
	if who, err := w.store.Session(t.Context(), [][]byte{[]byte(token)}, sessionLife); who != "" || err != nil {
		t.Errorf("the token itself finds %q, %v", who, err)
	}
	if who, err := w.store.Session(t.Context(), keys, sessionLife); who != "kim" || err != nil {
		t.Errorf("the keys find %q, %v", who, err)
	}
}

func TestAnotherPasswordEndsTheUsersSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.staff("kim").cookie("/admin").Value
	changed := usersOf(t, "lee")
	changed.add("kim", changed.other, "another password")
	if who, err := w.store.Session(t.Context(), changed.keys(token), sessionLife); who != "" || err != nil {
		t.Errorf("after the change the session is %q's, %v", who, err)
	}
}

// from is a browser at an address, as a proxy of our own side says.
func (w *world) from(address string) *browser {
	b := w.browser()
	b.http.Transport = at(address)
	return b
}

type at string

func (a at) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-Forwarded-For", "203.0.113.99, "+string(a))
	return http.DefaultTransport.RoundTrip(r)
}

func (b *browser) login(name, password string) *shown {
	b.w.t.Helper()
	return b.post("/admin/login", credentials(name, password))
}

func TestTriesToLogInAreLimitedPerNameAndAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range loginLimits.PerPair {
		w.from("198.51.100.1").login("kim", "wrong").is(http.StatusUnauthorized)
	}
	page := w.from("198.51.100.1").login("kim", password).is(http.StatusTooManyRequests)
	page.says("too many tries", "10 minutes")
	if page.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	w.from("198.51.100.1").login("lee", password).is(http.StatusOK) // another name is not held up
	w.from("198.51.100.2").login("kim", password).is(http.StatusOK) // nor the name elsewhere
}

func TestGuessingElsewhereDoesNotLockOutStaff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	home := "192.0.2.7"
	w.from(home).login("kim", password).is(http.StatusOK)
	limits := loginLimits
	for i := range limits.InAll + 50 { // from everywhere, at every name
		name, address := sha256.Sum256([]byte([]string{"kim", "x"}[i%2])), sha256.Sum256(fmt.Append(nil, "somewhere", i))
		if _, err := w.store.TryLogin(t.Context(), name[:], address[:], limits); err != nil {
			t.Fatal(err)
		}
	}
	w.from("198.51.100.9").login("kim", password).is(http.StatusTooManyRequests)
	w.from("198.51.100.9").login("lee", password).is(http.StatusOK) // whose name nobody guesses at
	w.from(home).login("kim", password).is(http.StatusOK)
	for range limits.PerPair {
		w.from(home).login("kim", "wrong").is(http.StatusUnauthorized)
	}
	w.from(home).login("kim", password).is(http.StatusTooManyRequests) // the pair's own limit holds
}

func TestTriesToLogInAreLimitedPerAddressAndInAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	limits := waitlist.LoginLimits{Window: time.Minute, PerPair: 10, FamiliarFor: time.Hour, PerAddress: 3, PerName: 10, InAll: 5}
	for i, c := range []struct {
		name, address string
		held          bool
	}{
		{"a", "1", false},
		{"b", "1", false},
		{"c", "1", false},
		{"d", "1", true},
		{"d", "2", false},
		{"e", "3", false},
		{"f", "4", true},
	} {
		if wait, err := w.store.TryLogin(t.Context(), []byte(c.name), []byte(c.address), limits); wait > 0 != c.held || err != nil {
			t.Errorf("try %d: wait %s, %v", i, wait, err)
		}
	}
}

func TestAForgedHeaderDoesNotHideWhereATryComesFrom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ peer, header, want string }{
		{"198.51.100.7:1", "", "198.51.100.7"},
		{"198.51.100.7:1", "192.0.2.1", "198.51.100.7"},
		{"127.0.0.1:1", "192.0.2.1, 203.0.113.5", "203.0.113.5"},
		{"10.0.0.2:1", "203.0.113.5", "203.0.113.5"},
		{"10.0.0.2:1", "not an address", "10.0.0.2"},
		{"[2001:db8:1:2:3::4]:1", "", "2001:db8:1:2::/64"},
		{"[::ffff:198.51.100.7]:1", "", "198.51.100.7"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{}}
		if c.header != "" {
			r.Header.Set("X-Forwarded-For", c.header)
		}
		if got := network(r); got != c.want {
			t.Errorf("from %s with %q: %s, want %s", c.peer, c.header, got, c.want)
		}
	}
}

func TestASuccessfulLoginForgetsTheTriesBeforeIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		for range loginLimits.PerPair - 1 {
			w.browser().login("kim", "wrong").is(http.StatusUnauthorized)
		}
		w.staff("kim")
	}
}

func TestPostsFromOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	b := w.staff("kim")
	for _, forged := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
		{"Sec-Fetch-Site": "same-site", "Origin": "https://other.example.com"},
		{"Origin": "https://evil.example"},
		{"Origin": "null"},
	} {
		req := b.request(http.MethodPost, "/admin/shows/club/pause", url.Values{})
		for k, v := range forged {
			req.Header.Set(k, v)
		}
		b.do(req).is(http.StatusForbidden).says("sent by another site's page")
	}
	if s, _ := w.Show(t.Context(), "club"); s.PausedStaff {
		t.Error("a forged post paused the show")
	}
	req := b.request(http.MethodPost, "/admin/shows/club/pause", url.Values{})
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	b.do(req).is(http.StatusOK).says("The show is paused.")
}

func TestEveryPageKeepsItsHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.staff("kim")
	for _, path := range []string{"/admin/shows", "/admin/login", "/admin/nothing", "/admin/shows/none", "/admin/audit"} {
		h := b.get(path).header
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"Content-Type": "text/html; charset=utf-8",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		for _, part := range []string{"default-src 'none'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, part) || strings.Contains(csp, "unsafe") {
				t.Errorf("%s: the policy is %q", path, csp)
			}
		}
	}
}

func TestAssetsAreKeptForLongUnderTheirHash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := w.browser().get("/admin/login")
	_, rest, _ := strings.Cut(page.body, `href="/admin/assets/`)
	name, _, _ := strings.Cut(rest, `"`)
	css := w.browser().get("/admin/assets/" + name).is(http.StatusOK)
	if got := css.header.Get("Cache-Control"); !strings.Contains(got, "immutable") || css.header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%s: %q, %q", name, got, css.header.Get("Content-Type"))
	}
	w.browser().get("/admin/assets/style.css").is(http.StatusNotFound)
}

func TestTooLargeAFormIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	form := credentials("kim", password)
	form.Set("next", strings.Repeat("x", maxBody))
	w.browser().post("/admin/login", form).is(http.StatusRequestEntityTooLarge)
}

func TestUsersAreReadFromNamesAndHashes(t *testing.T) {
	t.Parallel()
	hash, err := HashPassword(password)
	if err != nil {
		t.Fatal(err)
	}
	u, err := ParseUsers("kim:" + hash + ", lee.b:" + hash)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"kim": true, "lee.b": true, "lee": false} {
		if ok, err := u.check(t.Context(), name, password); ok != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", name, ok, err, want)
		}
	}
	if ok, _ := u.check(t.Context(), "kim", password+"x"); ok {
		t.Error("a wrong password is right")
	}
	for _, bad := range []string{
		"kim", "kim:secret", ":" + hash, "kim:" + hash + ",kim:" + hash, "kim:" + hash + "*", "kim:" + strings.Replace(hash, "argon2id", "argon2i", 1),
		"k m:" + hash, "kim:$argon2id$v=19$m=9999999,t=3,p=1$c2FsdHNhbHQ$a2V5a2V5a2V5a2V5", "kim:$argon2id$v=19$m=8,t=0,p=1$c2FsdHNhbHQ$a2V5a2V5a2V5a2V5",
	} {
		if _, err := ParseUsers(bad); err == nil {
			t.Errorf("%q is taken", bad)
		} else if strings.Contains(err.Error(), hash) {
			t.Errorf("the error tells the hash: %v", err)
		}
	}
	if u, err := ParseUsers(" "); err != nil || !u.none() {
		t.Errorf("no users: %v, %v", u, err)
	}
}

func TestASingleUserIsAdmin(t *testing.T) {
	t.Parallel()
	u, err := SingleUser(password)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := u.check(t.Context(), "admin", password); !ok || err != nil {
		t.Errorf("admin: %v, %v", ok, err)
	}
	if _, err := SingleUser(""); err == nil {
		t.Error("an empty password is taken")
	}
}

func TestActsNameTheirDoer(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("an act without its doer was carried out")
		}
	}()
	_ = acts{}.do(t.Context(), waitlist.Audit{Act: waitlist.AuditPause}, nil)
}
