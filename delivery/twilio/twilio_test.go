package twilio

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"fanline/delivery"
	"fanline/delivery/sendtest"
	"fanline/notifier"
	"fanline/sim/providers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const to = "+41791234567"

func envelope() *delivery.Envelope {
	e := sendtest.Envelope(delivery.Address{Channel: notifier.SMS, To: to})
	e.Item.Title, e.Item.Body = "Your turn for The Locksmith", "2 seats until 20:15."
	return e
}

func start(t *testing.T) (*providers.Twilio, *providers.Phones, *Provider) {
	t.Helper()
	phones := providers.NewPhones(providers.PhonesConfig{})
	fake, err := providers.StartTwilio(providers.TwilioConfig{Phones: phones, Callbacks: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	return fake, phones, newProvider(t, fake, Config{})
}

func newProvider(t *testing.T, fake *providers.Twilio, cfg Config) *Provider {
	t.Helper()
	cfg.URL, cfg.AccountSID, cfg.AuthToken = fake.URL(), providers.TwilioSID, providers.TwilioToken
	if cfg.From == "" {
		cfg.From = providers.TwilioFrom
	}
	return sendtest.Opened(New(cfg))(t)
}

func formOf(t *testing.T, g providers.Got) url.Values {
	t.Helper()
	form, err := url.ParseQuery(string(g.Payload))
	if err != nil {
		t.Fatal(err)
	}
	return form
}

func TestAMessageLivesNoLongerThanItsItem(t *testing.T) {
	t.Parallel()
	_, phones, p := start(t)
	for left, want := range map[time.Duration]int{10 * time.Minute: 599, 24 * time.Hour: 36_000, 100 * time.Millisecond: 1} {
		e := envelope()
		e.Expires = time.Now().Add(left)
		v := p.Send(t.Context(), e)
		if v.Outcome != delivery.Accepted || !strings.HasPrefix(v.ID, "SM") {
			t.Fatalf("%+v", v)
		}
		log := phones.Log()
		got, _ := strconv.Atoi(formOf(t, log[len(log)-1]).Get("ValidityPeriod"))
		if got > want || got < want-30 && got != 1 {
			t.Errorf("%v left: valid for %d s, want %d", left, got, want)
		}
	}
}

func TestTheSenderIsANumberOrAMessagingService(t *testing.T) {
	t.Parallel()
	fake, phones, _ := start(t)
	service := "MG" + strings.Repeat("0", 32)
	for from, param := range map[string]string{providers.TwilioFrom: "From", service: "MessagingServiceSid", "Fanline": "From"} {
		p := newProvider(t, fake, Config{From: from})
		p.Send(t.Context(), envelope())
		log := phones.Log()
		if form := formOf(t, log[len(log)-1]); form.Get(param) != from {
			t.Errorf("%s: %v", from, form)
		}
	}
}

func TestEachCodeOfTwilioMeansWhatItSays(t *testing.T) {
	t.Parallel()
	fake, _, p := start(t)
	for _, c := range []struct {
		status, code int
		want         delivery.Outcome
	}{
		{429, 20429, delivery.Throttled},
		{429, 0, delivery.Throttled},
		{400, 21611, delivery.Throttled},
		{400, 30001, delivery.Throttled},
		{400, 21211, delivery.AddressDead},
		{400, 21614, delivery.AddressDead},
		{400, 21610, delivery.OptedOut},
		{400, 21408, delivery.Refused},
		{400, 21612, delivery.Refused},
		{400, 21608, delivery.Refused},
		{400, 21617, delivery.Refused},
		{400, 99999, delivery.Refused},
		{401, 20003, delivery.Misconfigured},
		{403, 0, delivery.Misconfigured},
		{404, 20404, delivery.Misconfigured},
		{400, 21606, delivery.Misconfigured},
		{500, 0, delivery.Unsure},
		{503, 21211, delivery.Unsure},
	} {
		fake.Next(to, providers.Answer{Status: c.status, Reason: strconv.Itoa(c.code)})
		v := p.Send(t.Context(), envelope())
		if v.Outcome != c.want || strings.Contains(v.Reason, to[1:]) {
			t.Errorf("%d %d: %+v, want %s", c.status, c.code, v, c.want)
		}
		if v.Outcome == delivery.OptedOut && v.Sender != providers.TwilioFrom {
			t.Errorf("opted out of %q", v.Sender)
		}
		if v.Outcome == delivery.Throttled && (v.RetryAfter == 0 || v.Sender == "") {
			t.Errorf("%d: %+v", c.code, v)
		}
	}
}

// Twilio took it and then failed, or said nothing: the retry looks, and sends nothing.
func TestWhatMayHaveBeenSentIsLookedUpBeforeItIsSentAgain(t *testing.T) {
	t.Parallel()
	fake, phones, p := start(t)
	p.cfg.Timeout = 300 * time.Millisecond
	for _, a := range []providers.Answer{{Status: 500, Accept: true}, {Hang: true, Accept: true}} {
		e := envelope()
		e.Item.Body += strconv.Itoa(a.Status)
		before := phones.Accepted(providers.ChannelSMS, to)
		fake.Next(to, a)
		if v := p.Send(t.Context(), e); v.Outcome != delivery.Unsure {
			t.Fatalf("%+v", v)
		}
		e.Attempt, e.LastUnsure = 2, true
		if v := p.Send(t.Context(), e); v.Outcome != delivery.Accepted || !strings.HasPrefix(v.ID, "SM") {
			t.Errorf("%+v", v)
		}
		if n := phones.Accepted(providers.ChannelSMS, to) - before; n != 1 {
			t.Errorf("sent %d times", n)
		}
	}
}

func TestWhatWasNotSentIsSentAfterTheLook(t *testing.T) {
	t.Parallel()
	fake, phones, p := start(t)
	old := envelope()
	old.Item.Body = "another text"
	p.Send(t.Context(), old)
	fake.Next(to, providers.Answer{Status: 500})
	e := envelope()
	p.Send(t.Context(), e)
	e.LastUnsure = true
	if v := p.Send(t.Context(), e); v.Outcome != delivery.Accepted || fake.Listings() != 1 {
		t.Errorf("%+v after %d looks", v, fake.Listings())
	}
	if n := phones.Accepted(providers.ChannelSMS, to); n != 2 {
		t.Errorf("%d messages, want 2", n)
	}
}

func TestAnOlderMessageOfTheSameTextIsNotThisOne(t *testing.T) {
	t.Parallel()
	_, phones, p := start(t)
	p.Send(t.Context(), envelope())
	e := envelope()
	e.Item.CreatedAt, e.LastUnsure = notifier.Stamp(time.Now().Add(time.Hour)), true
	if p.Send(t.Context(), e); phones.Accepted(providers.ChannelSMS, to) != 2 {
		t.Error("a message of an hour before the item was taken for it")
	}
}

func TestWithoutALookNothingIsSentAgain(t *testing.T) {
	t.Parallel()
	fake, phones, p := start(t)
	e := envelope()
	e.LastUnsure = true
	fake.Lists.Next("", providers.Answer{Status: 500})
	if v := p.Send(t.Context(), e); v.Outcome != delivery.Unsure || len(phones.Log()) != 0 {
		t.Errorf("%+v", v)
	}
}

func TestALookGoesThroughPages(t *testing.T) {
	t.Parallel()
	_, phones, p := start(t)
	e := envelope()
	p.Send(t.Context(), e)
	for i := range 60 {
		other := envelope()
		other.Item.Body = strconv.Itoa(i)
		p.Send(t.Context(), other)
	}
	e.LastUnsure = true
	if v := p.Send(t.Context(), e); v.Reason != "sent before" || phones.Accepted(providers.ChannelSMS, to) != 61 {
		t.Errorf("%+v", v)
	}
}

func TestOnlyANumberIsWrittenTo(t *testing.T) {
	t.Parallel()
	_, phones, p := start(t)
	for _, bad := range []string{"", "0791234567", "whatsapp:+41791234567", "+41791234567\r\nX: y", "+0123456"} {
		e := envelope()
		e.Address.To = bad
		if v := p.Send(t.Context(), e); v.Outcome != delivery.Refused {
			t.Errorf("%q: %+v", bad, v)
		}
	}
	if len(phones.Log()) != 0 {
		t.Error("Twilio was called")
	}
}

func TestACallbackIsSignedAndTold(t *testing.T) {
	t.Parallel()
	told := make(chan url.Values, 4)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.ParseForm() == nil && r.Header.Get("X-Twilio-Signature") == providers.Sign(providers.TwilioToken, "http://"+r.Host+r.URL.Path, r.PostForm) {
			told <- r.PostForm
		}
	}))
	defer s.Close()
	fake, _, _ := start(t)
	p := newProvider(t, fake, Config{Callback: s.URL + "/v1/callbacks/twilio"})
	v := p.Send(t.Context(), envelope())
	for _, status := range []string{"sent", "delivered"} {
		if form := <-told; form.Get("MessageSid") != v.ID || form.Get("MessageStatus") != status {
			t.Errorf("%v", form)
		}
	}
}

func TestSegmentsAreCountedAsPhonesDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want int
	}{
		{"", 1},
		{strings.Repeat("a", 160), 1},
		{strings.Repeat("a", 161), 2},
		{strings.Repeat("a", 306), 2},
		{strings.Repeat("a", 307), 3},
		{strings.Repeat("€", 80), 1},
		{strings.Repeat("€", 81), 2},
		{strings.Repeat("a", 152) + "€" + strings.Repeat("a", 152), 3}, // the € is not split
		{strings.Repeat("ж", 70), 1},
		{strings.Repeat("ж", 71), 2},
		{strings.Repeat("ж", 134), 2},
		{strings.Repeat("😀", 35), 1},
		{strings.Repeat("😀", 36), 2},
		{strings.Repeat("😀", 67), 3}, // 33 in each
	} {
		if got := Segments(c.text); got != c.want {
			t.Errorf("%d of %.4q: %d segments, want %d", utf8.RuneCountInString(c.text), c.text, got, c.want)
		}
	}
}

func TestALongTextIsCutAndItsLinkKept(t *testing.T) {
	t.Parallel()
	link := "https://t.example/shows/vance-reunion?opening=row-f"
	for _, text := range []string{
		strings.Repeat("Your turn ", 500), strings.Repeat("€{}", 500), strings.Repeat("مرحبا ", 500),
		strings.Repeat("\U0001F469\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466", 500), strings.Repeat("a", 300) + strings.Repeat("ж", 300),
	} {
		got := compose("Title", text, link)
		if Segments(got) > mostSegments || !strings.HasSuffix(got, "\n"+link) || !utf8.ValidString(got) || Segments(got) < mostSegments {
			t.Errorf("%d segments: %q", Segments(got), got)
		}
	}
	if got := compose("Code", "1234", ""); got != "Code\n1234" {
		t.Errorf("%q", got)
	}
}

func TestAWrongConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	good := Config{AccountSID: "AC1", AuthToken: "secret", From: "+1"}
	for field, change := range map[string]func(*Config){
		"URL":        func(c *Config) { c.URL = "api.twilio.com" },
		"AccountSID": func(c *Config) { c.AccountSID = "AC/1" },
		"AuthToken":  func(c *Config) { c.AuthToken = "" },
		"From":       func(c *Config) { c.From = " " },
		"Callback":   func(c *Config) { c.Callback = "/v1/callbacks/twilio" },
	} {
		c := good
		change(&c)
		_, err := New(c)
		if e := (*delivery.SettingError)(nil); !errors.As(err, &e) || e.Field != field || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
