package admin

import (
	"context"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"fanline/waitlist"
)

const (
	showsPerPage    = 30
	entriesPerPage  = 50
	openingsPerPage = 30
	auditsPerPage   = 50
	showNext        = 10 // fans there
)

type showsPage struct {
	Query string
	Shows []showRow
	Next  string // the page after this one; "" for the last
	Any   bool   // there are shows at all
}

type showRow struct {
	waitlist.Show
	Starts string
	Status string
}

// find is the text to find shows by, as the database takes it.
func find(r *http.Request) string {
	q := r.URL.Query().Get("q")
	if !utf8.ValidString(q) || utf8.RuneCountInString(q) > waitlist.MaxTitle || waitlist.CheckText("q", q, false, waitlist.MaxTitle) != nil {
		return ""
	}
	return q
}

func (a *Admin) shows(w http.ResponseWriter, r *http.Request) error {
	body := showsPage{Query: find(r)}
	after := r.URL.Query().Get("after")
	if waitlist.CheckID("after", after) != nil {
		after = ""
	}
	shows, err := a.records.FindShows(r.Context(), body.Query, after, showsPerPage+1)
	if err != nil {
		return err
	}
	shows, more := limited(shows, showsPerPage)
	for _, s := range shows {
		body.Shows = append(body.Shows, showRow{s, day(s.StartsAt, zoneOf(s.TimeZone)), statusOf(&s)})
	}
	body.Any = len(shows) > 0 || body.Query != "" || after != ""
	if more {
		body.Next = link("shows") + "?" + url.Values{"q": {body.Query}, "after": {shows[len(shows)-1].ID}}.Encode()
	}
	return a.render(w, r, "shows", &view{Title: "Shows", Nav: "shows", Body: body})
}

// statusOf is what stands in a show's way, or "".
func statusOf(s *waitlist.Show) string {
	switch {
	case s.Cancelled:
		return "cancelled"
	case s.Over:
		return "over; its line is not kept any more"
	case s.PausedApp && s.PausedStaff:
		return "paused by staff and by the ticketing app"
	case s.PausedStaff:
		return "paused by staff"
	case s.PausedApp:
		return "paused by the ticketing app"
	}
	return ""
}

type showPage struct {
	Starts, Sales string
	Status        string
	Badges        []badge
	Picture       picture
	Timeline      *timeline
	Plot          plot
	SeatsLeft     int64
	Next          []nextRow
	Reason        string // as typed
}

func (a *Admin) show(w http.ResponseWriter, r *http.Request) error {
	return a.showPage(w, r, nil)
}

// showPage shows a show, with what went wrong with an act on it.
func (a *Admin) showPage(w http.ResponseWriter, r *http.Request, failed error) error {
	v := &view{Nav: "shows", Tab: "overview"}
	if err := a.withShow(r, v); err != nil {
		return err
	}
	if err := v.failed(failed); err != nil {
		return err
	}
	rush, err := a.rush(r.Context(), v.Show)
	if err != nil {
		return err
	}
	body, err := a.readShowPage(r.Context(), v, &rush)
	if err != nil {
		return err
	}
	body.Reason = r.PostForm.Get("reason")
	v.Title, v.Live, v.Body = v.Show.Name, link("shows", v.Show.ID, "live"), body
	return a.render(w, r, "show", v)
}

// showParts are the parts of a show's page that its stream renews, by their templates.
var showParts = []string{"acts", "state", "line", "openings", "next", "rush"}

// streamShow is the stream of a show's page.
func (a *Admin) streamShow(w http.ResponseWriter, r *http.Request) error {
	return a.stream(w, r, a.liveShow(param(r, "show")))
}

// liveShow reads a show's page for its streams. The plot, whose steps are longer than
// the page's, is read once a step.
func (a *Admin) liveShow(id string) liveRead {
	var rush waitlist.Rush
	var read time.Time
	return func(ctx context.Context) (parts, error) {
		show, err := a.readShow(ctx, id)
		if err != nil {
			return nil, err
		}
		if time.Since(read) >= plotStep {
			if rush, err = a.rush(ctx, &show); err != nil {
				return nil, err
			}
			read = time.Now()
		}
		v := &view{Show: &show}
		if v.Body, err = a.readShowPage(ctx, v, &rush); err != nil {
			return nil, err
		}
		return a.renderParts("show", showParts, v)
	}
}

