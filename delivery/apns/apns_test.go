package apns

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"fanline/delivery"
	"fanline/delivery/sendtest"
	"fanline/notifier"
	"fanline/sim/providers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func envelope(token string) *delivery.Envelope {
	return sendtest.Envelope(delivery.Address{Channel: notifier.APNs, To: token})
}

func start(t *testing.T) (*providers.APNs, *providers.Phones, *Provider) {
	t.Helper()
	phones := providers.NewPhones(providers.PhonesConfig{})
	fake, err := providers.StartAPNs(providers.APNsConfig{Phones: phones})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	return fake, phones, newProvider(t, fake, Config{})
}

func newProvider(t *testing.T, fake *providers.APNs, cfg Config) *Provider {
	t.Helper()
	cfg.URL, cfg.Key, cfg.KeyID, cfg.TeamID, cfg.Topic = fake.URL(), fake.Key(), providers.APNsKeyID, providers.APNsTeamID, providers.APNsTopic
	return sendtest.Opened(New(cfg))(t)
}

func TestAnAcceptedAlertHasItsKeyTimeAndIDs(t *testing.T) {
	t.Parallel()
	_, phones, p := start(t)
	e := envelope("tok-1")
	v := p.Send(t.Context(), e)
	if v.Outcome != delivery.Accepted || v.ID != uuid(e.Key) {
		t.Fatalf("%+v", v)
	}
	got := phones.Of(providers.ChannelAPNs, "tok-1")[0]
	if got.Key != e.Key.String() || got.ItemID != e.Item.ID || got.Title != "Your turn" || got.URL != e.URL || got.Expires.Unix() != e.Expires.Unix() {
		t.Errorf("%+v", got)
	}
}

func TestEachAnswerOfAPNsMeansWhatAppleSays(t *testing.T) {
	t.Parallel()
	fake, phones, p := start(t)
	for _, c := range []struct {
		status int
		reason string
		want   delivery.Outcome
	}{
		{400, "BadDeviceToken", delivery.OtherEnvironment},
		{400, "DeviceTokenNotForTopic", delivery.Refused},
		{400, "BadCollapseId", delivery.Misconfigured},
		{400, "BadExpirationDate", delivery.Misconfigured},
		{400, "BadMessageId", delivery.Misconfigured},
		{400, "BadPriority", delivery.Misconfigured},
		{400, "BadTopic", delivery.Misconfigured},
		{400, "DuplicateHeaders", delivery.Misconfigured},
		{400, "InvalidPushType", delivery.Misconfigured},
		{400, "MissingTopic", delivery.Misconfigured},
		{400, "MissingDeviceToken", delivery.Misconfigured},
		{400, "PayloadEmpty", delivery.Misconfigured},
		{400, "TopicDisallowed", delivery.Misconfigured},
		{400, "IdleTimeout", delivery.Retry},
		{403, "InvalidProviderToken", delivery.Misconfigured},
		{403, "MissingProviderToken", delivery.Misconfigured},
		{403, "BadCertificate", delivery.Misconfigured},
		{403, "BadCertificateEnvironment", delivery.Misconfigured},
		{403, "BadEnvironmentKeyIdInToken", delivery.Misconfigured},
		{403, "Forbidden", delivery.Misconfigured},
		{404, "BadPath", delivery.Misconfigured},
		{405, "MethodNotAllowed", delivery.Misconfigured},
		{410, "Unregistered", delivery.AddressDead},
		{410, "ExpiredToken", delivery.AddressDead},
		{413, "PayloadTooLarge", delivery.Refused},
		{429, "TooManyRequests", delivery.AddressThrottled},
		{429, "TooManyProviderTokenUpdates", delivery.Retry},
		{500, "InternalServerError", delivery.Unsure},
		{503, "ServiceUnavailable", delivery.Unsure},
		{503, "Shutdown", delivery.Unsure},
		{418, "", delivery.Misconfigured},
		{502, "", delivery.Unsure},
	} {
		name := "tok-" + c.reason
		fake.Always(name, providers.Answer{Status: c.status, Reason: c.reason})
		v := p.Send(t.Context(), envelope(name))
		if v.Outcome != c.want || !strings.Contains(v.Reason, c.reason) || strings.Contains(v.Reason, "tok-") {
			t.Errorf("%d %s: %+v, want %s", c.status, c.reason, v, c.want)
		}
		if c.status >= 500 && v.RetryAfter != 15*time.Minute {
			t.Errorf("%d: again after %v", c.status, v.RetryAfter)
		}
		if c.status == 429 && v.RetryAfter == 0 {
			t.Errorf("%s: again at once", c.reason)
		}
	}
	if v := p.Send(t.Context(), envelope("tok-fine")); v.Outcome != delivery.Accepted || phones.Shown(providers.ChannelAPNs, "tok-fine") != 1 {
		t.Errorf("after all that: %+v", v)
	}
}

