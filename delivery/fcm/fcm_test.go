package fcm

import (
	"errors"
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

func envelope(token string) *delivery.Envelope {
	return sendtest.Envelope(delivery.Address{Channel: notifier.FCM, To: token})
}

func start(t *testing.T) (*providers.FCM, *providers.Phones, *Provider) {
	t.Helper()
	phones := providers.NewPhones(providers.PhonesConfig{})
	fake, err := providers.StartFCM(providers.FCMConfig{Phones: phones})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	return fake, phones, sendtest.Opened(New(Config{URL: fake.URL(), Credentials: fake.Credentials()}))(t)
}

func TestAnAcceptedMessageHasItsKeyTimeAndIDs(t *testing.T) {
	t.Parallel()
	_, phones, p := start(t)
	e := envelope("tok")
	v := p.Send(t.Context(), e)
	if v.Outcome != delivery.Accepted || !strings.HasPrefix(v.ID, "projects/"+providers.FCMProject+"/messages/") {
		t.Fatalf("%+v", v)
	}
	got := phones.Of(providers.ChannelFCM, "tok")[0]
	if got.Key != e.Key.String() || got.ItemID != e.Item.ID || got.URL != e.URL || got.Expires.Sub(e.Expires).Abs() > 5*time.Second {
		t.Errorf("%+v", got)
	}
}

const badToken = `{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[
	{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"},
	{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.token"}]}]}}`

const badPayload = `{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[
	{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"},
	{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.data"}]}]}}`

// Of all these answers two are about the token.
func TestEachAnswerOfFCMMeansWhatItsDetailsSay(t *testing.T) {
	t.Parallel()
	fake, _, p := start(t)
	for _, c := range []struct {
		name   string
		answer providers.Answer
		want   delivery.Outcome
		wait   time.Duration
	}{
		{"bad payload", providers.Answer{Status: 400, Reason: "INVALID_ARGUMENT"}, delivery.Refused, 0},
		{"another field", providers.Answer{Status: 400, Body: badPayload}, delivery.Refused, 0},
		{"bad token", providers.Answer{Status: 400, Body: badToken}, delivery.AddressDead, 0},
		{"unregistered", providers.Answer{Status: 404, Reason: "UNREGISTERED"}, delivery.AddressDead, 0},
		{"a bare 404", providers.Answer{Status: 404}, delivery.Misconfigured, 0},
		{"a 404 of a proxy", providers.Answer{Status: 404, Body: "<html>"}, delivery.Misconfigured, 0},
		{"sender mismatch", providers.Answer{Status: 403, Reason: "SENDER_ID_MISMATCH"}, delivery.OtherProject, 0},
		{"APNs key", providers.Answer{Status: 401, Reason: "THIRD_PARTY_AUTH_ERROR"}, delivery.Misconfigured, 0},
		{"quota", providers.Answer{Status: 429, Reason: "QUOTA_EXCEEDED"}, delivery.Throttled, 60 * time.Second},
		{"quota with a time", providers.Answer{Status: 429, Reason: "QUOTA_EXCEEDED", RetryAfter: "7"}, delivery.Throttled, 7 * time.Second},
		{"unavailable", providers.Answer{Status: 503, Reason: "UNAVAILABLE", RetryAfter: "30"}, delivery.Unsure, 30 * time.Second},
		{"internal", providers.Answer{Status: 500, Reason: "INTERNAL"}, delivery.Unsure, 10 * time.Second},
	} {
		fake.Next("tok", c.answer)
		began := time.Now()
		v := p.Send(t.Context(), envelope("tok"))
		if v.Outcome != c.want || v.RetryAfter != c.wait || strings.Contains(v.Reason, "tok") {
			t.Errorf("%s: %+v, want %s", c.name, v, c.want)
		}
		if dead := v.Outcome == delivery.AddressDead; dead == v.DeadSince.IsZero() || dead && v.DeadSince.Sub(began) > time.Second {
			t.Errorf("%s: dead since %v", c.name, v.DeadSince)
		}
	}
}

func TestARefusedOAuthTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	fake, phones, p := start(t)
	if v := p.Send(t.Context(), envelope("tok")); v.Outcome != delivery.Accepted {
		t.Fatalf("%+v", v)
	}
	fake.Revoke()
	if v := p.Send(t.Context(), envelope("tok")); v.Outcome != delivery.Accepted || fake.Issued() != 2 {
		t.Errorf("%+v, %d tokens", v, fake.Issued())
	}
	for _, status := range []int{401, 403} {
		before, sends := fake.Issued(), len(phones.Log())
		fake.Next("tok", providers.Answer{Status: status}, providers.Answer{Status: status})
		if v := p.Send(t.Context(), envelope("tok")); v.Outcome != delivery.Misconfigured {
			t.Errorf("%d: %+v", status, v)
		}
		if n, m := fake.Issued()-before, len(phones.Log())-sends; n != 1 || m != 2 {
			t.Errorf("%d: %d tokens and %d sends", status, n, m)
		}
	}
}

