package email

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fanline/delivery"
	"fanline/delivery/sendtest"
	"fanline/notifier"
	"fanline/sim/providers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	to     = "ada@mail.example"
	sender = "Fanline <tickets@fanline.example>"
)

func envelope() *delivery.Envelope {
	e := sendtest.Envelope(delivery.Address{Channel: notifier.Email, To: to})
	e.Item.Title, e.Item.Body = "Your turn for The Locksmith", "2 seats <b>until</b> 20:15.\nCome soon."
	e.URL, e.Unsubscribe = "https://t.example/show?a=1&b=2", "https://t.example/u/token"
	return e
}

type world struct {
	t      *testing.T
	fake   *providers.SMTP
	phones *providers.Phones
}

func start(t *testing.T, cfg providers.SMTPConfig) *world {
	t.Helper()
	w := &world{t: t, phones: providers.NewPhones(providers.PhonesConfig{})}
	cfg.Phones = w.phones
	fake, err := providers.StartSMTP(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	w.fake = fake
	return w
}

func (w *world) provider(cfg Config) *Provider {
	w.t.Helper()
	cfg.Addr, cfg.From = w.fake.Addr(), sender
	return sendtest.Opened(New(cfg))(w.t)
}

func (w *world) mail(n int) *mail.Message {
	w.t.Helper()
	log := w.phones.Of(providers.ChannelEmail, to)
	m, err := mail.ReadMessage(bytes.NewReader(log[n].Payload))
	if err != nil {
		w.t.Fatalf("%v in %q", err, log[n].Payload)
	}
	return m
}

func TestAMailIsTextAndHTMLWithItsKeyAndAWayOut(t *testing.T) {
	t.Parallel()
	w := start(t, providers.SMTPConfig{})
	p := w.provider(Config{TLS: None})
	e := envelope()
	if v := p.Send(t.Context(), e); v.Outcome != delivery.Accepted || v.ID != e.Key.String()+"@fanline.example" {
		t.Fatalf("%+v", v)
	}
	m := w.mail(0)
	for name, want := range map[string]string{
		"Message-Id": "<" + e.Key.String() + "@fanline.example>", "To": "<" + to + ">", "From": `"Fanline" <tickets@fanline.example>`,
		"Subject": e.Item.Title, "List-Unsubscribe": "<https://t.example/u/token>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		"Auto-Submitted": "auto-generated",
	} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	body, _ := io.ReadAll(m.Body)
	if kind, _, _ := mime.ParseMediaType(m.Header.Get("Content-Type")); kind != "multipart/alternative" || !bytes.Contains(body, []byte("&lt;b&gt;")) {
		t.Errorf("%s\n%s", kind, body)
	}
	got := w.phones.Log()[0]
	if got.URL != e.URL || !strings.Contains(got.Body, "2 seats <b>until</b> 20:15.\nCome soon.") {
		t.Errorf("%q", got.Body)
	}
}

func TestATransactionalMailCannotBeUnsubscribedFrom(t *testing.T) {
	t.Parallel()
	w := start(t, providers.SMTPConfig{})
	p := w.provider(Config{TLS: None})
	e := envelope()
	e.Item.Lane = notifier.Transactional
	p.Send(t.Context(), e)
	if m := w.mail(0); m.Header.Get("List-Unsubscribe") != "" || strings.Contains(w.phones.Log()[0].Body, "/u/") {
		t.Errorf("%v", m.Header)
	}
}

func TestNoTextBecomesAHeader(t *testing.T) {
	t.Parallel()
	w := start(t, providers.SMTPConfig{})
	p := w.provider(Config{TLS: None})
	for i, name := range []string{
		"Rock\r\nBcc: thief@evil.example", "Rock\rBcc: thief@evil.example", "Rock\nBcc: thief@evil.example", "Rock\x00Bcc: x",
		"=?utf-8?q?Rock=0D=0ABcc:_thief@evil.example?=", "=?utf-8?b?Um9jaw0KQmNjOiB0aGllZkBldmlsLmV4YW1wbGU=?=",
		"Rock\u2028Bcc: x", "Rock\u0085Bcc: x", strings.Repeat("Röck ", 2000), "\r\n\r\n<html>", "", strings.Repeat("a", 5000),
		"é=?utf-8?q?=0ABcc:_x?=", "Rock\r\n.\r\nMAIL FROM:<x@y>",
	} {
		e := envelope()
		e.Item.Title, e.Item.Body = "Your turn for "+name, name
		if v := p.Send(t.Context(), e); v.Outcome != delivery.Accepted {
			t.Fatalf("%q: %+v", name, v)
		}
		m := w.mail(i)
		if len(m.Header["Subject"]) != 1 || len(m.Header["To"]) != 1 || m.Header["Bcc"] != nil || m.Header["Cc"] != nil {
			t.Errorf("%q: %v", name, m.Header)
		}
		decoded, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		if err != nil || strings.ContainsAny(decoded, "\r\n\x00") || len(decoded) > 210 {
			t.Errorf("%q: subject %q (%v)", name, decoded, err)
		}
	}
	if c := w.phones.Counts(); c.Addresses != 1 {
		t.Errorf("mail to %d mailboxes", c.Addresses)
	}
}

func TestOnlyAMailAddressIsWrittenTo(t *testing.T) {
	t.Parallel()
	w := start(t, providers.SMTPConfig{})
	p := w.provider(Config{TLS: None})
	for _, bad := range []string{
		"", "ada", "ada@mail.example\r\nRCPT TO:<x@evil.example>", "a@b.example, c@d.example", "Ada <ada@mail.example>",
		"ada@mail.example>", "\"a b\"@mail.example", "ada\x00@mail.example",
	} {
		e := envelope()
		e.Address.To = bad
		if v := p.Send(t.Context(), e); v.Outcome != delivery.Refused {
			t.Errorf("%q: %+v", bad, v)
		}
	}
	if len(w.phones.Log()) != 0 {
		t.Error("it was sent")
	}
}

func TestEachCodeOfAMailServerMeansWhatItSays(t *testing.T) {
	t.Parallel()
	w := start(t, providers.SMTPConfig{})
	p := w.provider(Config{TLS: None})
	for _, c := range []struct {
		line string
		want delivery.Outcome
	}{
		{"550 5.1.1 no such user", delivery.AddressDead},
		{"550 5.1.10 null MX", delivery.AddressDead},
		{"550 5.2.1 mailbox disabled", delivery.AddressDead},
		{"550 no such user", delivery.Refused}, // the bare code says nothing of the mailbox
		{"550 5.7.1 policy, see 5.1.1", delivery.Refused},
		{"552 5.2.2 mailbox full", delivery.Refused},
		{"550 5.7.26 not authenticated", delivery.Refused},
		{"554 5.7.1 reputation", delivery.Refused},
		{"421 4.3.2 going down", delivery.Retry},
		{"450 4.2.1 busy", delivery.Retry},
		{"451 4.7.1 greylisted", delivery.Retry},
		{"452 4.2.2 mailbox full", delivery.Retry},
		{"530 5.7.0 log in", delivery.Misconfigured},
	} {
		for _, late := range []bool{false, true} {
			a := providers.MailCode(c.line)
			a.Late = late
			w.fake.Next(to, a)
			v := p.Send(t.Context(), envelope())
			if v.Outcome != c.want || strings.Contains(v.Reason, "user") || !strings.HasPrefix(c.line, v.Reason) {
				t.Errorf("%s (late %v): %+v, want %s", c.line, late, v, c.want)
			}
			if v.Outcome == delivery.Retry && v.RetryAfter < time.Minute || v.Outcome == delivery.AddressDead && v.DeadSince.IsZero() {
				t.Errorf("%s: %+v", c.line, v)
			}
		}
	}
	w.fake.Senders.Next("tickets@fanline.example", providers.MailCode("550 5.7.1 not your domain"))
	if v := p.Send(t.Context(), envelope()); v.Outcome != delivery.Misconfigured {
		t.Errorf("our sender refused: %+v", v)
	}
	if v := p.Send(t.Context(), envelope()); v.Outcome != delivery.Accepted {
		t.Errorf("after all that: %+v", v)
	}
}

func TestTheWaitBetweenAttemptsGrows(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int]time.Duration{0: time.Minute, 1: time.Minute, 2: 2 * time.Minute, 5: 16 * time.Minute, 6: 30 * time.Minute, 99: 30 * time.Minute} {
		if got := wait(attempt); got != want {
			t.Errorf("attempt %d: %v, want %v", attempt, got, want)
		}
	}
}

