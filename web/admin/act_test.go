package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fanline/waitlist"
)

func because(reason string) url.Values { return url.Values{"reason": {reason}} }

// newest is the log's newest row, as "who act show/opening/fan: reason".
func (w *world) newest() string {
	w.t.Helper()
	a := w.audits()[0]
	return fmt.Sprintf("%s %s %s/%s/%s: %s", a.Who, a.Act, a.ShowID, a.OpeningID, a.FanID, a.Reason)
}

func (w *world) wantNewest(want string) {
	w.t.Helper()
	if got := w.newest(); got != want {
		w.t.Errorf("the log's newest is %q, want %q", got, want)
	}
}

func TestAMoveIsDoneLoggedAndShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1", "f2", "f3")
	b := w.staff("kim")
	b.post("/admin/shows/club/fans/f3/front", because(" lost their place in the outage ")).is(http.StatusOK).
		at("/admin/shows/club/fans/f3?note=front").
		says("Moved to the front.", "lost their place in the outage", "moved by staff, place 3 → 0")
	if p := w.entry("club", "f3").Position; p != 1 {
		t.Errorf("position %d after the move", p)
	}
	w.wantNewest("kim move_front club//f3: lost their place in the outage")
	b.get("/admin/audit").says("kim", "moved to the front", "f3", "lost their place in the outage", "Tuesday night", "Europe/Dublin")

	w.staff("lee").post("/admin/shows/club/fans/f3/restore", because("it was somebody else")).is(http.StatusOK).says("The earlier place is given back.")
	if p := w.entry("club", "f3").Position; p != 3 {
		t.Errorf("position %d after the restore", p)
	}
	w.wantNewest("lee restore club//f3: it was somebody else")
}

func TestAnActWithoutAReasonIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1", "f2")
	w.free("club", waitlist.NewOpening{ID: "o1", Quantity: 1})
	b := w.staff("kim")
	before := len(w.audits())
	for _, path := range []string{
		"/admin/shows/club/fans/f2/front", "/admin/shows/club/fans/f2/restore", "/admin/shows/club/fans/f2/remove",
		"/admin/shows/club/fans/f2/turn", "/admin/shows/club/openings/o1/cancel",
	} {
		for _, reason := range []string{"", "   "} {
			b.post(path, url.Values{"reason": {reason}, "opening": {"o1"}}).is(http.StatusUnprocessableEntity).says("Write down the reason")
		}
		for _, reason := range []string{strings.Repeat("x", waitlist.MaxReason+1), "two\nlines", "\xff"} {
			b.post(path, url.Values{"reason": {reason}, "opening": {"o1"}}).is(http.StatusUnprocessableEntity)
		}
	}
	if e := w.entry("club", "f2"); e.Position != 2 || e.State != waitlist.Waiting {
		t.Errorf("the entry became %+v", e)
	}
	if n := len(w.audits()); n != before {
		t.Errorf("%d rows in the log, want %d", n, before)
	}
}

func TestARefusalIsASentenceOnThePageAndWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1", "f2")
	w.join("club", waitlist.Join{FanID: "four", Party: 4})
	w.free("club", waitlist.NewOpening{ID: "o1", Quantity: 1})
	b := w.staff("kim")
	before := len(w.audits())
	b.post("/admin/shows/club/fans/f2/restore", because("kept for you")).is(http.StatusConflict).
		says("There is no earlier place to restore.")
	b.post("/admin/shows/club/fans/four/turn", url.Values{"reason": {"kept for you"}, "opening": {"o1"}}).is(http.StatusConflict).
		says("The party is larger than the seats left.", `value="kept for you"`)
	b.post("/admin/shows/club/fans/f2/turn", url.Values{"reason": {"x"}, "opening": {"none"}}).is(http.StatusNotFound)
	b.post("/admin/shows/club/fans/f2/turn", url.Values{"reason": {"x"}}).is(http.StatusUnprocessableEntity).says("Choose the opening")
	b.post("/admin/shows/club/fans/nobody/remove", because("x")).is(http.StatusNotFound)
	b.post("/admin/shows/club/fans/f2/explode", because("x")).is(http.StatusNotFound)
	b.post("/admin/shows/none/pause", because("x")).is(http.StatusNotFound)
	b.post("/admin/shows/club/openings/none/cancel", because("x")).is(http.StatusNotFound)
	if n := len(w.audits()); n != before {
		t.Errorf("%d rows in the log, want %d", n, before)
	}
}

func TestRemovalAndCancellationAreLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1", "f2")
	w.free("club", waitlist.NewOpening{ID: "o1", Seats: []string{"A-1", "A-2"}})
	w.decide()
	b := w.staff("kim")
	b.post("/admin/shows/club/fans/f1/remove", because("asked by phone")).is(http.StatusOK).says("Removed from the line.", "removed by staff")
	w.wantNewest("kim remove club//f1: asked by phone")
	// Again: nothing is done, nothing is logged.
	b.post("/admin/shows/club/fans/f1/remove", because("asked by phone")).is(http.StatusConflict).says("not in line any more")

	b.get("/admin/shows/club/openings/o1/cancel").is(http.StatusOK).says("Cancel o1?", "This cannot be undone.")
	b.post("/admin/shows/club/openings/o1/cancel", because("reported by mistake")).is(http.StatusOK).says("The opening is cancelled.")
	w.wantNewest("kim cancel_opening club/o1/: reported by mistake")
	n := len(w.audits())
	b.post("/admin/shows/club/openings/o1/cancel", because("again"))
	if got := len(w.audits()); got != n {
		t.Error("cancelling what is cancelled was logged")
	}
	b.get("/admin/audit?show=club&opening=o1").says("reported by mistake").lacks("asked by phone")
	b.get("/admin/audit?show=club&fan=f1").says("asked by phone").lacks("reported by mistake")
}

func TestPauseAndResumeAreStaffsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	b := w.staff("kim")
	b.post("/admin/shows/club/pause", because("the map is wrong")).is(http.StatusOK).says("The show is paused.", "paused by staff", "Lift the pause")
	w.wantNewest("kim pause club//: the map is wrong")
	b.get("/admin/shows").says("paused by staff")
	b.post("/admin/shows/club/resume", url.Values{}).is(http.StatusOK).lacks("paused by staff")
	w.wantNewest("kim resume club//: ")
	if err := w.CancelShow(t.Context(), "club"); err != nil {
		t.Fatal(err)
	}
	b.post("/admin/shows/club/pause", url.Values{}).is(http.StatusGone).says("The show was cancelled; there is nothing to pause.")
	w.wantNewest("kim resume club//: ")
}

func TestAGivenTurnIsLoggedWithItsOpening(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1", "f2", "f3")
	w.free("club", waitlist.NewOpening{ID: "o1", Quantity: 1})
	b := w.staff("kim")
	b.get("/admin/shows/club/fans/f3").says("Give the next turn of an opening", "o1 (1 seat left)")
	b.post("/admin/shows/club/fans/f3/turn", url.Values{"reason": {"wheelchair space"}, "opening": {"o1"}}).is(http.StatusOK).says("The next turn of that opening goes to this fan.")
	w.wantNewest("kim give_turn club/o1/f3: wheelchair space")
	w.decide()
	v, err := w.Verdict(t.Context(), waitlist.OpeningRef{ShowID: "club", OpeningID: "o1"}, "f3")
	if err != nil || v.OpensAt == nil {
		t.Errorf("the verdict is %+v, %v", v, err)
	}
}

func TestAnExpiredSessionSaysThatNothingWasDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.browser().post("/admin/shows/club/pause", url.Values{}).is(http.StatusOK).says("Box office", "Nothing was done")
	if s, _ := w.Show(t.Context(), "club"); s.PausedStaff {
		t.Error("a stranger paused the show")
	}
}
