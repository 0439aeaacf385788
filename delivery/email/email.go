package email

import (
	"context"
	"net"
	"net/mail"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"fanline/delivery"
	"fanline/delivery/call"
	"fanline/notifier"
)

// TLS says when a connection is encrypted.
type TLS string

// The choices of TLS.
const (
	Mandatory     TLS = "mandatory" // or nothing is sent
	Opportunistic TLS = "opportunistic"
	None          TLS = "none"
)

// Config is the mail server. Addr and From are required.
type Config struct {
	Addr     string // host:port; at port 465 TLS comes first, elsewhere STARTTLS
	User     string // "" does not log in
	Password string
	From     string        // as "Fanline <tickets@example.com>"
	TLS      TLS           // "" is Mandatory
	Timeout  time.Duration // of an attempt; 0 is 10 s
}

func (c Config) withDefaults() Config {
	if c.TLS == "" {
		c.TLS = Mandatory
	}
	if c.Timeout == 0 {
		c.Timeout = call.Timeout
	}
	return c
}

func (c Config) validate() error {
	if from, err := mail.ParseAddress(c.From); err != nil || !plain(from.Address) {
		return delivery.BadSetting("From", "must be a mail address, as Fanline <tickets@example.com>")
	}
	host, port, err := net.SplitHostPort(c.Addr)
	if n, badPort := strconv.Atoi(port); err != nil || host == "" || badPort != nil || n < 1 || n > 65_535 {
		return delivery.BadSetting("Addr", "must be host:port, as smtp.example.com:587")
	}
	switch {
	case c.TLS != Mandatory && c.TLS != Opportunistic && c.TLS != None:
		return delivery.BadSetting("TLS", "must be mandatory, opportunistic or none")
	case c.User == "" && c.Password != "":
		return delivery.BadSetting("User", "is required with a password")
	}
	return nil
}

// plain says whether an address can stand in a command of SMTP: one line, in ASCII.
func plain(address string) bool {
	at := strings.LastIndexByte(address, '@')
	return at > 0 && at < len(address)-1 && len(address) <= 254 &&
		!strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '<' || r == '>' })
}

// Provider sends mail.
type Provider struct {
	cfg    Config
	from   *mail.Address
	domain string // of From; Message-IDs end in it
	pool   *pool
}

// New checks the configuration. It calls nobody.
func New(cfg Config) (*Provider, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	from, err := mail.ParseAddress(cfg.From)
	if err != nil {
		return nil, delivery.BadSetting("From", err.Error())
	}
	domain := from.Address[strings.LastIndexByte(from.Address, '@')+1:]
	pool, err := newPool(cfg)
	if err != nil {
		return nil, delivery.BadSetting("Addr", err.Error())
	}
	return &Provider{cfg: cfg, from: from, domain: domain, pool: pool}, nil
}

// Channel is notifier.Email.
func (*Provider) Channel() notifier.Channel { return notifier.Email }

// Close ends the connections that are idle; those in use end with their attempt.
func (p *Provider) Close() error {
	p.pool.close()
	return nil
}

// Check connects, with TLS and the login.
func (p *Provider) Check(ctx context.Context) error {
	c, err := p.pool.dial(ctx)
	if err != nil {
		return err
	}
	c.end()
	return nil
}

// Send makes one attempt.
func (p *Provider) Send(ctx context.Context, e *delivery.Envelope) delivery.Verdict {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	if to, err := mail.ParseAddress(e.Address.To); err != nil || to.Address != e.Address.To || !plain(to.Address) {
		return delivery.Verdict{Outcome: delivery.Refused, Reason: "not a mail address"}
	}
	msg, err := p.message(e)
	if err != nil {
		return delivery.Verdict{Outcome: delivery.Refused, Reason: "not a message"}
	}
	began := time.Now()
	return p.verdict(p.send(ctx, e.Address.To, msg), e, began)
}

// send brings a message to the server. A connection that waited may be dead by now:
// then another one is taken, as long as nothing was said on it.
func (p *Provider) send(ctx context.Context, to string, msg *gomail.Msg) error {
	if err := p.pool.enter(ctx); err != nil {
		return &failure{stage: dialling, err: err}
	}
	defer p.pool.leave()
	for c := p.pool.idle(); c != nil; c = p.pool.idle() {
		err := c.send(ctx, p.from.Address, to, msg)
		if f, ok := err.(*failure); !ok || !f.tooOld() || ctx.Err() != nil {
			p.pool.back(c, err)
			return err
		}
		c.end()
	}
	c, err := p.pool.dial(ctx)
	if err != nil {
		return &failure{stage: dialling, err: err}
	}
	err = c.send(ctx, p.from.Address, to, msg)
	p.pool.back(c, err)
	return err
}