// The server has the message and answers after we left: a retry has the same Message-ID.
func TestASilenceAfterTheFinalDotIsUnsure(t *testing.T) {
	t.Parallel()
	w := start(t, providers.SMTPConfig{})
	p := w.provider(Config{TLS: None, Timeout: 200 * time.Millisecond})
	w.fake.Next(to, providers.Answer{Hang: true, Accept: true})
	if v := p.Send(t.Context(), envelope()); v.Outcome != delivery.Unsure {
		t.Fatalf("%+v", v)
	}
	if v := p.Send(t.Context(), envelope()); v.Outcome != delivery.Accepted {
		t.Fatalf("%+v", v)
	}
	if n, shown := w.phones.Accepted(providers.ChannelEmail, to), w.phones.Shown(providers.ChannelEmail, to); n != 2 || shown != 1 {
		t.Errorf("taken %d times, shown %d", n, shown)
	}
}

func TestASilenceBeforeTheMessageIsNotUnsure(t *testing.T) {
	t.Parallel()
	w := start(t, providers.SMTPConfig{})
	p := w.provider(Config{TLS: None, Timeout: 200 * time.Millisecond})
	w.fake.Senders.Next("", providers.Answer{Status: 250, Hang: true})
	if v := p.Send(t.Context(), envelope()); v.Outcome != delivery.Retry || v.Reason != "timeout" {
		t.Errorf("%+v", v)
	}
	w.fake.Close()
	if v := p.Send(t.Context(), envelope()); v.Outcome != delivery.Retry || v.Reason != "connection refused" {
		t.Errorf("%+v", v)
	}
}

