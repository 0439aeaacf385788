package browsertest

import (
	"strings"
	"testing"
)

// staff opens the box office and logs in.
func (h *house) staff() *chrome {
	h.t.Helper()
	c := newChrome(h.t)
	c.To(h.url + "/admin/login")
	c.Fill("name", "admin")
	c.Fill("password", staffPassword)
	c.Submit("main form button")
	return c
}

func TestASeatFreedOnTheShowPageGoesFromFanToFan(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben")
	ada, ben := h.fanPage("ada"), h.fanPage("ben")
	ada.heads("You are first in line")
	c := h.staff()
	c.To(h.url + "/admin/shows/club")
	c.Submit(".acts a.p")
	c.Sees("There is no ticket behind it")
	c.Submit("main form button")
	c.Sees("The test seat is free")
	ada.heads("Your turn")
	ada.Press("#pass")
	ben.heads("Your turn")
	ben.Press("#take")
	ben.heads("Held for you")
	c.Sees("1 of 1 taken") // the page renews itself
	c.Submit(".times .what a")
	c.Sees("Wave 2: 1 fan")
	c.Sees("seats held 1")
	c.Sees("declined 1")
	c.Submit(".acts a")
	c.Sees("The order held.")
	ben.Press("#pay")
	ben.heads("It is yours")
	c.To(h.url + "/admin/shows/club")
	c.Sees("filled")
}

func TestAMoveInTheLineShowsInTheTrace(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben", "cleo")
	cleo := h.fanPage("cleo")
	cleo.Wait(`document.getElementById("position")?.textContent === "3"`)
	c := h.staff()
	c.To(h.url + "/admin/shows/club/line")
	c.Submit(`a[aria-label="Act for cleo"]`)
	c.Sees("Act for cleo")
	c.Press("#a-front")
	c.Fill("reason-line", "lost in the outage")
	c.Submit(".pick button")
	c.Sees("Moved to the front.")
	cleo.heads("You are first in line")
	trace := must(h.lines.Trace(t.Context(), "club", "cleo", 0, 10))(t)
	if len(trace.Log) != 1 || trace.Log[0].Reason != "lost in the outage" {
		t.Errorf("the trace has %+v", trace.Log)
	}
	// A turn given with a reason goes before the next in line.
	h.free("club", "o1")
	cleo.heads("Your turn")
	c.To(h.url + "/admin/shows/club/line?pick=ben")
	c.Press("#a-turn")
	c.Fill("reason-line", "wheelchair space")
	c.Submit(".pick button")
	c.Sees("The next turn of that opening goes to this fan.")
	ben := h.fanPage("ben")
	ben.heads("You are in line")
	cleo.Press("#pass")
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
	c.To(h.url + "/admin/shows/club")
	c.Press("details.act summary")
	c.Fill("reason-pause", "the map is wrong")
	c.Submit("details.act button")
	c.Sees("The show is paused.")
	h.free("club", "o1")
	if r := h.reason("club", "o1", "ada"); r != "paused" {
		t.Errorf("ada's verdict is %s", r)
	}
	c.Press("details.act summary")
	c.Submit("details.act button")
	c.Sees("Staff's pause is lifted.")
	ada.heads("Your turn")
}

func TestAPolicySaysWhatItDoesBeforeItIsSaved(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben", "cleo")
	c := h.staff()
	c.To(h.url + "/admin/shows/club/policy")
	c.Sees("each has 10 min to take it; the line moves at 50 a second.")
	c.Fill("claim_window_s", "120")
	c.Fill("release_per_s", "0.5")
	c.Submit(".rules button")
	c.Sees("about 3 fans hear within 6 seconds; each has 2 min to take it; the line moves at 0.5 a second.")
	c.Sees("pace: 50/s 0.5/s")
	if p := must(h.lines.Show(t.Context(), "club"))(t).Policy; p.ClaimWindowS != 600 {
		t.Errorf("the window is %d before it was saved", p.ClaimWindowS)
	}
	c.Fill("reason-policy", "the checkout is slow")
	c.Submit("#effect form button")
	c.Sees("The policy is changed.")
	if p := must(h.lines.Show(t.Context(), "club"))(t).Policy; p.ClaimWindowS != 120 || p.ReleasePerS != 500 {
		t.Errorf("the policy is %+v", p)
	}
	c.To(h.url + "/admin/audit")
	c.Sees("time to take it 10 min → 2 min, pace 50/s → 0.5/s: the checkout is slow")
}

func TestAnAnnouncementOfStaffReachesAnInbox(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben")
	ada := h.fanPage("ada")
	c := h.staff()
	c.To(h.url + "/admin/shows/club/announce")
	c.Fill("title", "Doors at eight")
	c.Fill("body", "The support act\nis on at half past.")
	c.Submit("main form button")
	c.Sees("It goes to 2 fans")
	c.Sees("The support act")
	c.Sees("is on at half past.")
	c.Submit(`button[value="send"]`)
	c.Sees("The announcement is on its way to everyone in line.")
	ada.Wait(`document.querySelector("#inbox li")?.innerText.includes("Doors at eight")`)
}

func TestTheLineIsDownloadedAsCSV(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben")
	c := h.staff()
	c.To(h.url + "/admin/shows/club/line")
	text := run[string](c, `fetch(document.querySelector("a[download]").href).then((r) => r.headers.get("content-disposition") + "\n" + r.status + "\n" + r.headers.get("content-type") + "\n").then(async (head) => head + await (await fetch(document.querySelector("a[download]").href)).text())`)
	if !strings.Contains(text, `attachment; filename="line-club.csv"`) || !strings.Contains(text, "\r\n1,ada,waiting,1,") || !strings.Contains(text, "\r\n2,ben,") {
		t.Errorf("the download is %q", text)
	}
}
