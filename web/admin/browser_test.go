package admin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"fanline/waitlist"
	"fanline/web/chrometest"
)

func TestInABrowserStaffMoveAFanAndFindItInTheLog(t *testing.T) {
	t.Parallel()
	for _, script := range []bool{true, false} {
		t.Run(fmt.Sprintf("script %v", script), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.show("club", "Tuesday night", "The Locksmith")
			w.fans("club", "f1", "f2", "f3")
			c := w.chrome(t)
			if !script {
				c.WithoutScript()
			}
			c.login("kim")
			c.Says("Tuesday night", "The Locksmith")
			c.Submit(".card h2 a")
			c.Fill("fan", "f3")
			c.Submit(".panel .find button")
			c.Says("This show has had no opening yet")
			c.Press("details summary")
			c.Fill("reason-front", "lost in the outage")
			c.Submit("details[open] button")
			c.Says("Moved to the front.", "lost in the outage")
			if p := w.entry("club", "f3").Position; p != 1 {
				t.Errorf("position %d after the move", p)
			}
			c.Submit(".top nav a:last-child")
			c.Says("kim", "moved to the front", "f3", "lost in the outage")

			c.at("/admin/shows/club")
			c.Press("details.act summary")
			c.Fill("reason-pause", "the map is wrong")
			c.Submit("details.act button")
			c.Says("The show is paused.", "paused by staff")
			c.Submit(".who button")
			c.Says("You are logged out.")
		})
	}
}

func TestInABrowserAForgedPostIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	// Another port is the same site, so that the cookie travels with the forgery.
	evil := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<link rel="icon" href="data:,"><form method="post" action="%s/admin/shows/club/pause"><button>win a prize</button></form>`, w.url)
	}))
	t.Cleanup(evil.Close)
	c := w.chrome(t)
	c.Allow("403")
	c.login("kim")
	c.To(evil.URL)
	c.Submit("button")
	c.Says("sent by another site's page")
	if s, _ := w.Show(t.Context(), "club"); s.PausedStaff {
		t.Error("the forged post paused the show")
	}
}

func TestInABrowserScriptInAnyTextIsText(t *testing.T) {
	t.Parallel()
	const evil = `"><script>document.title='owned'</script><img src=x onerror="document.title='owned'">'{{.}}`
	w := newWorld(t)
	w.show("club", "Name "+evil, "Venue "+evil)
	w.join("club", waitlist.Join{FanID: "f|a@b:c+1", Tier: short("<script>alert(1)</script>")})
	w.fans("club", "f2")
	w.free("club", waitlist.NewOpening{ID: "o1", Seats: []string{"<b>A-1</b>"}, Tier: "<i>stalls</i>"})
	w.decide()
	w.staff("lee").post("/admin/shows/club/fans/f%7Ca@b:c+1/front", because("Reason "+evil)).is(http.StatusOK)
	w.staff("lee").post("/admin/shows/club/pause", because("Reason "+evil)).is(http.StatusOK)
	c := w.chrome(t)
	c.login("kim")
	for path, texts := range map[string][]string{
		"/admin":                                       {"Name " + evil, "Venue " + evil},
		"/admin/fans/f%7Ca@b:c+1":                      {"Name " + evil, "Reason " + evil, "<script>alert(1)</script>"},
		"/admin/shows":                                 {"Name " + evil, "Venue " + evil},
		"/admin/shows?q=%3Cscript%3E":                  {"Name " + evil},
		"/admin/shows/club":                            {"Name " + evil, "Venue " + evil, "<script>alert(1)</script>"},
		"/admin/shows/club/line":                       {"<script>alert(1)</script>", "f|a@b:c+1"},
		"/admin/shows/club/fans/f%7Ca@b:c+1":           {"Reason " + evil, "<i>stalls</i>", "<script>alert(1)</script>"},
		"/admin/shows/club/openings":                   {"<i>stalls</i>"},
		"/admin/shows/club/openings/o1":                {"<b>A-1</b>", "<i>stalls</i>"},
		"/admin/shows/club/openings/o1/cancel":         {"Cancel o1?"},
		"/admin/shows/club/openings/o1/order":          {"Did the order hold?"},
		"/admin/shows/club/policy":                     {"What the rules in force do"},
		"/admin/shows/club/announce":                   {"Announce to the line"},
		"/admin/shows/club/seat":                       {"Free a test seat"},
		"/admin/shows/club/line?pick=f%7Ca@b:c%2B1":    {"Act for f|a@b:c+1", "<script>alert(1)</script>"},
		"/admin/audit":                                 {"Reason " + evil, "Name " + evil, "f|a@b:c+1"},
		"/admin/login?next=%22%3E%3Cscript%3Ealert(1)": nil,
	} {
		c.at(path)
		c.Says(texts...)
		if title := chrometest.Run[string](c.Chrome, `document.title`); title == "owned" {
			t.Errorf("%s: the script ran", path)
		}
		if n := chrometest.Run[int](c.Chrome, `document.querySelectorAll('main script, main img, main b b, main i').length`); n != 0 {
			t.Errorf("%s: %d elements came out of texts", path, n)
		}
	}
}

