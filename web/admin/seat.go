package admin

import (
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"

	"fanline/waitlist"
)

// testSeats is the most that can be freed at once on the page.
const testSeats = 20

type seatPage struct {
	ID, Quantity, Tier, Reason string
	Why                        string // why the seats are free
	Whys                       []choice
}

// madeID is one for a form, so that sending it twice does its act once.
func madeID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:12]) }

func (a *Admin) seatForm(w http.ResponseWriter, r *http.Request) error {
	return a.seatPage(w, r, seatPage{ID: madeID("test-"), Quantity: "1", Why: "returned"}, nil)
}

func (a *Admin) seatPage(w http.ResponseWriter, r *http.Request, body seatPage, failed error) error {
	v := &view{Nav: "shows", Tab: "overview"}
	if err := a.withShow(r, v); err != nil {
		return err
	}
	if err := v.failed(failed); err != nil {
		return err
	}
	for _, why := range waitlist.Reasons {
		body.Whys = append(body.Whys, choice{why, reasonWords(why), why == body.Why})
	}
	v.Title, v.Body = "Free a test seat · "+v.Show.Name, body
	return a.render(w, r, "seat", v)
}

// freeSeat records an opening as the ticketing app would.
func (a *Admin) freeSeat(w http.ResponseWriter, r *http.Request) error {
	f := r.PostForm
	body := seatPage{ID: f.Get("id"), Quantity: f.Get("quantity"), Tier: strings.TrimSpace(f.Get("tier")), Why: f.Get("why"), Reason: f.Get("reason")}
	show, err := a.readShow(r.Context(), param(r, "show"))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(body.Quantity)
	switch {
	case err != nil || n < 1 || n > testSeats:
		err = waitlist.Wrong("quantity", "There can be 1 to %d test seats.", testSeats)
	case !strings.HasPrefix(body.ID, "test-"):
		err = waitlist.Wrong("id", "This form is not complete; open it anew.")
	default:
		audit := waitlist.Audit{Act: waitlist.AuditTestSeat, ShowID: show.ID, OpeningID: body.ID, Reason: body.Reason}
		opening := waitlist.NewOpening{ID: body.ID, Quantity: n, Tier: body.Tier, Reason: body.Why}
		err = a.acts.do(r.Context(), audit, func(ctx context.Context, line lineWriter, _ string) error {
			_, _, err := line.Record(ctx, show.ID, opening)
			return err
		})
	}
	if err != nil {
		return a.seatPage(w, r, body, err)
	}
	return done(w, r, link("shows", show.ID), "seat")
}
