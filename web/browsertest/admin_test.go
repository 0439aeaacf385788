package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// staff opens the box office and logs in.
func (h *house) staff() *chrome {
	h.t.Helper()
	c := newChrome(h.t)
	c.to(h.url + "/admin/login")
	c.submit(fill("name", "admin"), fill("password", staffPassword), click("main form button"))
	return c
}

// submit does steps of which the last loads a page, and waits for it.
func (c *chrome) submit(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	if _, err := chromedp.RunResponse(c.ctx, steps...); err != nil {
		c.t.Fatalf("%v; the page says:\n%s", err, c.text())
	}
}

// fill replaces what a field holds.
func fill(id, text string) chromedp.Action[chromedp.Void] {
	field := chromedp.ID(id)
	return chromedp.Steps(chromedp.Clear(field), chromedp.SendKeys(field, text))
}

func click(css string) chromedp.Action[chromedp.Void] { return chromedp.Click(chromedp.CSS(css)) }

func TestASeatFreedOnTheShowPageGoesFromFanToFan(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben")
	ada, ben := h.fanPage("ada"), h.fanPage("ben")
	ada.heads("You are first in line")
	c := h.staff()
	c.to(h.url + "/admin/shows/club")
	c.submit(click(".acts a.p"))
	c.sees("There is no ticket behind it")
	c.submit(click("main form button"))
	c.sees("The test seat is free")
	ada.heads("Your turn")
	ada.press("pass")
	ben.heads("Your turn")
	ben.press("take")
	ben.heads("Held for you")
	c.to(h.url + "/admin/shows/club")
	c.sees("1 of 1 taken")
	c.submit(click(".times .what a"))
	c.sees("Wave 2: 1 fan")
	c.sees("seats held 1")
	c.sees("declined 1")
	c.submit(click(".acts a"))
	c.sees("The order held.")
	ben.press("pay")
	ben.heads("It is yours")
	c.to(h.url + "/admin/shows/club")
	c.sees("filled")
}

func TestAMoveInTheLineShowsInTheTrace(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben", "cleo")
	cleo := h.fanPage("cleo")
	cleo.wait(`document.getElementById("position")?.textContent === "3"`)
	c := h.staff()
	c.to(h.url + "/admin/shows/club/line")
	c.submit(click(`a[aria-label="Act for cleo"]`))
	c.sees("Act for cleo")
	c.submit(click("#a-front"), fill("reason-line", "lost in the outage"), click(".pick button"))
	c.sees("Moved to the front.")
	cleo.heads("You are first in line")
	trace := must(h.lines.Trace(t.Context(), "club", "cleo", 0, 10))(t)
	if len(trace.Log) != 1 || trace.Log[0].Reason != "lost in the outage" {
		t.Errorf("the trace has %+v", trace.Log)
	}
	// A turn given with a reason goes before the next in line.
	h.free("club", "o1")
	cleo.heads("Your turn")
	c.to(h.url + "/admin/shows/club/line?pick=ben")
	c.submit(click("#a-turn"), fill("reason-line", "wheelchair space"), click(".pick button"))
	c.sees("The next turn of that opening goes to this fan.")
	ben := h.fanPage("ben")
	ben.heads("You are in line")
	cleo.press("pass")
	ben.heads("Your turn")
	if r := h.reason("club", "o1", "ada"); r != "behind" {
		t.Errorf("ada's verdict is %s", r)
	}
}

func TestAPausedShowTellsNobodyUntilItGoesOn(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	ada := h.fanPage("ada")
	ada.heads("You are first in line")
	c := h.staff()
	c.to(h.url + "/admin/shows/club")
	c.do(click("details.act summary"))
	c.submit(fill("reason-pause", "the map is wrong"), click("details.act button"))
	c.sees("The show is paused.")
	h.free("club", "o1")
	if r := h.reason("club", "o1", "ada"); r != "paused" {
		t.Errorf("ada's verdict is %s", r)
	}
	c.do(click("details.act summary"))
	c.submit(click("details.act button"))
	c.sees("Staff's pause is lifted.")
	ada.heads("Your turn")
}

func TestAPolicySaysWhatItDoesBeforeItIsSaved(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben", "cleo")
	c := h.staff()
	c.to(h.url + "/admin/shows/club/policy")
	c.sees("each has 10 min to take it; the line moves at 50 a second.")
	c.submit(fill("claim_window_s", "120"), fill("release_per_s", "0.5"), click(".rules button"))
	c.sees("about 3 fans hear within 6 seconds; each has 2 min to take it; the line moves at 0.5 a second.")
	c.sees("pace: 50/s 0.5/s")
	if p := must(h.lines.Show(t.Context(), "club"))(t).Policy; p.ClaimWindowS != 600 {
		t.Errorf("the window is %d before it was saved", p.ClaimWindowS)
	}
	c.submit(fill("reason-policy", "the checkout is slow"), click("#effect form button"))
	c.sees("The policy is changed.")
	if p := must(h.lines.Show(t.Context(), "club"))(t).Policy; p.ClaimWindowS != 120 || p.ReleasePerS != 500 {
		t.Errorf("the policy is %+v", p)
	}
	c.to(h.url + "/admin/audit")
	c.sees("time to take it 10 min → 2 min, pace 50/s → 0.5/s: the checkout is slow")
}

func TestAnAnnouncementOfStaffReachesAnInbox(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben")
	ada := h.fanPage("ada")
	c := h.staff()
	c.to(h.url + "/admin/shows/club/announce")
	c.submit(fill("title", "Doors at eight"), chromedp.SendKeys(chromedp.ID("body"), "The support act"+kb.Enter+"is on at half past."), click("main form button"))
	c.sees("It goes to 2 fans")
	c.sees("The support act")
	c.sees("is on at half past.")
	c.submit(click(`button[value="send"]`))
	c.sees("The announcement is on its way to everyone in line.")
	ada.wait(`document.querySelector("#inbox li")?.innerText.includes("Doors at eight")`)
}

func TestTheLineIsDownloadedAsCSV(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben")
	c := h.staff()
	c.to(h.url + "/admin/shows/club/line")
	text := run[string](c, `fetch(document.querySelector("a[download]").href).then((r) => r.headers.get("content-disposition") + "\n" + r.status + "\n" + r.headers.get("content-type") + "\n").then(async (head) => head + await (await fetch(document.querySelector("a[download]").href)).text())`)
	if !strings.Contains(text, `attachment; filename="line-club.csv"`) || !strings.Contains(text, "\r\n1,ada,waiting,1,") || !strings.Contains(text, "\r\n2,ben,") {
		t.Errorf("the download is %q", text)
	}
}
