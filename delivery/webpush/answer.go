package webpush

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"fanline/delivery"
	"fanline/delivery/call"
)

// Waits where a service names none.
const (
	rateWait = 30 * time.Second
	busyWait = 10 * time.Second
)

func (p *Provider) read(res *call.Answer, origin string, began time.Time) delivery.Verdict {
	v := delivery.Verdict{Reason: call.Words(res.Status, ""), Sender: origin, RetryAfter: call.RetryAfter(res.Header, time.Now())}
	switch status := res.Status; {
	case status/100 == 2:
		p.accepted.note(origin, time.Now())
		return delivery.Verdict{Outcome: delivery.Accepted, ID: short(res.Header.Get("Location")), Reason: v.Reason}
	case status == http.StatusNotFound, status == http.StatusGone:
		v.Outcome, v.DeadSince = delivery.AddressDead, began
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		v.Outcome = delivery.Refused
		if p.known(origin) && !p.accepted.since(origin, time.Now().Add(-trust)) {
			v.Outcome = delivery.Misconfigured
		}
	case status == http.StatusTooManyRequests:
		v.Outcome = delivery.AddressThrottled
		if p.known(origin) {
			v.Outcome = delivery.Throttled
		}
		if v.RetryAfter == 0 {
			v.RetryAfter = rateWait
		}
	case status >= 500:
		v.Outcome = delivery.Unsure
		if v.RetryAfter == 0 {
			v.RetryAfter = busyWait
		}
	default: // a redirect, a size, a header: it will not go this way
		v.Outcome = delivery.Refused
	}
	return v
}

// short is a message's address where it can be kept.
func short(location string) string {
	if len(location) > 500 {
		return ""
	}
	return location
}

// services are the push services of browsers: hosts, and with a dot in front all of a
// domain.
var services = []string{
	"fcm.googleapis.com", "android.googleapis.com", "jmt17.google.com", ".push.services.mozilla.com",
	".notify.windows.com", ".push.apple.com",
}

// known says whether an origin is a browser's push service, or this machine where
// that is allowed.
func (p *Provider) known(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return p.cfg.AllowLoopback
	}
	for _, s := range services {
		if host == s || s[0] == '.' && strings.HasSuffix(host, s) {
			return true
		}
	}
	return false
}

func originOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// trust is how long a service that took our key is not thought to refuse it.
const trust = 10 * time.Minute

// lately remembers when services took a message.
type lately struct {
	mu sync.Mutex
	at map[string]time.Time
}

// originsKept bounds what is remembered: anybody can name an origin.
const originsKept = 256

func (l *lately) note(origin string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil || len(l.at) >= originsKept && l.at[origin].IsZero() {
		l.at = map[string]time.Time{}
	}
	l.at[origin] = at
}

func (l *lately) since(origin string, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at[origin].After(at)
}