// TestInABrowserEveryPageIsQuietAndFits looks at every page, light and dark, narrow
// and wide: nothing in the console, nothing wider than the screen. With
// FANLINE_ADMIN_PICTURES set, it leaves pictures of them in that folder.
func TestInABrowserEveryPageIsQuietAndFits(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("FANLINE_ADMIN_PICTURES")
	w := staged(t)
	empty := newWorld(t)
	c := w.chrome(t)
	look := func(name, path string) {
		t.Helper()
		for _, width := range []int64{1280, 400} {
			for _, scheme := range []string{"light", "dark"} {
				c.Scheme(scheme)
				c.Width(width)
				c.at(path)
				if over := c.TooWide(); over > 0 {
					t.Errorf("%s is %d wider than %d", name, over, width)
				}
				if folder != "" {
					c.Picture(filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)))
				}
			}
		}
	}
	look("login", "/admin/login")
	c.login("kim")
	for name, path := range map[string]string{
		"overview": "/admin", "person": "/admin/fans/fan-31", "find": "/admin/fans",
		"audit-kim": "/admin/audit?who=kim&show=locksmith-tue",
		"shows":     "/admin/shows", "shows-none": "/admin/shows?q=nothing",
		"club": "/admin/shows/locksmith-tue", "stadium": "/admin/shows/marlow-vance",
		"line": "/admin/shows/locksmith-tue/line", "line-none": "/admin/shows/locksmith-tue/line?state=left",
		"openings": "/admin/shows/locksmith-tue/openings", "opening": "/admin/shows/locksmith-tue/openings/C-02",
		"opening-stadium": "/admin/shows/marlow-vance/openings/block-112",
		"order":           "/admin/shows/locksmith-tue/openings/C-02/order",
		"policy":          "/admin/shows/locksmith-tue/policy",
		"policy-asked":    "/admin/shows/marlow-vance/policy?mode=turns&fans_per_seat=2&claim_window_s=300&hold_s=600&release_per_s=20&max_missed=3&strategy=auto&quiet_from=22:00&quiet_to=08:00&quiet_zone=Europe/Dublin",
		"seat":            "/admin/shows/locksmith-tue/seat",
		"announce":        "/admin/shows/marlow-vance/announce",
		"line-act":        "/admin/shows/locksmith-tue/line?pick=fan-10",
		"cancel":          "/admin/shows/marlow-vance/openings/block-112/cancel",
		"fan":             "/admin/shows/locksmith-tue/fans/fan-31", "fan-skipped": "/admin/shows/locksmith-tue/fans/fan-02",
		"fan-bought": "/admin/shows/locksmith-tue/fans/fan-01", "audit": "/admin/audit",
	} {
		look(name, path)
	}
	c.url = empty.url
	c.login("kim")
	look("overview-empty", "/admin")
	look("shows-empty", "/admin/shows")
	look("audit-empty", "/admin/audit?show=x")
}

func TestInABrowserAnotherPartOfTheLineTakesThePlaceOfThisOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	var fans []string
	for i := range 70 {
		fans = append(fans, fmt.Sprintf("fan-%02d", i))
	}
	w.fans("club", fans...)
	c := w.chrome(t)
	c.login("kim")
	c.at("/admin/shows/club/line")
	c.Says("fan-00", "fan-49")
	chrometest.Run[bool](c.Chrome, `window.stays = true`)
	first := `document.querySelector("#line tbody a")?.textContent`
	c.Enter("#further")
	c.Wait(first + ` === "fan-50"`)
	c.Enter("#front")
	c.Wait(first + ` === "fan-00"`)
	chrometest.Run[bool](c.Chrome, `(() => { const s = document.getElementById("state"); s.value = "bought"; return s.dispatchEvent(new Event("change", {bubbles: true})); })()`)
	c.Sees("Nobody in this line is in that state")
	if !chrometest.Run[bool](c.Chrome, `window.stays === true && location.search.includes("state=bought") && document.getElementById("csv").href.includes("bought")`) {
		t.Error("the page was loaded again, or says another state elsewhere")
	}
	chrometest.Run[bool](c.Chrome, `(history.back(), true)`)
	c.Wait(first + ` === "fan-00"`)
}