func (a *Admin) readShowPage(ctx context.Context, v *view, rush *waitlist.Rush) (*showPage, error) {
	p, err := a.records.Picture(ctx, v.Show.ID)
	if err != nil {
		return nil, err
	}
	t, err := a.records.Timeline(ctx, v.Show.No, trackMost)
	if err != nil {
		return nil, err
	}
	body := &showPage{
		Starts: day(v.Show.StartsAt, v.Zone()), Sales: salesWords(v.Show, time.Now(), v.Zone()),
		Status: statusOf(v.Show), Badges: policyWords(v.Show), SeatsLeft: p.SeatsFree + p.SeatsHeld,
		Picture: draw(v.Show, &p), Timeline: drawTimeline(&t, v.Zone()), Next: nextInLine(p.Front, showNext),
		Plot: drawPlot(rush, v.Show.Policy.ReleasePerS, v.Zone()),
	}
	body.Picture.landWaves(&t)
	return body, nil
}

// salesWords says when sales close.
func salesWords(s *waitlist.Show, now time.Time, zone *time.Location) string {
	at := s.SalesClose()
	switch {
	case !now.Before(at):
		return "sales closed " + day(at, zone)
	case at.Equal(s.StartsAt):
		return "sales close at the start, in " + roughly(at.Sub(now))
	}
	return "sales close " + day(at, zone) + ", in " + roughly(at.Sub(now))
}

func (a *Admin) rush(ctx context.Context, show *waitlist.Show) (waitlist.Rush, error) {
	return a.records.Rush(ctx, show.No, plotStep, plotSteps)
}

// nextRow is one of the first in line. Now is how they stand, if they do not just wait.
type nextRow struct {
	waitlist.Spot
	Now string
}

// nextInLine are the first active ones of the front.
func nextInLine(front []waitlist.Spot, n int) []nextRow {
	var next []nextRow
	for i := range front {
		if len(next) == n {
			break
		}
		row := nextRow{Spot: front[i]}
		if row.Shows != waitlist.SpotWaiting {
			row.Now = spotName(row.Shows)
		}
		if row.Active() {
			next = append(next, row)
		}
	}
	return next
}

// withShow reads the show of the path.
func (a *Admin) withShow(r *http.Request, v *view) error {
	show, err := a.readShow(r.Context(), param(r, "show"))
	v.Show = &show
	return err
}

func (a *Admin) readShow(ctx context.Context, id string) (waitlist.Show, error) {
	if waitlist.CheckID("show", id) != nil {
		return waitlist.Show{}, waitlist.Refuse(waitlist.NotFound, "There is no such show.")
	}
	return a.line.Show(ctx, id)
}

// failed puts a refusal on the page; a fault is handed back.
func (v *view) failed(err error) error {
	if err == nil {
		return nil
	}
	status, sentence, ok := refused(err)
	if !ok || status == http.StatusNotFound {
		return err
	}
	v.Status, v.Error = status, sentence
	return nil
}

// done goes to a page after an act, which says what was done.
func done(w http.ResponseWriter, r *http.Request, page, note string) error {
	http.Redirect(w, r, page+"?note="+note, http.StatusSeeOther)
	return nil
}

func (a *Admin) pause(w http.ResponseWriter, r *http.Request) error {
	return a.setPaused(w, r, waitlist.AuditPause, true, "paused")
}

func (a *Admin) resume(w http.ResponseWriter, r *http.Request) error {
	return a.setPaused(w, r, waitlist.AuditResume, false, "resumed")
}

func (a *Admin) setPaused(w http.ResponseWriter, r *http.Request, act waitlist.AuditAct, paused bool, note string) error {
	show, err := a.readShow(r.Context(), param(r, "show"))
	if err != nil {
		return err
	}
	err = waitlist.Refuse(waitlist.Closed, "The show was cancelled; there is nothing to pause.")
	if !show.Cancelled {
		err = a.acts.do(r.Context(), waitlist.Audit{Act: act, ShowID: show.ID, Reason: r.PostForm.Get("reason")},
			func(ctx context.Context, line lineWriter, _ string) error { return line.Pause(ctx, show.ID, paused) })
	}
	if err != nil {
		return a.showPage(w, r, err)
	}
	return done(w, r, link("shows", show.ID), note)
}
