package email

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/textproto"
	"strconv"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// Of connections there are at most so many, and so many wait to be used again, so
// long and so often: mail servers end those that are older.
const (
	mostConns = 20
	mostIdle  = 8
	idleTime  = 20 * time.Second
	mostUses  = 100
)

// pool has the connections.
type pool struct {
	client *gomail.Client
	slots  chan struct{}

	mu     sync.Mutex
	conns  []*conn // idle, the newest last
	closed bool
}

// conn is a connection with its login done.
type conn struct {
	smtp  *smtp.Client
	net   net.Conn
	used  int
	since time.Time // idle since
}

func newPool(cfg Config) (*pool, error) {
	host, port, _ := net.SplitHostPort(cfg.Addr) // validate has seen it
	n, _ := strconv.Atoi(port)
	options := []gomail.Option{gomail.WithPort(n), gomail.WithTimeout(cfg.Timeout), gomail.WithoutSMTPUTF8()}
	dialer := &net.Dialer{}
	dial := dialer.DialContext
	switch {
	case cfg.TLS == None:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	case n == 465:
		options = append(options, gomail.WithSSL())
		dial = (&tls.Dialer{NetDialer: dialer, Config: &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}}).DialContext
	case cfg.TLS == Opportunistic:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	options = append(options, gomail.WithDialContextFunc(keepConn(dial)))
	if cfg.User != "" {
		options = append(options, gomail.WithUsername(cfg.User), gomail.WithPassword(cfg.Password), gomail.WithSMTPAuth(login(cfg.TLS, n)))
	}
	client, err := gomail.NewClient(host, options...)
	if err != nil {
		return nil, err
	}
	return &pool{client: client, slots: make(chan struct{}, mostConns)}, nil
}

// login is the way to log in: whichever the server offers, but a password in clear
// only where TLS is none, as asked for.
func login(t TLS, port int) gomail.SMTPAuthType {
	switch {
	case t == None:
		return gomail.SMTPAuthPlainNoEnc
	case port == 465:
		return gomail.SMTPAuthPlain
	}
	return gomail.SMTPAuthAutoDiscover
}

type connKey struct{}

// keepConn hands the connection that go-mail dials to who asked for it, so that the
// end of a context can end it.
func keepConn(dial gomail.DialContextFunc) gomail.DialContextFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if kept, ok := ctx.Value(connKey{}).(func(net.Conn)); ok && err == nil {
			kept(c)
		}
		return c, err
	}
}

func (p *pool) enter(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pool) leave() { <-p.slots }

// idle takes a connection that waits; nil where there is none.
func (p *pool) idle() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.conns) > 0 {
		c := p.conns[len(p.conns)-1]
		p.conns = p.conns[:len(p.conns)-1]
		if time.Since(c.since) < idleTime {
			return c
		}
		c.end()
	}
	return nil
}

// back keeps a connection for the next, where the last message left it in order.
func (p *pool) back(c *conn, err error) {
	if f, ok := err.(*failure); err != nil && (!ok || !f.goesOn()) {
		c.end()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.conns) >= mostIdle || c.used >= mostUses {
		c.end()
		return
	}
	c.since = time.Now()
	p.conns = append(p.conns, c)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.conns {
		c.end()
	}
	p.conns = nil
}

// dial connects, encrypts and logs in. ctx ends it at any point.
func (p *pool) dial(ctx context.Context) (*conn, error) {
	c := &conn{}
	var stop func() bool
	kept := func(n net.Conn) {
		c.net = n
		stop = context.AfterFunc(ctx, func() { _ = n.SetDeadline(time.Unix(1, 0)) })
	}
	var err error
	c.smtp, err = p.client.DialToSMTPClientWithContext(context.WithValue(ctx, connKey{}, kept))
	if stop != nil {
		stop()
	}
	if err == nil {
		return c, nil
	}
	if c.net != nil {
		_ = c.net.Close()
	}
	return nil, errors.Join(ctx.Err(), err)
}

// end says goodbye without waiting for an answer.
func (c *conn) end() {
	_ = c.net.SetDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = c.smtp.Text.Cmd("QUIT")
	_ = c.smtp.Close()
}

// stage is how far a message got.
type stage int

const (
	dialling  stage = iota
	greeting        // the first command on a connection
	recipient       // RCPT TO
	content         // DATA, up to the final dot
	answer          // the final dot was sent
)

// failure is a message that was not accepted, as far as is known.
type failure struct {
	stage stage
	err   error
}

func (f *failure) Error() string { return "send mail: " + f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// tooOld says whether the connection had ended before the message began.
func (f *failure) tooOld() bool {
	var said *textproto.Error
	return f.stage == greeting && (!errors.As(f.err, &said) || said.Code == 421)
}

// goesOn says whether the connection can be used again: the server said no to this
// message and is ready for others.
func (f *failure) goesOn() bool {
	var said *textproto.Error
	return f.stage != dialling && errors.As(f.err, &said) && said.Code != 421
}

// send sends one message. Its error is a *failure.
func (c *conn) send(ctx context.Context, from, to string, msg *gomail.Msg) error {
	deadline, _ := ctx.Deadline() // Send has set one
	_ = c.net.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { _ = c.net.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c.used++
	if err := c.smtp.Mail("<" + from + ">"); err != nil {
		return c.failed(greeting, err)
	}
	if err := c.smtp.Rcpt("<" + to + ">"); err != nil {
		return c.failed(recipient, err)
	}
	w, err := c.smtp.Data()
	if err != nil {
		return c.failed(content, err)
	}
	if _, err := msg.WriteTo(w); err != nil {
		// Without the final dot there is no message.
		return c.failed(content, err)
	}
	if err := w.Close(); err != nil {
		return c.failed(answer, err)
	}
	return nil
}

// failed clears what was said of a message that was refused before its content.
func (c *conn) failed(at stage, err error) error {
	f := &failure{at, err}
	if at != answer && f.goesOn() {
		if err := c.smtp.Reset(); err != nil {
			c.used = mostUses // of no use to the next
		}
	}
	return f
}
