package twilio

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"fanline/delivery"
	"fanline/delivery/call"
	"fanline/notifier"
)

// Twilio is the address of Twilio.
const Twilio = "https://api.twilio.com"

// longest is how long Twilio's queue holds a message.
const longest = 36_000 * time.Second

// Config is what Twilio gave us. AccountSID, AuthToken and From are required.
type Config struct {
	URL        string // "" is Twilio
	AccountSID string
	AuthToken  string
	From       string // a number, a name or a Messaging Service (MG...)
	// Callback is where Twilio tells what became of a message; "" is nowhere.
	Callback string
	Timeout  time.Duration // of a call; 0 is 10 s
}

func (c Config) withDefaults() Config {
	if c.URL == "" {
		c.URL = Twilio
	}
	c.URL = strings.TrimRight(c.URL, "/")
	if c.Timeout == 0 {
		c.Timeout = call.Timeout
	}
	return c
}

var accountSID = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)

func (c Config) validate() error {
	switch {
	case !isHTTP(c.URL):
		return delivery.BadSetting("URL", "must be an http or https address")
	case !accountSID.MatchString(c.AccountSID):
		return delivery.BadSetting("AccountSID", "is required, as AC and letters and digits")
	case c.AuthToken == "":
		return delivery.BadSetting("AuthToken", "is required")
	case strings.TrimSpace(c.From) == "":
		return delivery.BadSetting("From", "is required: a number, a name or a Messaging Service")
	case c.Callback != "" && !isHTTP(c.Callback):
		return delivery.BadSetting("Callback", "must be an http or https address")
	}
	return nil
}

func isHTTP(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// Provider sends with Twilio.
type Provider struct {
	cfg      Config
	messages string // the address of the account's messages
	client   *http.Client
}

// New checks the configuration. It calls nobody.
func New(cfg Config) (*Provider, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Provider{
		cfg: cfg, messages: cfg.URL + "/2010-04-01/Accounts/" + cfg.AccountSID + "/Messages.json",
		client: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 5 * time.Second,
				MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Channel is notifier.SMS.
func (*Provider) Channel() notifier.Channel { return notifier.SMS }

// Close ends the idle connections.
func (p *Provider) Close() error {
	p.client.CloseIdleConnections()
	return nil
}

var number = regexp.MustCompile(`^\+[1-9][0-9]{4,14}$`)

// Send makes one attempt, after a look for the one before where that may have been
// accepted.
func (p *Provider) Send(ctx context.Context, e *delivery.Envelope) delivery.Verdict {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	if !number.MatchString(e.Address.To) {
		return delivery.Verdict{Outcome: delivery.Refused, Reason: "not a number"}
	}
	body := compose(e.Item.Title, e.Item.Body, e.URL)
	if e.LastUnsure {
		if v, found := p.lookUp(ctx, e, body); found {
			return v
		}
	}
	form := p.form(e, body)
	req, err := p.request(ctx, http.MethodPost, p.messages, strings.NewReader(form.Encode()))
	if err != nil {
		return delivery.Verdict{Outcome: delivery.Misconfigured, Reason: "bad address"}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	began := time.Now()
	res, err := call.Do(p.client, req)
	if err != nil {
		return call.Failed(err)
	}
	return p.read(res, began)
}

func (p *Provider) form(e *delivery.Envelope, body string) url.Values {
	left := min(time.Until(e.Expires), longest)
	form := url.Values{
		"To": {e.Address.To}, p.sender(): {p.cfg.From}, "Body": {body},
		"ValidityPeriod": {strconv.Itoa(max(1, int(left/time.Second)))},
	}
	if p.cfg.Callback != "" {
		form.Set("StatusCallback", p.cfg.Callback)
	}
	return form
}

// sender is the parameter that From is.
func (p *Provider) sender() string {
	if strings.HasPrefix(p.cfg.From, "MG") && len(p.cfg.From) == 34 {
		return "MessagingServiceSid"
	}
	return "From"
}

func (p *Provider) request(ctx context.Context, method, target string, body *strings.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth(p.cfg.AccountSID, p.cfg.AuthToken)
	req.Header.Set("Accept", "application/json")
	return req, nil
}