func TestATokenIsDeadSinceTheMillisecondAPNsNames(t *testing.T) {
	t.Parallel()
	fake, _, p := start(t)
	since := time.Date(2026, 5, 6, 7, 8, 9, 123_000_000, time.UTC)
	fake.Next("tok", providers.Answer{Status: 410, Reason: "Unregistered", Since: since})
	if v := p.Send(t.Context(), envelope("tok")); v.Outcome != delivery.AddressDead || !v.DeadSince.Equal(since) {
		t.Errorf("%+v", v)
	}
}

func TestATopicOfTheDeviceIsUsedAndIsItsOwnTrouble(t *testing.T) {
	t.Parallel()
	fake, _, p := start(t)
	e := envelope("tok")
	e.Address.Topic = "example.other"
	fake.Next("tok", providers.Answer{Status: 400, Reason: "TopicDisallowed"})
	if v := p.Send(t.Context(), e); v.Outcome != delivery.Refused {
		t.Errorf("%+v", v)
	}
}

func TestADeviceOfTheSandboxIsReachedThere(t *testing.T) {
	t.Parallel()
	fake, phones, _ := start(t)
	sandboxPhones := providers.NewPhones(providers.PhonesConfig{})
	sandbox, err := providers.StartAPNs(providers.APNsConfig{Phones: sandboxPhones})
	if err != nil {
		t.Fatal(err)
	}
	defer sandbox.Close()
	p := newProvider(t, fake, Config{SandboxURL: sandbox.URL()})
	e := envelope("tok")
	e.Address.Environment = "sandbox"
	p.Send(t.Context(), e) // its key is not known there, but it comes there
	if len(sandboxPhones.Log()) != 1 || len(phones.Log()) != 0 {
		t.Errorf("sandbox %d, production %d", len(sandboxPhones.Log()), len(phones.Log()))
	}
	if (Config{}).withDefaults().SandboxURL != Sandbox {
		t.Error("Apple's sandbox is not the default")
	}
}

// A 503 or a silence after it was taken: the retry has the same key, the phone shows one.
func TestARetryOfWhatWasTakenShowsOnce(t *testing.T) {
	t.Parallel()
	fake, phones, _ := start(t)
	p := newProvider(t, fake, Config{Timeout: 100 * time.Millisecond})
	fake.Next("tok", providers.Answer{Status: 503, Reason: "Shutdown", Accept: true}, providers.Answer{Hang: true, Accept: true})
	for i, want := range []delivery.Outcome{delivery.Unsure, delivery.Unsure, delivery.Accepted} {
		if v := p.Send(t.Context(), envelope("tok")); v.Outcome != want {
			t.Errorf("attempt %d: %+v, want %s", i+1, v, want)
		}
	}
	if n, shown := phones.Accepted(providers.ChannelAPNs, "tok"), phones.Shown(providers.ChannelAPNs, "tok"); n != 3 || shown != 1 {
		t.Errorf("taken %d times, shown %d", n, shown)
	}
}

