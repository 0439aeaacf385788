package admin

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/riverqueue/river"
	"riverqueue.com/riverui"

	"fanline/waitlist"
	"fanline/web/chrometest"
)

// withJobs is a world with the queue's pages, which get their store when there is one.
func withJobs(t *testing.T) *world {
	t.Helper()
	var jobs http.Handler
	w := newWorld(t, func(c *Config) {
		c.Jobs = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { jobs.ServeHTTP(rw, r) })
	})
	log := slog.New(slog.DiscardHandler)
	client, err := river.NewClient(w.store.Driver(), &river.Config{Logger: log})
	w.must(err)
	h, err := riverui.NewHandler(&riverui.HandlerOpts{Endpoints: riverui.NewEndpoints(client, nil), Prefix: "/admin/jobs", Logger: log})
	w.must(err)
	w.must(h.Start(t.Context()))
	jobs = h
	return w
}

func TestInABrowserTheJobsPagesWorkUnderTheirPolicy(t *testing.T) {
	t.Parallel()
	w := withJobs(t)
	w.stageLanes()
	c := w.chrome(t)
	c.login("kim")
	c.Submit(`.top nav a[href="/admin/jobs"]`)
	c.Wait(`document.body.innerText.includes('send')`)
	c.at("/admin/jobs/queues")
	c.Wait(`document.body.innerText.includes('turns_apns')`)
	if title := chrometest.Run[string](c.Chrome, `document.title`); !strings.Contains(title, "River") {
		t.Errorf("the title is %q", title)
	}
}

func TestJobsAreForStaffAndActsOnThemAreLogged(t *testing.T) {
	t.Parallel()
	w := withJobs(t)
	w.browser().get("/admin/jobs/").says("Box office")
	w.browser().get("/admin/jobs/api/queues?limit=20").says("Box office")
	b := w.staff("kim")
	post := func(site string) *shown {
		req := b.request(http.MethodPost, "/admin/jobs/api/jobs/cancel", nil)
		req.Body, req.ContentLength = http.NoBody, 0
		req.Header.Set("Sec-Fetch-Site", site)
		req.Header.Set("Content-Type", "application/json")
		return b.do(req)
	}
	post("cross-site").is(http.StatusForbidden)
	logged := func() (n int) {
		for _, a := range w.audits() {
			if a.Act == waitlist.AuditJobs {
				n++
			}
		}
		return n
	}
	if n := logged(); n != 0 {
		t.Errorf("%d acts logged that were refused", n)
	}
	post("same-origin")
	if n := logged(); n != 1 {
		t.Errorf("%d acts logged, want 1", n)
	}
	b.get("/admin/audit").says("acted on jobs", "POST jobs/cancel")
}
