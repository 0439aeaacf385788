package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"fanline/waitlist"
)

type auditPage struct {
	Who, ShowID, OpeningID, FanID string
	Staff                         []string // the names to choose from
	Filtered                      bool
	Known                         bool // Who is one of Staff
	Newest                        string
	Rows                          []auditRow
	First                         bool
	Next                          string
}

// audit is the log of what staff did, of one of them, of one show or fan where asked for.
func (a *Admin) audit(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	body := auditPage{
		ShowID: idOr(q.Get("show"), waitlist.CheckID), OpeningID: idOr(q.Get("opening"), waitlist.CheckID), FanID: idOr(q.Get("fan"), waitlist.CheckFanID),
		Who: idOr(q.Get("who"), waitlist.CheckID), Staff: a.users.names(),
	}
	body.Filtered = body.ShowID != "" || body.OpeningID != "" || body.FanID != "" || body.Who != ""
	before := number(r, "before")
	body.First = before == 0
	audits, err := a.records.Audits(r.Context(), waitlist.AuditFilter{
		ShowID: body.ShowID, OpeningID: body.OpeningID, FanID: body.FanID, Who: body.Who, Before: before, Limit: auditsPerPage + 1,
	})
	if err != nil {
		return err
	}
	audits, more := limited(audits, auditsPerPage)
	body.Rows = auditRows(audits)
	body.Known = slices.Contains(body.Staff, body.Who)
	body.Newest = link("audit") + "?" + body.filter().Encode()
	if more {
		next := body.filter()
		next.Set("before", strconv.FormatInt(audits[len(audits)-1].ID, 10))
		body.Next = link("audit") + "?" + next.Encode()
	}
	return a.render(w, r, "audit", &view{Title: "Audit log", Nav: "audit", Body: body})
}

// filter is the query of the page.
func (p *auditPage) filter() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"show": p.ShowID, "opening": p.OpeningID, "fan": p.FanID, "who": p.Who} {
		if v != "" {
			q.Set(name, v)
		}
	}
	return q
}

// idOr is the id, or "" where it is none.
func idOr(id string, check func(field, id string) error) string {
	if check("id", id) != nil {
		return ""
	}
	return id
}
