package admin

import (
	"context"
	"net/http"
	"strings"

	"fanline/waitlist"
)

type announcePage struct {
	ID, Title, Text, Reason string
	InLine                  int64 // to how many it would go
	Preview                 bool
	Lines                   []string // of the text
}

func (a *Admin) announceForm(w http.ResponseWriter, r *http.Request) error {
	return a.announcePage(w, r, announcePage{ID: madeID("staff-")}, nil)
}

func (a *Admin) announcePage(w http.ResponseWriter, r *http.Request, body announcePage, failed error) (err error) {
	v := &view{Nav: "shows", Tab: "overview"}
	if err := a.withShow(r, v); err != nil {
		return err
	}
	if err := v.failed(failed); err != nil {
		return err
	}
	if body.InLine, err = a.records.InLine(r.Context(), v.Show.No); err != nil {
		return err
	}
	if failed != nil {
		body.Preview = false
	}
	body.Lines = strings.Split(body.Text, "\n")
	v.Title, v.Body = "Announce · "+v.Show.Name, body
	return a.render(w, r, "announce", v)
}

// announce shows the announcement as fans will read it, and sends it when it was
// looked at.
func (a *Admin) announce(w http.ResponseWriter, r *http.Request) error {
	f := r.PostForm
	body := announcePage{
		ID: f.Get("id"), Title: strings.TrimSpace(f.Get("title")), Reason: f.Get("reason"), Preview: true,
		Text: strings.TrimSpace(strings.ReplaceAll(f.Get("body"), "\r\n", "\n")),
	}
	show, err := a.readShow(r.Context(), param(r, "show"))
	if err != nil {
		return err
	}
	n := waitlist.NewAnnouncement{ID: body.ID, Title: body.Title, Body: body.Text}
	if f.Get("step") == "edit" {
		body.Preview = false
		return a.announcePage(w, r, body, nil)
	}
	switch err = n.Check(); {
	case err != nil:
	case show.Cancelled:
		err = waitlist.Refuse(waitlist.Closed, "The show was cancelled; nothing more is announced to its line.")
	case !strings.HasPrefix(n.ID, "staff-"):
		err = waitlist.Wrong("id", "This form is not complete; open it anew.")
	case f.Get("step") != "send":
		return a.announcePage(w, r, body, nil)
	default:
		err = a.acts.do(r.Context(), waitlist.Audit{Act: waitlist.AuditAnnounce, ShowID: show.ID, Reason: body.Reason},
			func(ctx context.Context, line lineWriter, _ string) error {
				_, _, err := line.Announce(ctx, show.ID, n)
				return err
			})
	}
	if err != nil {
		return a.announcePage(w, r, body, err)
	}
	return done(w, r, link("shows", show.ID), "sent")
}
