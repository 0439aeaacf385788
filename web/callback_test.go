package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/delivery/callback"
	"fanline/delivery/twilio"
	"fanline/delivery/webhook"
	"fanline/notifier"
	"fanline/sim/providers"
)

func (f *fakeStore) Take(ctx context.Context, service string, c *delivery.Call) error {
	return f.on(ctx, "Take", service, c)
}

// heardStore keeps what was told, as the database would: once.
type heardStore struct {
	mu      sync.Mutex
	nonces  map[string]string
	reports []delivery.Report
	wishes  []delivery.Wish
}

func (h *heardStore) Tell(_ context.Context, t *delivery.Told) (delivery.Heard, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if body, ok := h.nonces[t.Nonce]; ok && t.Nonce != "" {
		if body != string(t.Body) {
			return delivery.Heard{}, delivery.ErrNotGenuine
		}
		return delivery.Heard{}, nil
	}
	h.nonces[t.Nonce] = string(t.Body)
	if t.Report != nil {
		h.reports = append(h.reports, *t.Report)
	}
	if t.Wish != nil {
		h.wishes = append(h.wishes, *t.Wish)
	}
	return delivery.Heard{Found: true, News: true}, nil
}

func (*heardStore) TellEarly(context.Context, int) ([]delivery.Heard, error) { return nil, nil }

func (*heardStore) ReportCounts(context.Context) (map[notifier.Channel]delivery.ReportCounts, error) {
	return nil, nil
}

func (h *heardStore) heard() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.reports) + len(h.wishes)
}

type atNoon struct{}

func (atNoon) Now() time.Time { return noon }

const (
	publicURL   = "https://tickets.example.com"
	emailSecret = "secret-of-mail"
	pushSecret  = "secret-of-push"
	goodKey     = "8f14e45fceea167a5a36dedd4bea2543"
)

