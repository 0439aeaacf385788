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
	Fan     string // that was looked for and is not there
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
	v := &view{Nav: "shows", Tab: "line"}
	if err := a.withShow(r, v); err != nil {
		return err
	}
	q := r.URL.Query()
	body := linePage{State: stateOf(q.Get("state"))}
	if fan := q.Get("fan"); fan != "" {
		found, err := a.hasEntry(r, v.Show.ID, fan)
		if err != nil {
			return err
		}
		if found {
			http.Redirect(w, r, link("shows", v.Show.ID, "fans", fan), http.StatusSeeOther)
			return nil
		}
		body.Fan, v.Status = fan, http.StatusNotFound
		v.Error = "No fan with the id “" + short(fan) + "” was ever in this line. Ids are exact, capitals too."
	}
	if err := a.fillLine(r, v, &body); err != nil {
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
