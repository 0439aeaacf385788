package webpush

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	library "github.com/SherClockHolmes/webpush-go"

	"fanline/delivery"
	"fanline/delivery/call"
	"fanline/delivery/dial"
	"fanline/notifier"
)

// Config has the VAPID keys, as webpush-keys prints them. All but AllowLoopback are
// required.
type Config struct {
	PublicKey  string // base64url
	PrivateKey string // base64url
	Subject    string // mailto:... or https://..., for the push services' operators
	// AllowLoopback also calls push services on this machine, in clear: for development.
	AllowLoopback bool
	Timeout       time.Duration // of a call; 0 is 10 s
}

// Keys makes a pair of VAPID keys.
func Keys() (public, private string, err error) {
	private, public, err = library.GenerateVAPIDKeys()
	return public, private, err
}

func (c Config) validate() error {
	private, err := decode(c.PrivateKey)
	if err != nil {
		return delivery.BadSetting("PrivateKey", "is no VAPID key")
	}
	key, err := ecdh.P256().NewPrivateKey(private)
	if err != nil {
		return delivery.BadSetting("PrivateKey", "is no VAPID key")
	}
	public, err := decode(c.PublicKey)
	if err != nil || string(public) != string(key.PublicKey().Bytes()) {
		return delivery.BadSetting("PublicKey", "does not belong to the private one")
	}
	address, isMail := strings.CutPrefix(c.Subject, "mailto:")
	if !isMail || !strings.Contains(address, "@") {
		if u, err := url.Parse(c.Subject); err != nil || u.Scheme != "https" || u.Host == "" {
			return delivery.BadSetting("Subject", "must be mailto: and an address, or an https URL")
		}
	}
	return nil
}

func decode(key string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(key, "="))
}

// Provider sends to push services.
type Provider struct {
	cfg      Config
	guard    dial.Guard
	client   *http.Client
	accepted lately
}

// New checks the configuration. It calls nobody.
func New(cfg Config) (*Provider, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = call.Timeout
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	guard := dial.Guard{AllowLoopback: cfg.AllowLoopback}
	return &Provider{cfg: cfg, guard: guard, client: guard.Client()}, nil
}

// Channel is notifier.WebPush.
func (*Provider) Channel() notifier.Channel { return notifier.WebPush }

// Close ends the idle connections.
func (p *Provider) Close() error {
	p.client.CloseIdleConnections()
	return nil
}

// mostTTL is the most that push services keep a message.
const mostTTL = 28 * 24 * time.Hour

// Send makes one attempt.
func (p *Provider) Send(ctx context.Context, e *delivery.Envelope) delivery.Verdict {
	v := p.send(ctx, e)
	// Any fan may name a service that fails: that says nothing of the others.
	if (v.Outcome == delivery.Retry || v.Outcome == delivery.Unsure) && !p.known(originOf(e.Address.To)) {
		v.Outcome = delivery.AddressThrottled
		v.RetryAfter = max(v.RetryAfter, busyWait)
	}
	return v
}

func (p *Provider) send(ctx context.Context, e *delivery.Envelope) delivery.Verdict {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	if err := p.guard.CheckURL(e.Address.To); err != nil {
		return delivery.Verdict{Outcome: delivery.Refused, Reason: "endpoint not allowed"}
	}
	body, err := payload(e)
	if err != nil {
		return delivery.Verdict{Outcome: delivery.Refused, Reason: "payload too large"}
	}
	began := time.Now()
	asked := &asking{client: p.client}
	// The library returns what asking answered, which asking has read.
	_, err = library.SendNotificationWithContext(ctx, body, &library.Subscription{
		Endpoint: e.Address.To, Keys: library.Keys{Auth: e.Address.Auth, P256dh: e.Address.P256dh},
	}, p.options(e, asked, began))
	switch {
	case asked.answer != nil:
		return p.read(asked.answer, originOf(e.Address.To), began)
	case errors.Is(asked.err, dial.ErrForbidden):
		return delivery.Verdict{Outcome: delivery.Refused, Reason: "endpoint not allowed"}
	case asked.err != nil:
		return call.Failed(asked.err)
	case err != nil:
		return delivery.Verdict{Outcome: delivery.Refused, Reason: "not a subscription's keys"}
	}
	return delivery.Verdict{Outcome: delivery.Retry, Reason: "not called"}
}

func (p *Provider) options(e *delivery.Envelope, asked *asking, began time.Time) *library.Options {
	return &library.Options{
		HTTPClient: asked,
		// The library writes mailto: before it by itself.
		Subscriber:      strings.TrimPrefix(p.cfg.Subject, "mailto:"),
		Topic:           base64.RawURLEncoding.EncodeToString(e.Key[:]),
		TTL:             int(min(max(e.Expires.Sub(began), 0), mostTTL) / time.Second),
		Urgency:         urgency(e.Item.Lane),
		VAPIDPublicKey:  p.cfg.PublicKey,
		VAPIDPrivateKey: p.cfg.PrivateKey,
	}
}

func urgency(l notifier.Lane) library.Urgency {
	if l == notifier.Bulk {
		return library.UrgencyNormal
	}
	return library.UrgencyHigh
}

// asking is the library's HTTP client: it makes the call and keeps what came of it.
type asking struct {
	client *http.Client
	answer *call.Answer
	err    error
}

// Do makes the call.
func (a *asking) Do(req *http.Request) (*http.Response, error) {
	a.answer, a.err = call.Do(a.client, req)
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.answer.Status, Header: a.answer.Header, Body: http.NoBody}, nil
}

// mostText is what fits into a message of 4,096 bytes beside what encrypting adds.
const mostText = delivery.PushBytes - 103

func payload(e *delivery.Envelope) ([]byte, error) {
	return delivery.Fit(mostText, &e.Item, func(title, body string, data json.RawMessage) ([]byte, error) {
		return delivery.JSON(struct {
			Title string `json:"title"`
			Body  string `json:"body"`
			Tag   string `json:"tag"` // a double replaces the one that is shown
			delivery.Extra
			Data json.RawMessage `json:"data,omitempty"`
		}{title, body, e.Key.String(), delivery.ExtraOf(e), data})
	})
}