// newCallbackRig is a server that believes services, and what they told it.
func newCallbackRig(t *testing.T) (*rig, *heardStore) {
	t.Helper()
	heard := &heardStore{nonces: map[string]string{}}
	calls, err := twilio.NewCalls(twilio.Config{
		AccountSID: providers.TwilioSID, AuthToken: providers.TwilioToken, From: providers.TwilioFrom, Callback: publicURL + "/v1/callbacks/twilio",
	})
	if err != nil {
		t.Fatal(err)
	}
	feedback, err := delivery.NewFeedback(delivery.FeedbackConfig{
		Store: heard, Retire: delivery.NewRetireGuard(slog.New(slog.DiscardHandler)), Clock: atNoon{},
		Slow: func(context.Context, notifier.Channel, time.Duration) {},
		Readers: map[string]delivery.CallReader{
			"twilio": calls, "email": &callback.Email{Secret: []byte(emailSecret)}, "push": &callback.Push{Secret: []byte(pushSecret)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return newRig(t, func(c *Config) { c.Callbacks = feedback }), heard
}

// twilioCall is a genuine call, as it comes behind a proxy that ends TLS: to another
// host, in clear.
func twilioCall(form url.Values, query string) *http.Request {
	r := httptest.NewRequest("POST", "http://10.0.0.7:8080/v1/callbacks/twilio"+query, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Twilio-Signature", providers.Sign(providers.TwilioToken, publicURL+"/v1/callbacks/twilio"+query, form))
	return r
}

func delivered() url.Values {
	return providers.StatusForm("SM0123456789abcdef", "delivered", "+12025550100", providers.TwilioFrom, 0)
}

func TestATwilioCallThatCameThroughAProxyIsBelieved(t *testing.T) {
	t.Parallel()
	r, heard := newCallbackRig(t)
	calls := []*http.Request{
		twilioCall(delivered(), ""), twilioCall(delivered(), "?a=1&b=%20x"),
		twilioCall(providers.InboundForm("SM1", "+12025550100", providers.TwilioFrom, "stop"), ""),
	}
	for _, proxied := range []map[string]string{
		{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "tickets.example.com", "X-Forwarded-For": "203.0.113.9"},
		{"X-Forwarded-Proto": "http", "X-Forwarded-Host": "elsewhere.example", "Forwarded": "host=elsewhere.example;proto=http"},
	} {
		c := twilioCall(delivered(), "")
		for name, v := range proxied {
			c.Header.Set(name, v)
		}
		calls = append(calls, c)
	}
	for i, c := range calls {
		if w := r.send(c); w.Code != http.StatusNoContent || w.Body.Len() != 0 {
			t.Errorf("call %d: %d %s", i, w.Code, w.Body)
		}
	}
	if n := heard.heard(); n != len(calls) {
		t.Errorf("%d of %d were heard", n, len(calls))
	}
}

func TestAForgedTwilioCallChangesNothing(t *testing.T) {
	t.Parallel()
	r, heard := newCallbackRig(t)
	stop := func() *http.Request {
		return twilioCall(providers.InboundForm("SM1", "+12025550100", providers.TwilioFrom, "STOP"), "")
	}
	body := func(c *http.Request, s string) *http.Request {
		forged := httptest.NewRequest("POST", c.URL.String(), strings.NewReader(s))
		forged.Header = c.Header
		return forged
	}
	signedFor := func(address string) *http.Request {
		c := twilioCall(delivered(), "")
		c.Header.Set("X-Twilio-Signature", providers.Sign(providers.TwilioToken, address, delivered()))
		return c
	}
	spoofed := signedFor("https://evil.example/v1/callbacks/twilio")
	spoofed.Host = "evil.example"
	spoofed.Header.Set("X-Forwarded-Host", "evil.example")
	spoofed.Header.Set("X-Forwarded-Proto", "https")
	other := delivered()
	other.Set("AccountSid", "AC_another")
	changed := delivered()
	changed.Set("To", "+12025550199")
	more := delivered()
	more.Set("Extra", "1")
	twice := twilioCall(delivered(), "")
	twice.Header.Add("X-Twilio-Signature", "x")
	for name, c := range map[string]*http.Request{
		"no signature":        func() *http.Request { c := stop(); c.Header.Del("X-Twilio-Signature"); return c }(),
		"an empty one":        func() *http.Request { c := stop(); c.Header.Set("X-Twilio-Signature", ""); return c }(),
		"two":                 twice,
		"a changed parameter": body(stop(), changed.Encode()),
		"one more":            body(twilioCall(delivered(), ""), more.Encode()),
		"an empty body":       body(stop(), ""),
		"a body that is none": body(stop(), "%zz"),
		"another query":       func() *http.Request { c := stop(); c.URL.RawQuery = "a=1"; return c }(),
		"a spoofed host":      spoofed,
		"in clear":            signedFor("http://tickets.example.com/v1/callbacks/twilio"),
		"another token": func() *http.Request {
			c := stop()
			c.Header.Set("X-Twilio-Signature", providers.Sign("x", publicURL+"/v1/callbacks/twilio", delivered()))
			return c
		}(),
		"another account":      twilioCall(other, ""),
		"JSON without a hash":  func() *http.Request { c := stop(); c.Header.Set("Content-Type", "application/json"); return c }(),
		"a hash of other JSON": twilioCall(url.Values{}, "?bodySHA256=00"),
	} {
		if w := r.send(c); w.Code != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		} else {
			w.problem(http.StatusForbidden, "forbidden", "")
		}
	}
	if n := heard.heard(); n != 0 {
		t.Errorf("%d were heard", n)
	}
}

// signedCall is a call in Fanline's own form.
func signedCall(service, secret, id, body string, at time.Time) *http.Request {
	r := httptest.NewRequest("POST", "/v1/callbacks/"+service, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	r.Header.Set("Webhook-Signature", webhook.Sign([]byte(secret), id, at, []byte(body)))
	return r
}

const (
	goodEmail = `{"event":"delivered","message_id":"<` + goodKey + `@tickets.example.com>"}`
	goodPush  = `{"event":"opened","delivery":"` + goodKey + `"}`
)

func TestASignedCallIsBelievedForFiveMinutesAndOnce(t *testing.T) {
	t.Parallel()
	for service, c := range map[string]struct{ secret, other, good, twin string }{
		"email": {emailSecret, pushSecret, goodEmail, strings.Replace(goodEmail, "delivered", "complained", 1)},
		"push":  {pushSecret, emailSecret, goodPush, strings.Replace(goodPush, "opened", "delivered", 1)},
	} {
		r, heard := newCallbackRig(t)
		want := func(what string, status int, req *http.Request, times int) {
			t.Helper()
			if w := r.send(req); w.Code != status {
				t.Errorf("%s, %s: %d %s, want %d", service, what, w.Code, w.Body, status)
			}
			if n := heard.heard(); n != times {
				t.Errorf("%s, %s: %d were heard, want %d", service, what, n, times)
			}
		}
		without := func(name string) *http.Request {
			req := signedCall(service, c.secret, "id", c.good, noon)
			req.Header.Del(name)
			return req
		}
		set := func(name, v string) *http.Request {
			req := signedCall(service, c.secret, "id", c.good, noon)
			req.Header.Set(name, v)
			return req
		}
		for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
			want("without "+name, 403, without(name), 0)
			want("with an empty "+name, 403, set(name, ""), 0)
			want("with another "+name, 403, set(name, "1756728001"), 0)
		}
		want("6 minutes old", 403, signedCall(service, c.secret, "id", c.good, noon.Add(-6*time.Minute)), 0)
		want("of 6 minutes to come", 403, signedCall(service, c.secret, "id", c.good, noon.Add(6*time.Minute)), 0)
		want("of the end of time", 403, set("Webhook-Timestamp", "9223372036854775807"), 0)
		want("with another's secret", 403, signedCall(service, c.other, "id", c.good, noon), 0)
		want("with no secret", 403, signedCall(service, "", "id", c.good, noon), 0)
		want("4 minutes old", 204, signedCall(service, c.secret, "id", c.good, noon.Add(-4*time.Minute)), 1)
		want("again", 204, signedCall(service, c.secret, "id", c.good, noon.Add(-4*time.Minute)), 1)
		want("its id with another body", 403, signedCall(service, c.secret, "id", c.twin, noon), 1)
		rotated := signedCall(service, c.secret, "id-2", c.twin, noon)
		rotated.Header.Set("Webhook-Signature", "v1,AAAA "+rotated.Header.Get("Webhook-Signature"))
		want("with two signatures", 204, rotated, 2)
		want("garbage, but genuine", 422, signedCall(service, c.secret, "id-3", `{"event":"read"}`, noon), 2)
		want("too large", 413, signedCall(service, c.secret, "id-4", strings.Repeat(" ", 65<<10), noon), 2)
	}
}

func TestWithoutWhatItTakesNothingIsBelieved(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) { c.Callbacks = nil })
	empty, err := delivery.NewFeedback(delivery.FeedbackConfig{
		Store: &heardStore{}, Retire: delivery.NewRetireGuard(slog.New(slog.DiscardHandler)), Clock: atNoon{},
		Slow: func(context.Context, notifier.Channel, time.Duration) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*rig{r, newRig(t, func(c *Config) { c.Callbacks = empty })} {
		for _, req := range []*http.Request{
			twilioCall(delivered(), ""), signedCall("email", emailSecret, "id", goodEmail, noon), signedCall("push", pushSecret, "id", goodPush, noon),
		} {
			r.send(req).problem(http.StatusForbidden, "forbidden", "")
		}
	}
	if w := r.as("", "POST", "/v1/callbacks/other", "{}"); w.Code != http.StatusUnauthorized {
		t.Errorf("another path below: %d", w.Code)
	}
}

func TestACallbackThatCannotBeRecordedIsToComeAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.err = errors.New("secret inner text")
	w := r.send(signedCall("email", emailSecret, "id", goodEmail, noon))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