func TestNobodyThereWasNotSent(t *testing.T) {
	t.Parallel()
	fake, _, p := start(t)
	fake.Close()
	if v := p.Send(t.Context(), envelope("tok")); v.Outcome != delivery.Retry || strings.Contains(v.Reason, "127.0.0.1") {
		t.Errorf("%+v", v)
	}
}

func TestAnExpiredProviderTokenIsReplacedOnceAndTheSendRepeatedOnce(t *testing.T) {
	t.Parallel()
	fake, phones, p := start(t)
	fake.Next("tok", providers.Answer{Status: 403, Reason: "ExpiredProviderToken"})
	first, _ := p.signer.token()
	p.Send(t.Context(), envelope("tok"))
	if second, _ := p.signer.token(); first == second {
		t.Error("the token was not replaced")
	}
	if n := len(phones.Of(providers.ChannelAPNs, "tok")); n != 2 {
		t.Errorf("%d sends, want 2", n)
	}
	fake.Always("", providers.Answer{Status: 403, Reason: "ExpiredProviderToken"})
	second, _ := p.signer.token()
	if v := p.Send(t.Context(), envelope("tok2")); v.Outcome != delivery.Misconfigured {
		t.Errorf("%+v", v)
	}
	if third, _ := p.signer.token(); third != second {
		t.Error("a second token in 20 minutes was signed for APNs' asking")
	}
}

func TestUnrelatedKeyIDTakesANewConnection(t *testing.T) {
	t.Parallel()
	fake, phones, p := start(t)
	fake.Next("tok", providers.Answer{Status: 403, Reason: "UnrelatedKeyIdInToken"})
	before := p.lines["production"].current()
	if v := p.Send(t.Context(), envelope("tok")); v.Outcome != delivery.Accepted {
		t.Errorf("%+v", v)
	}
	if p.lines["production"].current() == before || len(phones.Of(providers.ChannelAPNs, "tok")) != 2 {
		t.Error("it was not sent again on another connection")
	}
}

func TestOneRequestUntilTheFirstTokenIsAccepted(t *testing.T) {
	t.Parallel()
	fake, phones, p := start(t)
	fake.Next("", providers.Answer{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { p.Send(ctx, envelope("tok")) })
	}
	if _, err := phones.Wait(t.Context(), func(providers.Got) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if n := len(phones.Log()); n != 1 {
		t.Errorf("%d requests under way before the first was answered", n)
	}
	cancel()
	wg.Wait()
}

// away is a transport that answers 200, or an error, and notes the tokens.
type away struct {
	mu     sync.Mutex
	tokens []string
	err    error
}

func (a *away) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if token := r.Header.Get("authorization"); len(a.tokens) == 0 || a.tokens[len(a.tokens)-1] != token {
		a.tokens = append(a.tokens, token)
	}
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("")), Header: http.Header{}}, nil
}

// 100 goroutines and 3 topics for two hours: one token at a time, none younger than
// 20 minutes when it is replaced and none older than 60 when it is used.
func TestAllShareOneProviderTokenOfTheRightAge(t *testing.T) {
	t.Parallel()
	fake, _, _ := start(t)
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Config{URL: fake.URL(), Key: fake.Key(), KeyID: "KEY", TeamID: "TEAM", Topic: "a"})
		if err != nil {
			t.Fatal(err)
		}
		world := &away{}
		p.lines["production"].link.client.Transport = world
		began := time.Now()
		changes := []time.Duration{}
		for time.Since(began) < 2*time.Hour {
			before := len(world.tokens)
			var wg sync.WaitGroup
			for i := range 100 {
				wg.Go(func() {
					e := envelope("tok")
					e.Address.Topic = []string{"a", "b", "c"}[i%3]
					if v := p.Send(t.Context(), e); v.Outcome != delivery.Accepted {
						t.Errorf("%+v", v)
					}
				})
			}
			wg.Wait()
			if n := len(world.tokens); n > before {
				changes = append(changes, time.Since(began))
				if n-before > 1 {
					t.Errorf("%d tokens at once", n-before)
				}
			}
			time.Sleep(time.Minute)
		}
		for i, at := range changes[1:] {
			if age := at - changes[i]; age < 20*time.Minute || age > 60*time.Minute {
				t.Errorf("a token was used for %v", age)
			}
		}
		if len(changes) < 2 {
			t.Errorf("%d tokens in two hours", len(changes))
		}
	})
}