func TestOneFetchOfATokenServesAllWhoWait(t *testing.T) {
	t.Parallel()
	fake, _, p := start(t)
	fake.Tokens.Next("", providers.Answer{Delay: 50 * time.Millisecond})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if v := p.Send(t.Context(), envelope("tok")); v.Outcome != delivery.Accepted {
				t.Errorf("%+v", v)
			}
		})
	}
	wg.Wait()
	if fake.Issued() != 1 {
		t.Errorf("%d tokens were fetched", fake.Issued())
	}
}

func TestWithoutAnOAuthTokenNothingIsSent(t *testing.T) {
	t.Parallel()
	fake, phones, p := start(t)
	for _, c := range []struct {
		answer providers.Answer
		want   delivery.Outcome
	}{
		{providers.Answer{Status: 400, Reason: "invalid_grant"}, delivery.Misconfigured},
		{providers.Answer{Status: 401}, delivery.Misconfigured},
		{providers.Answer{Status: 500}, delivery.Retry},
		{providers.Answer{Status: 429}, delivery.Retry},
	} {
		fake.Tokens.Next("", c.answer)
		if v := p.Send(t.Context(), envelope("tok")); v.Outcome != c.want {
			t.Errorf("%+v: %+v", c.answer, v)
		}
	}
	if len(phones.Log()) != 0 {
		t.Error("it was sent")
	}
}

func TestAHangingTokenAddressHoldsNobodyLonger(t *testing.T) {
	t.Parallel()
	fake, _, p := start(t)
	p.timeout = 50 * time.Millisecond
	fake.Tokens.Always("", providers.Answer{Hang: true})
	if v := p.Send(t.Context(), envelope("tok")); v.Outcome != delivery.Retry || v.Reason != "OAuth timeout" {
		t.Errorf("%+v", v)
	}
}

func TestASilenceAfterItWasTakenIsUnsureAndShownOnce(t *testing.T) {
	t.Parallel()
	fake, phones, p := start(t)
	if leastTimeout < 10*time.Second || p.timeout < 10*time.Second {
		t.Error("FCM asks for 10 s before a retry")
	}
	p.Send(t.Context(), envelope("other"))
	p.timeout = 100 * time.Millisecond
	fake.Next("tok", providers.Answer{Hang: true, Accept: true})
	if v := p.Send(t.Context(), envelope("tok")); v.Outcome != delivery.Unsure || v.Reason != "timeout" {
		t.Errorf("%+v", v)
	}
	p.timeout = 10 * time.Second
	if v := p.Send(t.Context(), envelope("tok")); v.Outcome != delivery.Accepted {
		t.Errorf("%+v", v)
	}
	if shown := phones.Shown(providers.ChannelFCM, "tok"); shown != 1 {
		t.Errorf("shown %d times", shown)
	}
}

func TestALongTextStillFitsAndKeepsItsIDs(t *testing.T) {
	t.Parallel()
	_, phones, p := start(t)
	e := envelope("tok")
	e.Item.Title, e.Item.Body = strings.Repeat("مرحبا", 2000), strings.Repeat("\U0001F469\u200D\U0001F467\"", 3000)
	e.Item.Data = []byte(`"` + strings.Repeat(`\"`, 1900) + `"`)
	if v := p.Send(t.Context(), e); v.Outcome != delivery.Accepted {
		t.Fatalf("%+v", v)
	}
	if got := phones.Log()[0]; len(got.Payload) > 4096 || got.ItemID != e.Item.ID || got.URL != e.URL || got.Title == "" || got.Body == "" {
		t.Errorf("%d bytes: %+v", len(got.Payload), got)
	}
}

func TestAWrongConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	fake, _, _ := start(t)
	good := fake.Credentials()
	for _, c := range []struct {
		field string
		cfg   Config
	}{
		{"Credentials", Config{}},
		{"Credentials", Config{Credentials: `{"type":"authorized_user"}`}},
		{"Credentials", Config{Credentials: strings.Replace(good, "MII", "AAA", 1)}},
		{"Credentials", Config{Credentials: strings.Replace(good, "token_uri", "other", 1)}},
		{"URL", Config{Credentials: good, URL: "fcm.googleapis.com"}},
		{"Project", Config{Credentials: good, Project: "a/b"}},
		{"Project", Config{Credentials: strings.Replace(good, "project_id", "other", 1)}},
	} {
		_, err := New(c.cfg)
		if e := (*delivery.SettingError)(nil); !errors.As(err, &e) || e.Field != c.field {
			t.Errorf("%+v: %v", c.cfg.Project, err)
		}
	}
}
