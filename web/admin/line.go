package admin

import (
	"net/http"
	"net/url"
	"strconv"

	"fanline/waitlist"
)

type linePage struct {
	State   string
	States  []choice
	Entries []entryRow
	First   bool   // the page begins at the front
	Next    string // the page after this one; "" for the last
	Here    string // this page's address, to come back to
	CSV     string
	Picked  *picked
}

// picked is a fan of the line with what can be done for them.
type picked struct {
	waitlist.Entry
	Open []openingRow // of which a turn can be given
	// As typed, after a refusal.
	Act, Reason, Opening string
}

// choice is one of a list to choose from.
type choice struct {
	Value, Name string
	Chosen      bool
}

type entryRow struct {
	waitlist.Entry
	Joined string
}

var lineStates = []choice{
	{"", "everyone", false},
	{string(waitlist.Waiting), "waiting", false},
	{string(waitlist.Holding), "holding seats", false},
	{string(waitlist.Bought), "bought", false},
	{string(waitlist.Left), "left", false},
	{string(waitlist.Removed), "removed", false},
}

// lineList is the line itself by place, and finds one fan in it.
func (a *Admin) lineList(w http.ResponseWriter, r *http.Request) error {
	return a.linePage(w, r, nil, nil)
}

// linePage shows the line, with an act that was refused and why.
func (a *Admin) linePage(w http.ResponseWriter, r *http.Request, tried *picked, failed error) error {
	v := &view{Nav: "shows", Tab: "line"}
	if err := a.withShow(r, v); err != nil {
		return err
	}
	if err := v.failed(failed); err != nil {
		return err
	}
	q := r.URL.Query()
	body := linePage{State: stateOf(q.Get("state")), Picked: tried}
	if fan := q.Get("fan"); fan != "" {
		found, err := a.hasEntry(r, v.Show.ID, fan)
		if err != nil {
			return err
		}
		if found {
			http.Redirect(w, r, link("shows", v.Show.ID, "fans", fan), http.StatusSeeOther)
			return nil
		}
		v.Status = http.StatusNotFound
		v.Error = "No fan with the id “" + short(fan) + "” was ever in this line. Ids are exact, capitals too."
	}
	if err := a.fillLine(r, v, &body); err != nil {
		return err
	}
	if err := a.fillPicked(r, v, &body); err != nil {
		return err
	}
	v.Title, v.Body = "The line · "+v.Show.Name, body
	return a.render(w, r, "line", v)
}

func (a *Admin) fillLine(r *http.Request, v *view, body *linePage) error {
	for _, c := range lineStates {
		c.Chosen = c.Value == body.State
		body.States = append(body.States, c)
	}
	f := waitlist.EntryFilter{State: waitlist.State(body.State), Limit: entriesPerPage + 1}
	if after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64); err == nil {
		f.AfterPlace = &after
	}
	body.First = f.AfterPlace == nil
	body.Here = r.URL.EscapedPath() + "?" + url.Values{"state": {body.State}, "after": {r.URL.Query().Get("after")}}.Encode()
	body.CSV = link("shows", v.Show.ID, "line.csv") + "?" + url.Values{"state": {body.State}}.Encode()
	entries, err := a.line.Entries(r.Context(), v.Show.ID, f)
	if err != nil {
		return err
	}
	entries, more := limited(entries, entriesPerPage)
	for _, e := range entries {
		body.Entries = append(body.Entries, entryRow{e, clock(e.JoinedAt, v.Zone())})
	}
	if more {
		last := strconv.FormatInt(entries[len(entries)-1].Place, 10)
		body.Next = link("shows", v.Show.ID, "line") + "?" + url.Values{"state": {body.State}, "after": {last}}.Encode()
	}
	return nil
}

// fillPicked reads the fan whom the address or a refused act names.
func (a *Admin) fillPicked(r *http.Request, v *view, body *linePage) error {
	fan := r.URL.Query().Get("pick")
	if body.Picked != nil {
		fan = body.Picked.FanID
	}
	if fan == "" {
		return nil
	}
	e, err := a.readEntry(r.Context(), v.Show.ID, fan)
	if err != nil {
		return err
	}
	if body.Picked == nil {
		body.Picked = &picked{}
	}
	body.Picked.Entry = e
	if e.State != waitlist.Waiting {
		return nil
	}
	open, err := a.records.OpenOpenings(r.Context(), v.Show.No, fanChoices)
	for _, o := range open {
		body.Picked.Open = append(body.Picked.Open, rowOf(o, v.Zone()))
	}
	return err
}

// actInLine does one act for a fan of the line and comes back to the same page.
func (a *Admin) actInLine(w http.ResponseWriter, r *http.Request) error {
	f := r.PostForm
	tried := &picked{Act: f.Get("act"), Reason: f.Get("reason"), Opening: f.Get("opening")}
	tried.FanID = f.Get("fan")
	show := param(r, "show")
	note, err := a.actFor(r, show, tried)
	if err != nil {
		return a.linePage(w, r, tried, err)
	}
	q := url.Values{"state": {stateOf(r.URL.Query().Get("state"))}, "after": {r.URL.Query().Get("after")}, "note": {note}}
	http.Redirect(w, r, link("shows", show, "line")+"?"+q.Encode(), http.StatusSeeOther)
	return nil
}

func stateOf(s string) string {
	for _, c := range lineStates {
		if c.Value == s {
			return s
		}
	}
	return ""
}

// hasEntry says whether the fan ever was in the line.
func (a *Admin) hasEntry(r *http.Request, show, fan string) (bool, error) {
	if waitlist.CheckFanID("fan", fan) != nil {
		return false, nil
	}
	_, err := a.line.Entry(r.Context(), show, fan)
	if waitlist.CodeOf(err) == waitlist.NotFound {
		return false, nil
	}
	return err == nil, err
}

// short cuts what somebody typed to what an id could be.
func short(s string) string {
	runes := []rune(s)
	if len(runes) > waitlist.MaxID {
		return string(runes[:waitlist.MaxID]) + "…"
	}
	return s
}
