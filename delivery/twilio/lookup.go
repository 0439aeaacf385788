package twilio

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fanline/delivery"
	"fanline/delivery/call"
)

// A look goes through so many of the number's messages, the newest first.
const (
	lookUpPage  = 50
	lookUpPages = 4
)

// clockSlack is how far Twilio's clock may be from the database's.
const clockSlack = time.Minute

// listed is what we read of a page of messages.
type listed struct {
	Messages []struct {
		SID     string `json:"sid"`
		To      string `json:"to"`
		Body    string `json:"body"`
		Created string `json:"date_created"`
	} `json:"messages"`
	NextPage string `json:"next_page_uri"`
}

// lookUp looks for an earlier attempt. It is the verdict where one is found, and
// where the look failed: then nothing may be sent.
func (p *Provider) lookUp(ctx context.Context, e *delivery.Envelope, body string) (v delivery.Verdict, found bool) {
	since := time.Time(e.Item.CreatedAt).Add(-clockSlack)
	query := url.Values{"To": {e.Address.To}, "DateSent>": {since.UTC().Format(time.DateOnly)}, "PageSize": {strconv.Itoa(lookUpPage)}}
	if p.sender() == "From" {
		query.Set("From", p.cfg.From)
	}
	next := p.messages + "?" + query.Encode()
	for range lookUpPages {
		page, v, ok := p.page(ctx, next)
		if !ok {
			return v, true
		}
		if sid := page.find(e.Address.To, body, since); sid != "" {
			return delivery.Verdict{Outcome: delivery.Accepted, ID: sid, Reason: "sent before"}, true
		}
		// A page's address is a path of the same service; anything else ends the look.
		if len(page.Messages) < lookUpPage || !strings.HasPrefix(page.NextPage, "/2010-04-01/") {
			break
		}
		next = p.cfg.URL + page.NextPage
	}
	return v, false
}

func (p *Provider) page(ctx context.Context, target string) (page listed, v delivery.Verdict, ok bool) {
	unsure := func(reason string) (listed, delivery.Verdict, bool) {
		return page, delivery.Verdict{Outcome: delivery.Unsure, Reason: "look-up: " + reason}, false
	}
	req, err := p.request(ctx, http.MethodGet, target, strings.NewReader(""))
	if err != nil {
		return unsure("bad address")
	}
	res, err := call.DoLong(p.client, req)
	if err != nil {
		return unsure(call.Reason(err))
	}
	if res.Status != http.StatusOK || json.Unmarshal(res.Body, &page) != nil {
		return unsure(call.Words(res.Status, ""))
	}
	return page, v, true
}

// find returns the message with that text which is not older than the item.
func (l *listed) find(to, body string, since time.Time) string {
	for _, m := range l.Messages {
		created, err := time.Parse(time.RFC1123Z, m.Created)
		if m.To == to && same(m.Body, body) && (err != nil || !created.Before(since)) {
			return m.SID
		}
	}
	return ""
}

// same leaves out what Twilio changes in a text: spaces at its ends, and what it puts
// before that of a trial account.
func same(theirs, ours string) bool {
	theirs = strings.TrimPrefix(theirs, "Sent from your Twilio trial account - ")
	return strings.TrimSpace(theirs) == strings.TrimSpace(ours)
}
