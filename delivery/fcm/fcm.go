package fcm

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fanline/delivery"
	"fanline/delivery/call"
	"fanline/notifier"
)

// Google is the address of FCM.
const Google = "https://fcm.googleapis.com"

// leastTimeout is what FCM asks its callers to wait before they call again.
const leastTimeout = 10 * time.Second

// Config is what Firebase gave us. Credentials are required.
type Config struct {
	URL         string // "" is Google
	Credentials string // the service account's JSON
	Project     string // "" is that of the credentials
}

func (c Config) withDefaults(a account) Config {
	if c.URL == "" {
		c.URL = Google
	}
	c.URL = strings.TrimRight(c.URL, "/")
	if c.Project == "" {
		c.Project = a.ProjectID
	}
	return c
}

func (c Config) validate() error {
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return delivery.BadSetting("URL", "must be an http or https address")
	}
	if c.Project == "" {
		return delivery.BadSetting("Project", "is required where the credentials name none")
	}
	if strings.ContainsFunc(c.Project, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("/?#%", r) }) {
		return delivery.BadSetting("Project", "must be a project's id")
	}
	return nil
}

// Provider sends to FCM.
type Provider struct {
	send    string // the address of a send
	client  *http.Client
	tokens  *tokens
	timeout time.Duration
}

// New checks the configuration. It calls nobody.
func New(cfg Config) (*Provider, error) {
	a, err := readAccount(cfg.Credentials)
	if err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults(a)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	client := newClient()
	return &Provider{
		send: cfg.URL + "/v1/projects/" + cfg.Project + "/messages:send", client: client,
		tokens: newTokens(a, client), timeout: leastTimeout,
	}, nil
}

func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Channel is notifier.FCM.
func (*Provider) Channel() notifier.Channel { return notifier.FCM }

// Close ends fetches of tokens and idle connections.
func (p *Provider) Close() error {
	p.tokens.close()
	p.client.CloseIdleConnections()
	return nil
}

// Check fetches a token of OAuth, or has one.
func (p *Provider) Check(ctx context.Context) error {
	_, err := p.tokens.get(ctx)
	return err
}

// Send makes one attempt. It is made once more with another token of OAuth where FCM
// does not take the one there is.
func (p *Provider) Send(ctx context.Context, e *delivery.Envelope) delivery.Verdict {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	began := time.Now()
	body, err := payload(e, began)
	if err != nil {
		return delivery.Verdict{Outcome: delivery.Refused, Reason: "payload too large"}
	}
	v, token := p.attempt(ctx, body, began)
	if v.Outcome == needsToken {
		p.tokens.drop(token)
		if v, _ = p.attempt(ctx, body, began); v.Outcome == needsToken {
			v.Outcome = delivery.Misconfigured
		}
	}
	return v
}

func (p *Provider) attempt(ctx context.Context, body []byte, began time.Time) (delivery.Verdict, string) {
	token, err := p.tokens.get(ctx)
	if err != nil {
		return unauthorized(err), ""
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.send, bytes.NewReader(body))
	if err != nil {
		return delivery.Verdict{Outcome: delivery.Misconfigured, Reason: "bad address"}, token
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	res, err := call.Do(p.client, req)
	if err != nil {
		return call.Failed(err), token
	}
	return read(res, began), token
}
