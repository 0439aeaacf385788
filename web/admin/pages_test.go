package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fanline/waitlist"
)

func TestShowsAreFoundByIDAndName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("locksmith-tue", "Tuesday night", "The Locksmith")
	w.show("marlow-vance", "Marlow Vance, the reunion", "Harbour Stadium")
	w.fans("locksmith-tue", "f1", "f2")
	b := w.staff("kim")
	b.get("/admin/shows").says("Tuesday night", "Marlow Vance, the reunion", "Europe/Dublin", "write", "running")
	b.get("/admin/shows?q=LOCK").says("Tuesday night").lacks("Marlow Vance")
	b.get("/admin/shows?q=reunion").says("Marlow Vance").lacks("Tuesday night")
	b.get("/admin/shows?q=%25").says("No show has that")
	b.get("/admin/shows?q=%ff%00").is(http.StatusOK)
	b.get("/admin/shows/none").is(http.StatusNotFound).says("There is no show")
	b.get("/admin/shows/..%2f..%2fetc").is(http.StatusNotFound)
}

func TestListsGoOnPageByPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range showsPerPage + 1 {
		w.show(fmt.Sprintf("show-%02d", i), fmt.Sprintf("Show %02d", i), "Hall")
	}
	for i := range entriesPerPage + 1 {
		w.fans("show-00", fmt.Sprintf("fan-%02d", i))
	}
	for i := range openingsPerPage + 1 {
		w.free("show-00", waitlist.NewOpening{ID: fmt.Sprintf("o-%02d", i), Quantity: 1})
	}
	b := w.staff("kim")
	for _, c := range []struct{ path, last, more string }{
		{"/admin/shows", "Show 30", "More shows"},
		{"/admin/shows/show-00/line", "fan-50", "Further back"},
		{"/admin/shows/show-00/openings", "o-00", "Older ones"},
	} {
		first := b.get(c.path).says(c.more).lacks(">" + c.last + "<")
		next := b.get(first.next()).is(http.StatusOK).says(c.last)
		if strings.Contains(next.body, `rel="next"`) {
			t.Errorf("%s: a third page of two", c.path)
		}
	}
	// A place that does not exist is the end, not an error.
	b.get("/admin/shows/show-00/line?after=99999").says("The line ends here.")
	b.get("/admin/shows/show-00/line?after=x&state=nonsense").is(http.StatusOK).says("fan-00")
}

// next is where the page's link to the next one leads.
func (s *shown) next() string {
	s.t.Helper()
	before, _, ok := strings.Cut(s.body, `" rel="next"`)
	if !ok {
		s.t.Fatalf("%s has no next page", s.path)
	}
	return strings.ReplaceAll(before[strings.LastIndex(before, `"`)+1:], "&amp;", "&")
}

func TestAFanIsFoundByID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f|a@b:c+1")
	b := w.staff("kim")
	b.get("/admin/shows/club/line?fan=f%7Ca@b:c%2B1").is(http.StatusOK).at("/admin/shows/club/fans/f%7Ca@b:c+1").says("f|a@b:c+1")
	b.get("/admin/shows/club/line?fan=F1").is(http.StatusNotFound).says("No fan with the id “F1” was ever in this line.")
	b.get("/admin/shows/club/line?fan=" + strings.Repeat("%3Cb%3E", 200)).is(http.StatusNotFound).lacks("<b><b>")
	b.get("/admin/shows/club/fans/nobody").is(http.StatusNotFound)
}

func TestTheLineFiltersByState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "stays", "goes")
	w.must(w.Leave(t.Context(), "club", "goes"))
	b := w.staff("kim")
	b.get("/admin/shows/club/line?state=left").says("goes").lacks(">stays<")
	b.get("/admin/shows/club/line?state=waiting").says("stays").lacks(">goes<")
	b.get("/admin/shows/club/line?state=bought").says("Nobody in this line is in that state")
}

func TestAFanReadsWhyTheyWereNotTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.join("club", waitlist.Join{FanID: "four", Party: 4}, waitlist.Join{FanID: "one"}, waitlist.Join{FanID: "two"})
	w.free("club", waitlist.NewOpening{ID: "o1", Quantity: 1})
	w.decide()
	w.buy("club", "o1", "one")
	w.decide()
	b := w.staff("kim")
	b.get("/admin/shows/club/fans/four").says("Skipped", "They want 4 seats together")
	b.get("/admin/shows/club/fans/one").says("They took it and bought.", "They are not in line any more")
	b.get("/admin/shows/club/fans/two").says("Every seat was taken before it came to them.")
	b.get("/admin/shows/club/openings/o1").says("returned", "1 needs more seats together than were left", "filled")
}

func TestThePictureShowsEachFanAsTheyStand(t *testing.T) {
	t.Parallel()
	w := staged(t)
	p, err := w.store.Picture(t.Context(), "locksmith-tue")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]waitlist.SpotState{}
	for _, s := range p.Front {
		got[s.FanID] = s.Shows
	}
	for fan, want := range map[string]waitlist.SpotState{
		"fan-01": waitlist.SpotBought, "fan-02": waitlist.SpotSkipped, "fan-04": waitlist.SpotMissed, "fan-05": waitlist.SpotSkipped,
		"fan-06": waitlist.SpotHolding, "fan-08": waitlist.SpotOpen, "fan-12": waitlist.SpotGone, "fan-36": waitlist.SpotWaiting,
	} {
		if got[fan] != want {
			t.Errorf("%s shows %s, want %s", fan, got[fan], want)
		}
	}
	if p.Front[0].FanID != "fan-31" || p.Front[0].Position != 1 || len(p.Front) != 36 {
		t.Errorf("%d fans from %+v", len(p.Front), p.Front[0])
	}
	if p.Waiting != 32 || p.SeatsHeld != 1 || p.SeatsBought != 2 || p.SeatsFree != 2 {
		t.Errorf("the figures are %+v", p)
	}
	big, err := w.store.Picture(t.Context(), "marlow-vance")
	if err != nil {
		t.Fatal(err)
	}
	var waiting int64
	for i, s := range big.Line {
		waiting += s.Waiting
		if i > 0 && s.From != big.Line[i-1].To+1 {
			t.Errorf("stretch %d starts at %d after %d", i, s.From, big.Line[i-1].To)
		}
	}
	if waiting != big.Waiting || len(big.Front) != 120 || big.Line[len(big.Line)-1].To != 12_000 {
		t.Errorf("%d of %d in stretches to %d, %d in front", waiting, big.Waiting, big.Line[len(big.Line)-1].To, len(big.Front))
	}
}

func TestALineOfThoseWhoAreServedIsStillAPicture(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	b := w.staff("kim")
	b.get("/admin/shows/club").is(http.StatusOK).says("Nobody has joined yet.", "No seat was reported free yet.", "Nobody is waiting.")
	w.fans("club", "f1", "f2")
	w.must(w.Leave(t.Context(), "club", "f1"))
	w.must(w.Leave(t.Context(), "club", "f2"))
	b.get("/admin/shows/club").is(http.StatusOK).says("left or removed").lacks("Nobody has joined yet.")
}

// broken fails as a database does.
type broken struct{ Line }

func (broken) Show(context.Context, string) (waitlist.Show, error) {
	return waitlist.Show{}, errors.New("secret of the database")
}

func TestAFaultIsAPageWithTheRequestsID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Line = broken{c.Line} })
	page := w.staff("kim").get("/admin/shows/club").is(http.StatusInternalServerError).says("Something went wrong").lacks("secret")
	id := page.header.Get("X-Request-Id")
	page.says(id)
	if logs := w.logs.String(); !strings.Contains(logs, id) || !strings.Contains(logs, "secret of the database") {
		t.Errorf("the log has %s", logs)
	}
}

// panicking panics where broken fails.
type panicking struct{ Line }

func (panicking) Show(context.Context, string) (waitlist.Show, error) {
	panic("secret of a programmer")
}

func TestAPanicIsAFaultToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Line = panicking{c.Line} })
	w.staff("kim").get("/admin/shows/club").is(http.StatusInternalServerError).lacks("secret")
}
