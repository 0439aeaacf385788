package webpush

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fanline/delivery"
	"fanline/delivery/sendtest"
	"fanline/notifier"
	"fanline/sim/providers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func envelope(s providers.Subscription) *delivery.Envelope {
	return sendtest.Envelope(delivery.Address{Channel: notifier.WebPush, To: s.Endpoint, P256dh: s.P256dh, Auth: s.Auth})
}

type world struct {
	t      *testing.T
	fake   *providers.WebPush
	phones *providers.Phones
	p      *Provider
	cfg    Config
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, phones: providers.NewPhones(providers.PhonesConfig{})}
	fake, err := providers.StartWebPush(providers.WebPushConfig{Phones: w.phones})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	w.fake = fake
	public, private, err := Keys()
	if err != nil {
		t.Fatal(err)
	}
	w.cfg = Config{PublicKey: public, PrivateKey: private, Subject: "mailto:ops@fanline.example", AllowLoopback: true}
	w.p = w.provider(w.cfg)
	return w
}

func (w *world) provider(cfg Config) *Provider {
	w.t.Helper()
	return sendtest.Opened(New(cfg))(w.t)
}

func (w *world) subscribe(name, key string) providers.Subscription {
	w.t.Helper()
	s, err := w.fake.Subscribe(name, key)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestABrowserReadsWhatWasEncryptedForIt(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.subscribe("ada", w.cfg.PublicKey)
	e := envelope(s)
	v := w.p.Send(t.Context(), e)
	if v.Outcome != delivery.Accepted || v.ID == "" {
		t.Fatalf("%+v", v)
	}
	got := w.phones.Of(providers.ChannelWebPush, s.Endpoint)[0]
	if got.Title != "Your turn" || got.ItemID != e.Item.ID || got.URL != e.URL || got.Expires.Sub(e.Expires).Abs() > 5*time.Second {
		t.Errorf("%+v", got)
	}
	if want := base64.RawURLEncoding.EncodeToString(e.Key[:]); got.Key != want || len(want) > 32 {
		t.Errorf("topic %q, want %q", got.Key, want)
	}
}

func TestEachStatusOfAPushServiceMeansWhatTheRFCSays(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.subscribe("ada", "")
	for _, c := range []struct {
		answer providers.Answer
		want   delivery.Outcome
		wait   time.Duration
	}{
		{providers.Answer{Status: 401}, delivery.Misconfigured, 0},
		{providers.Answer{Status: 403}, delivery.Misconfigured, 0},
		{providers.Answer{Status: 404}, delivery.AddressDead, 0},
		{providers.Answer{Status: 410}, delivery.AddressDead, 0},
		{providers.Answer{Status: 400}, delivery.Refused, 0},
		{providers.Answer{Status: 413}, delivery.Refused, 0},
		{providers.Answer{Status: 307}, delivery.Refused, 0},
		{providers.Answer{Status: 429, RetryAfter: "20"}, delivery.Throttled, 20 * time.Second},
		{providers.Answer{Status: 429}, delivery.Throttled, 30 * time.Second},
		{providers.Answer{Status: 500}, delivery.Unsure, 10 * time.Second},
		{providers.Answer{Status: 503, RetryAfter: "5"}, delivery.Unsure, 5 * time.Second},
	} {
		w.fake.Next(s.Endpoint, c.answer)
		began := time.Now()
		v := w.p.Send(t.Context(), envelope(s))
		if v.Outcome != c.want || v.RetryAfter != c.wait || v.Sender != w.fake.URL() {
			t.Errorf("%d: %+v, want %s", c.answer.Status, v, c.want)
		}
		if v.Outcome == delivery.AddressDead && v.DeadSince.Before(began) {
			t.Errorf("%d: dead since %v", c.answer.Status, v.DeadSince)
		}
	}
}

// The service takes our key from others: this subscription was made with another one.
func TestASubscriptionForAnotherKeyStopsNobodyElse(t *testing.T) {
	t.Parallel()
	w := start(t)
	ours, theirs := w.subscribe("ada", w.cfg.PublicKey), w.subscribe("ben", "B"+strings.Repeat("A", 86))
	if v := w.p.Send(t.Context(), envelope(theirs)); v.Outcome != delivery.Misconfigured {
		t.Errorf("the first answer: %+v", v)
	}
	if v := w.p.Send(t.Context(), envelope(ours)); v.Outcome != delivery.Accepted {
		t.Errorf("%+v", v)
	}
	if v := w.p.Send(t.Context(), envelope(theirs)); v.Outcome != delivery.Refused {
		t.Errorf("after another was taken: %+v", v)
	}
}

func TestAnUnknownServiceSpeaksForItsSubscriptionAlone(t *testing.T) {
	t.Parallel()
	w := start(t)
	for origin, known := range map[string]bool{
		"https://fcm.googleapis.com": true, "https://updates.push.services.mozilla.com": true, "https://web.push.apple.com": true,
		"https://wns2-by3p.notify.windows.com": true, w.fake.URL(): true,
		"https://push.evil.example": false, "https://fcm.googleapis.com.evil.example": false, "https://evilpush.apple.com": false,
	} {
		if got := w.p.known(origin); got != known {
			t.Errorf("%s is known: %v", origin, got)
		}
	}
	s := w.subscribe("ada", "")
	w.p.cfg.AllowLoopback = false // now the fake is anybody's, though it can be called
	for _, status := range []int{429, 500, 503} {
		w.fake.Next(s.Endpoint, providers.Answer{Status: status})
		if v := w.p.Send(t.Context(), envelope(s)); v.Outcome != delivery.AddressThrottled {
			t.Errorf("%d of an unknown service: %+v", status, v)
		}
	}
	w.fake.Close()
	if v := w.p.Send(t.Context(), envelope(s)); v.Outcome != delivery.AddressThrottled || v.RetryAfter != busyWait {
		t.Errorf("an unknown service that is not there: %+v", v)
	}
}

func TestAnEndpointOnThisMachineOrInClearIsNotCalled(t *testing.T) {
	t.Parallel()
	w := start(t)
	called := false
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	defer s.Close()
	w.cfg.AllowLoopback = false
	p := w.provider(w.cfg)
	sub := w.subscribe("ada", "")
	for _, endpoint := range []string{
		sub.Endpoint, s.URL + "/push", strings.Replace(s.URL, "127.0.0.1", "localhost", 1), "http://push.example/a",
		"https://10.0.0.1/a", "https://169.254.169.254/latest", "https://[fd00::1]/", "javascript:alert(1)", "",
	} {
		sub.Endpoint = endpoint
		if v := p.Send(t.Context(), envelope(sub)); v.Outcome != delivery.Refused || v.Reason != "endpoint not allowed" {
			t.Errorf("%s: %+v", endpoint, v)
		}
	}
	if called || len(w.phones.Log()) != 0 {
		t.Error("it was called")
	}
}

func TestKeysThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	w := start(t)
	good := w.subscribe("ada", "")
	for _, bad := range []providers.Subscription{
		{Endpoint: good.Endpoint},
		{Endpoint: good.Endpoint, P256dh: "####", Auth: good.Auth},
		{Endpoint: good.Endpoint, P256dh: good.Auth, Auth: good.Auth},
	} {
		if v := w.p.Send(t.Context(), envelope(bad)); v.Outcome != delivery.Refused {
			t.Errorf("%+v", v)
		}
	}
}

