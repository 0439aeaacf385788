package apns

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"fanline/delivery"
	"fanline/delivery/call"
	"fanline/notifier"
)

// The addresses of APNs.
const (
	Production = "https://api.push.apple.com"
	Sandbox    = "https://api.sandbox.push.apple.com"
)

// Config is what Apple gave us. Key, KeyID, TeamID and Topic are required.
type Config struct {
	URL string // "" is Production; http:// means HTTP/2 in clear
	// SandboxURL is that of devices of the sandbox; "" is Sandbox where URL is
	// Production, and otherwise URL.
	SandboxURL string
	Key        string // the p8 file's text
	KeyID      string
	TeamID     string
	Topic      string        // the app, where a device names none
	Timeout    time.Duration // of a call; 0 is 10 s
}

func (c Config) withDefaults() Config {
	if c.URL == "" {
		c.URL = Production
	}
	c.URL = strings.TrimRight(c.URL, "/")
	if c.SandboxURL == "" {
		c.SandboxURL = c.URL
		if c.URL == Production {
			c.SandboxURL = Sandbox
		}
	}
	c.SandboxURL = strings.TrimRight(c.SandboxURL, "/")
	if c.Timeout == 0 {
		c.Timeout = call.Timeout
	}
	return c
}

func (c Config) validate() (*ecdsa.PrivateKey, error) {
	for _, u := range []string{c.URL, c.SandboxURL} {
		parsed, err := url.Parse(u)
		if err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
			return nil, delivery.BadSetting("URL", "must be an http or https address")
		}
	}
	for _, f := range []struct{ name, value string }{{"KeyID", c.KeyID}, {"TeamID", c.TeamID}, {"Topic", c.Topic}} {
		if f.value == "" || strings.ContainsFunc(f.value, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return nil, delivery.BadSetting(f.name, "is required, in plain letters")
		}
	}
	key, err := jwt.ParseECPrivateKeyFromPEM([]byte(c.Key))
	if err != nil || key.Curve.Params().BitSize != 256 {
		return nil, delivery.BadSetting("Key", "is not the text of a .p8 key")
	}
	return key, nil
}

// Provider sends to APNs.
type Provider struct {
	cfg    Config
	signer *signer
	lines  map[string]*line // by environment
}

// New checks the configuration. It calls nobody.
func New(cfg Config) (*Provider, error) {
	cfg = cfg.withDefaults()
	key, err := cfg.validate()
	if err != nil {
		return nil, err
	}
	production := newLine(cfg.URL)
	lines := map[string]*line{"production": production, "sandbox": production}
	if cfg.SandboxURL != cfg.URL {
		lines["sandbox"] = newLine(cfg.SandboxURL)
	}
	return &Provider{cfg: cfg, signer: &signer{key: key, keyID: cfg.KeyID, teamID: cfg.TeamID}, lines: lines}, nil
}

// Channel is notifier.APNs.
func (*Provider) Channel() notifier.Channel { return notifier.APNs }

// Close ends the idle connections.
func (p *Provider) Close() error {
	for _, l := range p.lines {
		l.close()
	}
	return nil
}

// Send makes one attempt. It is made once more where APNs wants another provider
// token or another connection.
func (p *Provider) Send(ctx context.Context, e *delivery.Envelope) delivery.Verdict {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	body, err := payload(e)
	if err != nil {
		return delivery.Verdict{Outcome: delivery.Refused, Reason: "payload too large"}
	}
	if !plain(e.Address.To) {
		return delivery.Verdict{Outcome: delivery.Refused, Reason: "not a device token"}
	}
	v, again := p.attempt(ctx, e, body)
	if again {
		v, _ = p.attempt(ctx, e, body)
	}
	return v
}

// plain says whether a token can stand in a path.
func plain(token string) bool {
	return token != "" && strings.Trim(token, ".") != "" &&
		!strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// attempt sends, and says whether what went wrong is put right by now.
func (p *Provider) attempt(ctx context.Context, e *delivery.Envelope, body []byte) (v delivery.Verdict, again bool) {
	l := p.lines["production"]
	if e.Address.Environment == "sandbox" {
		l = p.lines["sandbox"]
	}
	token, err := p.signer.token()
	if err != nil {
		return delivery.Verdict{Outcome: delivery.Misconfigured, Reason: "cannot sign"}, false
	}
	began := time.Now()
	req, err := p.request(ctx, l.base, e, body, token)
	if err != nil {
		return delivery.Verdict{Outcome: delivery.Refused, Reason: "not a device token"}, false
	}
	res, link, err := l.do(req)
	a := answer{env: e, topic: p.cfg.Topic, began: began}
	if err != nil {
		a.lost(err)
	} else {
		a.read(res)
	}
	return a.verdict, p.repair(a.remedy, token, l, link)
}

// repair does what an answer asks for; true when another attempt makes sense.
func (p *Provider) repair(r remedy, token string, l *line, link *link) bool {
	switch r {
	case newToken:
		return p.signer.refresh(token)
	case oldToken:
		return p.signer.goBack(token)
	case newConnection:
		l.renew(link)
		return true
	case dropConnection:
		l.renew(link)
	}
	return false
}

func (p *Provider) request(ctx context.Context, base string, e *delivery.Envelope, body []byte, token string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/3/device/"+url.PathEscape(e.Address.To), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	topic := e.Address.Topic
	if topic == "" {
		topic = p.cfg.Topic
	}
	for name, value := range map[string]string{
		"authorization":    "bearer " + token,
		"apns-id":          uuid(e.Key),
		"apns-collapse-id": e.Key.String(),
		"apns-expiration":  strconv.FormatInt(e.Expires.Unix(), 10),
		"apns-priority":    "10",
		"apns-push-type":   "alert",
		"apns-topic":       topic,
		"content-type":     "application/json",
	} {
		req.Header.Set(name, value)
	}
	return req, nil
}

// uuid is the key in a UUID's form.
func uuid(k notifier.DeliveryKey) string {
	h := hex.EncodeToString(k[:])
	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

var errNotYet = errors.New("no answer to the first request of the connection")