func TestConnectionsAreUsedAgainAndBounded(t *testing.T) {
	t.Parallel()
	w := start(t, providers.SMTPConfig{})
	p := w.provider(Config{TLS: None})
	for range 10 {
		p.Send(t.Context(), envelope())
	}
	if n := w.fake.Connections(); n != 1 {
		t.Errorf("%d connections for 10 mails in a row", n)
	}
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if v := p.Send(t.Context(), envelope()); v.Outcome != delivery.Accepted {
				t.Errorf("%+v", v)
			}
		})
	}
	wg.Wait()
	if idle := len(p.pool.conns); idle > mostIdle {
		t.Errorf("%d connections are kept", idle)
	}
}

func TestAConnectionThatTheServerEndedIsReplaced(t *testing.T) {
	t.Parallel()
	w := start(t, providers.SMTPConfig{})
	p := w.provider(Config{TLS: None})
	p.Send(t.Context(), envelope())
	w.fake.Drop()
	if v := p.Send(t.Context(), envelope()); v.Outcome != delivery.Accepted || w.fake.Connections() != 2 {
		t.Errorf("%+v over %d connections", v, w.fake.Connections())
	}
	w.fake.Senders.Next("", providers.MailCode("421 4.4.2 idle for too long"))
	if v := p.Send(t.Context(), envelope()); v.Outcome != delivery.Accepted || w.fake.Connections() != 3 {
		t.Errorf("%+v over %d connections", v, w.fake.Connections())
	}
}

func TestWithoutTheTLSAskedForNothingIsSent(t *testing.T) {
	t.Parallel()
	clear, sealed := start(t, providers.SMTPConfig{}), start(t, providers.SMTPConfig{TLS: true})
	for _, c := range []struct {
		w    *world
		tls  TLS
		want delivery.Outcome
	}{
		{clear, Mandatory, delivery.Misconfigured},
		{clear, "", delivery.Misconfigured},
		{clear, Opportunistic, delivery.Accepted},
		{clear, None, delivery.Accepted},
		{sealed, Mandatory, delivery.Misconfigured}, // nobody vouches for its certificate
		{sealed, Opportunistic, delivery.Misconfigured},
		{sealed, None, delivery.Accepted},
	} {
		before := len(c.w.phones.Log())
		v := c.w.provider(Config{TLS: c.tls}).Send(t.Context(), envelope())
		if sent := len(c.w.phones.Log()) > before; v.Outcome != c.want || sent != (c.want == delivery.Accepted) {
			t.Errorf("%q: %+v, sent %v", c.tls, v, sent)
		}
	}
}

func TestTheLoginIsChecked(t *testing.T) {
	t.Parallel()
	w := start(t, providers.SMTPConfig{User: "fanline", Password: "secret"})
	for _, c := range []struct {
		user, password string
		want           delivery.Outcome
	}{{"fanline", "secret", delivery.Accepted}, {"fanline", "wrong", delivery.Misconfigured}, {"", "", delivery.Misconfigured}} {
		v := w.provider(Config{TLS: None, User: c.user, Password: c.password}).Send(t.Context(), envelope())
		if v.Outcome != c.want || strings.Contains(v.Reason, "wrong") {
			t.Errorf("%s: %+v", c.user, v)
		}
	}
}

func TestAWrongConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	good := Config{Addr: "smtp.example.com:587", From: sender}
	for field, change := range map[string]func(*Config){
		"Addr": func(c *Config) { c.Addr = "smtp.example.com" },
		"From": func(c *Config) { c.From = "tickets" },
		"TLS":  func(c *Config) { c.TLS = "maybe" },
		"User": func(c *Config) { c.Password = "secret" },
	} {
		c := good
		change(&c)
		_, err := New(c)
		if e := (*delivery.SettingError)(nil); !errors.As(err, &e) || e.Field != field || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestMailGoesOverTLSWithALogin(t *testing.T) {
	t.Parallel()
	w := start(t, providers.SMTPConfig{TLS: true, User: "fanline", Password: "secret"})
	p := w.provider(Config{User: "fanline", Password: "secret"})
	// The fake's certificate is its own.
	if err := p.pool.client.SetTLSConfig(&tls.Config{InsecureSkipVerify: true}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if v := p.Send(t.Context(), envelope()); v.Outcome != delivery.Accepted || w.fake.Connections() != 1 {
			t.Errorf("%+v over %d connections", v, w.fake.Connections())
		}
	}
}
