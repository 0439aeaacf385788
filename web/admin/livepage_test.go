package admin

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"fanline/waitlist"
)

func TestTheStreamOfAShowAndOfAnOpeningTellOfAClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.show("other", "Wednesday night", "The Locksmith")
	w.fans("club", "f1", "f2")
	w.free("club", waitlist.NewOpening{ID: "o.1", Seats: []string{"A-1"}})
	b := w.staff("kim")
	show, opening, other := b.watchAt("/admin/shows/club/live"), b.watchAt("/admin/shows/club/openings/o.1/live"), b.watchAt("/admin/shows/other/live")
	show.part("openings", "nothing decided yet")
	opening.part("waves", "Nothing is decided yet.")
	w.decide()
	show.part("openings", "1 turn open until")
	opening.part("waves", "Wave 1: 1 fan")
	w.take("club", "o.1", "f1")
	show.part("openings", "1 of 1 taken")
	opening.part("seats", "<b>A-1</b> held")
	other.part("openings", "No seat was reported free yet.")
	w.browser().get("/admin/shows/club/live").says("event: over").lacks("event: part")
	b.get("/admin/shows/club").is(http.StatusOK).says(`data-live="/admin/shows/club/live"`)
	b.get("/admin/shows/club/openings/o.1").is(http.StatusOK).says(`data-live="/admin/shows/club/openings/o.1/live"`)
	b.get("/admin/shows/club/openings/o.1?before=2").is(http.StatusOK).lacks("data-live")
}

func TestAPageIsReadOnceForAllWhoWatchItAndFewPagesAtATime(t *testing.T) {
	t.Parallel()
	l := newLiveBoards(slog.New(slog.DiscardHandler))
	l.every = time.Hour
	began, goOn := make(chan string), make(chan struct{})
	read := func(page string) liveRead {
		return func(ctx context.Context) (parts, error) {
			began <- page
			<-goOn
			return parts{"of": page}, nil
		}
	}
	watch := func(page string) *viewer {
		v, err := l.join(page, read(page))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	viewers := []*viewer{watch("a"), watch("a"), watch("b"), watch("c")}
	<-began
	<-began
	select {
	case page := <-began:
		t.Fatalf("%s is read while %d pages are", page, liveReads)
	default:
	}
	goOn <- struct{}{}
	<-began
	goOn <- struct{}{}
	goOn <- struct{}{}
	for _, v := range viewers {
		<-v.news
		if got := l.newest(v)["of"]; got != v.board.page {
			t.Errorf("%s is handed out for %s", got, v.board.page)
		}
		l.leave(v)
	}
	if len(l.boards) != 0 {
		t.Errorf("%d pages are read that nobody looks at", len(l.boards))
	}
	l.stop()
}

func TestInABrowserAShowsPageRenewsItselfAndKeepsWhatIsTyped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1", "f2", "f3")
	c := w.chrome(t)
	c.login("kim")
	c.at("/admin/shows/club")
	c.Wait(`document.getElementById('live-word').textContent === 'live'`)
	c.Wait(`window.kept = document.querySelector('#part-next a[href$="/f2"]')`)
	c.Press("details.act summary")
	c.Fill("reason-pause", "the map is")
	c.Wait(`document.querySelector('#part-next a[href$="/f2"]').focus(), true`)
	w.free("club", waitlist.NewOpening{ID: "o1", Quantity: 1})
	w.decide()
	c.Wait(`document.querySelector('#part-openings a[href$="/o1"]')`)
	c.Wait(`document.activeElement === document.querySelector('#part-next a[href$="/f2"]')`)

	c.Fill("reason-pause", "the map is wrong")
	w.take("club", "o1", "f1")
	w.must(w.Pause(t.Context(), "club", true)) // by somebody else
	c.Wait(`document.querySelector('#part-state').innerText.includes('paused by staff')`)
	c.Wait(`document.querySelector('details.act').open && document.activeElement.id === 'reason-pause' && document.activeElement.value === 'the map is wrong'`)
	c.Says("Pause…")
	c.Fill("reason-pause", "")
	c.Press("details.act summary") // closed, with nothing in it
	c.Wait(`document.querySelector('details.act summary').textContent === 'Lift the pause…'`)
	c.Wait(`window.kept.isConnected`) // the page was not loaded again
}

func TestInABrowserAnOpeningsPageRenewsItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1", "f2", "f3")
	w.free("club", waitlist.NewOpening{ID: "o1", Seats: []string{"A-1", "A-2"}})
	c := w.chrome(t)
	c.login("kim")
	c.at("/admin/shows/club/openings/o1")
	c.Wait(`document.getElementById('live-word').textContent === 'live'`)
	c.Wait(`window.kept = true`)
	w.decide()
	w.buy("club", "o1", "f1", "f2")
	w.decide()
	c.Wait(`document.getElementById('part-seats').innerText.includes('A-2 bought')`)
	c.Wait(`/Wave 1: 2 fans/.test(document.getElementById('part-waves').innerText)`)
	c.Wait(`window.kept && document.getElementById('part-heading').innerText.includes('filled')`)
	c.Wait(`!document.querySelector('#part-heading .danger')`)
}

func TestInABrowserThePlotFollowsItsFigures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1", "f2")
	w.free("club", waitlist.NewOpening{ID: "o1", Quantity: 1})
	w.decide()
	c := w.chrome(t)
	c.login("kim")
	c.at("/admin/shows/club")
	c.Wait(`document.querySelectorAll('#part-rush canvas').length === 1`)
	c.Wait(`window.kept = document.querySelector('#part-rush canvas')`)
	c.Wait(`document.querySelector('[data-plot]').dataset.plot.replace(/"claims":\[[^\]]*\]/, (list) => document.querySelector('[data-plot]').dataset.plot = document.querySelector('[data-plot]').dataset.plot.replace(list, list.replace('0', '5')))`)
	c.Wait(`document.querySelectorAll('#part-rush canvas').length === 1 && !window.kept.isConnected`)
}
