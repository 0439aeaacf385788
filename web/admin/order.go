package admin

import (
	"net/http"
	"strconv"

	"fanline/waitlist"
)

type orderPage struct {
	openingRow
	waitlist.OrderReport
	From, To int // waves replayed
	Rows     []orderRow
	Verdict  string
	Held     bool
	First    bool
	Next     string
}

type orderRow struct {
	N       int
	Decided string
	Fans    int
	Broken  bool
	Held    bool
}

// order replays an opening and says whether its order held.
func (a *Admin) order(w http.ResponseWriter, r *http.Request) error {
	v := &view{Nav: "shows", Tab: "openings"}
	o, err := a.withOpening(r, v)
	if err != nil {
		return err
	}
	from := int(min(number(r, "from"), 1<<31-1))
	report, err := a.line.Order(r.Context(), waitlist.OpeningRef{ShowID: v.Show.ID, OpeningID: o.ID}, from)
	if err != nil {
		return err
	}
	body := orderPage{openingRow: o.openingRow, OrderReport: report, First: from <= 1, Held: report.Wrong == nil}
	for _, x := range report.Waves {
		row := orderRow{N: x.N, Decided: exact(x.DecidedAt, v.Zone()), Fans: x.Size}
		if report.Wrong != nil {
			row.Broken, row.Held = report.Wrong.N == x.N, x.N < report.Wrong.N
		} else {
			row.Held = true
		}
		body.Rows = append(body.Rows, row)
	}
	if n := len(report.Waves); n > 0 {
		body.From, body.To = report.Waves[0].N, report.Waves[n-1].N
	}
	if report.Wrong != nil {
		body.Verdict = report.Wrong.Sentence()
	}
	if report.More > 0 {
		body.Next = link("shows", v.Show.ID, "openings", o.ID, "order") + "?from=" + strconv.Itoa(report.More)
	}
	v.Title, v.Body = "Did the order hold? "+o.ID+" · "+v.Show.Name, body
	return a.render(w, r, "order", v)
}
