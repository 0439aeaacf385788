package email

import (
	"bytes"
	_ "embed"
	"errors"
	"html/template"
	"net/mail"
	"net/url"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"fanline/delivery"
	"fanline/notifier"
)

//go:embed message.html
var page string

var pageTemplate = template.Must(template.New("message").Parse(page))

// mostSubject is how long a subject may be, in bytes.
const mostSubject = 200

// messageID is made of the key: the same on every attempt.
func (p *Provider) messageID(e *delivery.Envelope) string { return e.Key.String() + "@" + p.domain }

// message writes the mail. It fails where the address to opt out at is none.
func (p *Provider) message(e *delivery.Envelope) (*gomail.Msg, error) {
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	m.FromMailAddress(&mail.Address{Name: p.from.Name, Address: p.from.Address})
	m.ToMailAddress(&mail.Address{Address: e.Address.To})
	m.Subject(subject(e.Item.Title))
	m.SetMessageIDWithValue(p.messageID(e))
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	link, out := delivery.Line(e.URL), e.Unsubscribe
	if e.Item.Lane == notifier.Transactional {
		out = ""
	}
	if out != "" && !isHeaderLink(out) {
		return nil, errors.New("not a link")
	}
	if out != "" {
		m.SetGenHeader("List-Unsubscribe", "<"+out+">")
		m.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	}
	title, body := delivery.Line(e.Item.Title), delivery.Clean(e.Item.Body)
	contents := cleaned(e.Contents)
	m.SetBodyString(gomail.TypeTextPlain, text(title, body, contents, link, out))
	html, err := render(title, body, contents, link, out)
	if err != nil {
		return nil, err
	}
	m.AddAlternativeString(gomail.TypeTextHTML, html)
	return m, nil
}

// subject is one line. An encoded word that stands in the text itself is taken apart:
// a reader would decode it, into whatever it holds.
func subject(title string) string {
	line := strings.ReplaceAll(delivery.Line(title), "=?", "= ?")
	return delivery.Trim(line, delivery.Ellipsis, mostSubject, func(s string) int { return len(s) })
}

// isHeaderLink says whether a link can stand in a header.
func isHeaderLink(link string) bool {
	u, err := url.Parse(link)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") &&
		!strings.ContainsFunc(link, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("<>\"", r) })
}

// cleaned are a digest's contents, a line of title each.
func cleaned(list []delivery.Content) []delivery.Content {
	out := make([]delivery.Content, len(list))
	for i, c := range list {
		out[i] = delivery.Content{Title: delivery.Line(c.Title), Body: delivery.Clean(c.Body), URL: delivery.Line(c.URL)}
	}
	return out
}

func text(title, body string, contents []delivery.Content, link, out string) string {
	var b strings.Builder
	b.WriteString(title + "\n\n" + body + "\n")
	for _, c := range contents {
		b.WriteString("\n* " + c.Title + "\n" + c.Body + "\n")
		if c.URL != "" {
			b.WriteString(c.URL + "\n")
		}
	}
	if link != "" {
		b.WriteString("\n" + link + "\n")
	}
	if out != "" {
		b.WriteString("\n-- \nNo more of these: " + out + "\n")
	}
	return b.String()
}

func render(title, body string, contents []delivery.Content, link, out string) (string, error) {
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, struct {
		Title       string
		Lines       []string
		Contents    []delivery.Content
		Link        string
		Unsubscribe string
	}{title, strings.Split(body, "\n"), contents, link, out})
	return b.String(), err
}
