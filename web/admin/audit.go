package admin

import (
	"net/http"
	"net/url"
	"strconv"

	"fanline/waitlist"
)

type auditPage struct {
	ShowID, OpeningID, FanID string
	Rows                     []auditRow
	First                    bool
	Next                     string
}

// audit is the log of what staff did, of one show or fan where asked for.
func (a *Admin) audit(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	body := auditPage{ShowID: idOr(q.Get("show"), waitlist.CheckID), OpeningID: idOr(q.Get("opening"), waitlist.CheckID), FanID: idOr(q.Get("fan"), waitlist.CheckFanID)}
	before := number(r, "before")
	body.First = before == 0
	audits, err := a.records.Audits(r.Context(), waitlist.AuditFilter{
		ShowID: body.ShowID, OpeningID: body.OpeningID, FanID: body.FanID, Before: before, Limit: auditsPerPage + 1,
	})
	if err != nil {
		return err
	}
	audits, more := limited(audits, auditsPerPage)
	body.Rows = auditRows(audits)
	if more {
		next := url.Values{"before": {strconv.FormatInt(audits[len(audits)-1].ID, 10)}}
		for name, v := range map[string]string{"show": body.ShowID, "opening": body.OpeningID, "fan": body.FanID} {
			if v != "" {
				next.Set(name, v)
			}
		}
		body.Next = link("audit") + "?" + next.Encode()
	}
	return a.render(w, r, "audit", &view{Title: "Audit log", Nav: "audit", Body: body})
}

// idOr is the id, or "" where it is none.
func idOr(id string, check func(field, id string) error) string {
	if check("id", id) != nil {
		return ""
	}
	return id
}