func TestTooManyTokenUpdatesKeepsTheOldOne(t *testing.T) {
	t.Parallel()
	fake, _, _ := start(t)
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Config{URL: fake.URL(), Key: fake.Key(), KeyID: "KEY", TeamID: "TEAM", Topic: "a"})
		if err != nil {
			t.Fatal(err)
		}
		first, _ := p.signer.token()
		if p.signer.goBack(first) {
			t.Error("there is none to go back to")
		}
		if again, _ := p.signer.token(); again != first {
			t.Error("a new one was signed")
		}
		time.Sleep(41 * time.Minute)
		second, _ := p.signer.token()
		if second == first {
			t.Fatal("not renewed")
		}
		if !p.signer.goBack(second) {
			t.Error("there is one to go back to")
		}
		if back, _ := p.signer.token(); back != first {
			t.Error("the old one is not used again")
		}
		time.Sleep(19 * time.Minute)
		if third, _ := p.signer.token(); third == first {
			t.Error("an hour old and still used")
		}
	})
}

// The text is that of net/http's error, which has no type to look at.
func TestAReasonInAGoAwayIsRead(t *testing.T) {
	t.Parallel()
	_, _, p := start(t)
	for reason, want := range map[string]delivery.Outcome{"Shutdown": delivery.Retry, "Forbidden": delivery.Misconfigured} {
		debug, _ := json.Marshal(`{"reason":"` + reason + `"}`)
		text := "http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR, debug=" + string(debug)
		p.lines["production"].link.client.Transport = &away{err: errors.New(text)}
		v := p.Send(t.Context(), envelope("tok"))
		if v.Outcome != want || v.Reason != "GOAWAY "+reason {
			t.Errorf("%s: %+v", reason, v)
		}
		p.lines["production"].link = newLink(p.lines["production"].base)
	}
}

func TestALongTextStillFitsAndKeepsItsIDs(t *testing.T) {
	t.Parallel()
	_, phones, p := start(t)
	e := envelope("tok")
	e.Item.Title = strings.Repeat("\U0001F469\u200D\U0001F469\u200D\U0001F467", 3000)
	e.Item.Body = strings.Repeat(`"مرحبا"`, 2000)
	if v := p.Send(t.Context(), e); v.Outcome != delivery.Accepted {
		t.Fatalf("%+v", v)
	}
	if got := phones.Log()[0]; len(got.Payload) > 4096 || got.ItemID != e.Item.ID || got.URL != e.URL || got.Title == "" {
		t.Errorf("%d bytes: %+v", len(got.Payload), got)
	}
}

func TestAWrongConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	fake, _, _ := start(t)
	good := Config{Key: fake.Key(), KeyID: "K", TeamID: "T", Topic: "t"}
	for field, c := range map[string]func(*Config){
		"URL":    func(c *Config) { c.URL = "api.push.apple.com" },
		"Key":    func(c *Config) { c.Key = "secret" },
		"KeyID":  func(c *Config) { c.KeyID = "" },
		"TeamID": func(c *Config) { c.TeamID = "a\r\nb" },
		"Topic":  func(c *Config) { c.Topic = "" },
	} {
		bad := good
		c(&bad)
		_, err := New(bad)
		if e := (*delivery.SettingError)(nil); !errors.As(err, &e) || e.Field != field || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