func TestASilenceAfterItWasTakenIsUnsureAndShownOnce(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.cfg.Timeout = 200 * time.Millisecond
	p := w.provider(w.cfg)
	s := w.subscribe("ada", "")
	w.fake.Next(s.Endpoint, providers.Answer{Hang: true, Accept: true})
	if v := p.Send(t.Context(), envelope(s)); v.Outcome != delivery.Unsure {
		t.Errorf("%+v", v)
	}
	w.p.Send(t.Context(), envelope(s))
	if n, shown := w.phones.Accepted(providers.ChannelWebPush, s.Endpoint), w.phones.Shown(providers.ChannelWebPush, s.Endpoint); n != 2 || shown != 1 {
		t.Errorf("taken %d times, shown %d", n, shown)
	}
}

func TestALongTextStillFitsAndKeepsItsIDs(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.subscribe("ada", "")
	e := envelope(s)
	e.Item.Title, e.Item.Body = strings.Repeat("مرحبا", 2000), strings.Repeat("\U0001F469\u200D\U0001F467\"", 3000)
	if v := w.p.Send(t.Context(), e); v.Outcome != delivery.Accepted {
		t.Fatalf("%+v", v)
	}
	if got := w.phones.Log()[0]; got.ItemID != e.Item.ID || got.URL != e.URL || got.Body == "" || len(got.Payload) < 3900 {
		t.Errorf("%d bytes: %+v", len(got.Payload), got)
	}
}

func TestAWrongConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	w := start(t)
	other, _, _ := Keys()
	for field, change := range map[string]func(*Config){
		"PublicKey":  func(c *Config) { c.PublicKey = other },
		"PrivateKey": func(c *Config) { c.PrivateKey = "secret" },
		"Subject":    func(c *Config) { c.Subject = "ops" },
	} {
		c := w.cfg
		change(&c)
		_, err := New(c)
		if e := (*delivery.SettingError)(nil); !errors.As(err, &e) || e.Field != field || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
