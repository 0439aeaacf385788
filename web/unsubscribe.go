package web

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// The page behind the link of a message. Mail scanners follow every link, so that
// a look never acts: only its button does, or the mail program that posts for it
// (RFC 8058).
var (
	//go:embed unsubscribe/page.html
	unsubscribeHTML string
	//go:embed unsubscribe/style.css
	unsubscribeStyle string

	unsubscribeTemplate = template.Must(template.New("unsubscribe").Parse(unsubscribeHTML))
)

type unsubscribePage struct {
	Title, Text, Button string
	Style               template.CSS
}

const unsubscribePath = "/u/{token}"

func (s *Server) unsubscribeCalls() {
	for _, o := range []struct {
		method, id, summary string
		h                   http.HandlerFunc
	}{
		{http.MethodGet, "unsubscribe-page", "A page that asks whether to unsubscribe; a look changes nothing", s.askUnsubscribe},
		{http.MethodPost, "unsubscribe", "Unsubscribe from what the message's link is about: one kind on one channel", s.unsubscribe},
	} {
		page := func(text string) *huma.Response {
			return &huma.Response{Description: text, Content: map[string]*huma.MediaType{"text/html": {Schema: &huma.Schema{Type: huma.TypeString}}}}
		}
		op := open(o.method, unsubscribePath, o.id, o.summary, page("HTML"))
		op.Tags, op.Parameters = []string{"Fan"}, s.paramsOf(unsubscribeToken{})
		op.Responses["404"] = page("The link is not complete, or not one of ours.")
		s.plain(op, o.h)
	}
	sum := sha256.Sum256([]byte(unsubscribeStyle))
	s.unsubscribePolicy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// unsubscribeToken documents the path.
type unsubscribeToken struct {
	Token string `path:"token" maxLength:"100" example:"AQUAi0n5c2TqY1mXo3s7v9wEJ4h6k8l0N2p4R6t8U1x3Z5b7" doc:"As it stands in the message."`
}

func (s *Server) askUnsubscribe(w http.ResponseWriter, r *http.Request) {
	s.answerUnsubscribe(w, r, s.cfg.Recipients.Subscription, func(what string) unsubscribePage {
		return unsubscribePage{Title: "Unsubscribe?", Text: "You will get no more " + what + ".", Button: "Unsubscribe"}
	})
}

// unsubscribe does it, whatever the body: a browser's form is empty, a mail
// program's says List-Unsubscribe=One-Click.
func (s *Server) unsubscribe(w http.ResponseWriter, r *http.Request) {
	s.answerUnsubscribe(w, r, s.cfg.Recipients.Unsubscribe, func(what string) unsubscribePage {
		return unsubscribePage{
			Title: "Unsubscribed",
			Text:  "You will get no more " + what + ". Everything else goes on as before; the app has all your settings.",
		}
	})
}

func (s *Server) answerUnsubscribe(w http.ResponseWriter, r *http.Request,
	do func(context.Context, string) (notifier.Channel, notifier.Kind, error), page func(what string) unsubscribePage,
) {
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
	defer cancel()
	channel, kind, err := do(ctx, chi.URLParam(r, "token"))
	if waitlist.CodeOf(err) == waitlist.NotFound {
		s.writeUnsubscribe(w, http.StatusNotFound, unsubscribePage{
			Title: "This link does not work", Text: "It is not complete, or not one of ours. Open it as it stands in the message.",
		})
		return
	}
	if err != nil {
		s.problem(ctx, err).write(w)
		return
	}
	s.writeUnsubscribe(w, http.StatusOK, page(subscriptionWords(channel, kind)))
}

func (s *Server) writeUnsubscribe(w http.ResponseWriter, status int, p unsubscribePage) {
	p.Style = template.CSS(unsubscribeStyle)
	w.Header().Set("Content-Security-Policy", s.unsubscribePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = unsubscribeTemplate.Execute(w, p) // the reader may be gone
}

// subscriptionWords say what somebody is subscribed to.
func subscriptionWords(c notifier.Channel, k notifier.Kind) string {
	by := map[notifier.Channel]string{notifier.Email: "e-mails", notifier.SMS: "text messages"}[c]
	if by == "" {
		by = "notifications"
	}
	if k == notifier.KindDigest {
		return "daily e-mails of what is new in your inbox"
	}
	return by + map[notifier.Kind]string{
		notifier.KindTurn:         " about your turns to take a seat",
		notifier.KindAnnouncement: " with announcements of the shows whose waitlist you are on",
		notifier.KindMessage:      " with news from the ticket shop (codes and confirmations that you need still come)",
	}[k]
}
