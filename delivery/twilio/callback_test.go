package twilio

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/sim/providers"
)

const callbackURL = "https://tickets.example.com/v1/callbacks/twilio"

func newCalls(t testing.TB, callback, from string) *Calls {
	t.Helper()
	c, err := NewCalls(Config{AccountSID: providers.TwilioSID, AuthToken: providers.TwilioToken, From: from, Callback: callback})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func signed(to, query string, form url.Values) *delivery.Call {
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	if query != "" {
		to += "?" + query
	}
	h.Set("X-Twilio-Signature", providers.Sign(providers.TwilioToken, to, form))
	return &delivery.Call{Query: query, Header: h, Body: []byte(form.Encode())}
}

func TestEachStateOfAMessageMeansWhatItSays(t *testing.T) {
	t.Parallel()
	c := newCalls(t, callbackURL, providers.TwilioFrom)
	for _, x := range []struct {
		status  string
		code    int
		phase   notifier.Phase
		reason  string
		verdict delivery.Outcome
	}{
		{"queued", 0, "", "", ""},
		{"accepted", 0, "", "", ""},
		{"sending", 0, "", "", ""},
		{"sent", 0, notifier.PhaseSent, "", ""},
		{"delivered", 0, notifier.PhaseDelivered, "", ""},
		{"read", 0, notifier.PhaseOpened, "", ""},
		{"undelivered", 30003, notifier.PhaseFailed, "undelivered 30003", ""},
		{"undelivered", 30004, notifier.PhaseFailed, "undelivered 30004", ""},
		{"undelivered", 30005, notifier.PhaseFailed, "undelivered 30005", ""},
		{"undelivered", 30006, notifier.PhaseFailed, "undelivered 30006", delivery.AddressDead},
		{"undelivered", 30007, notifier.PhaseFailed, "undelivered 30007", ""},
		{"undelivered", 30008, notifier.PhaseFailed, "undelivered 30008", ""},
		{"failed", 30001, notifier.PhaseFailed, "failed 30001", delivery.Throttled},
		{"failed", 21610, notifier.PhaseFailed, "failed 21610", delivery.OptedOut},
		{"failed", 0, notifier.PhaseFailed, "failed", ""},
	} {
		told, err := c.Read(time.Now(), signed(callbackURL, "", providers.StatusForm("SM1", x.status, "+12025550100", providers.TwilioFrom, x.code)))
		if err != nil {
			t.Fatal(err)
		}
		if x.phase == "" {
			if told.Report != nil || told.Wish != nil {
				t.Errorf("%s is news: %+v", x.status, told)
			}
			continue
		}
		r := told.Report
		if r == nil || r.Phase != x.phase || r.Reason != x.reason || r.Verdict != x.verdict || r.ProviderID != "SM1" {
			t.Errorf("%s %d: %+v", x.status, x.code, r)
		}
	}
}

func TestTheWordsThatFansWrite(t *testing.T) {
	t.Parallel()
	service := "MG0123456789abcdef0123456789abcdef"
	for _, x := range []struct {
		body, kind, from, to, service string
		counts, stop                  bool
		sender                        string
	}{
		{" stop\n", "", providers.TwilioFrom, providers.TwilioFrom, "", true, true, providers.TwilioFrom},
		{"StopAll", "", providers.TwilioFrom, providers.TwilioFrom, "", true, true, providers.TwilioFrom},
		{"START", "", providers.TwilioFrom, providers.TwilioFrom, "", true, false, providers.TwilioFrom},
		{"unstop", "", providers.TwilioFrom, providers.TwilioFrom, "", true, false, providers.TwilioFrom},
		{"HELP", "", providers.TwilioFrom, providers.TwilioFrom, "", false, false, ""},
		{"please stop that band", "", providers.TwilioFrom, providers.TwilioFrom, "", false, false, ""},
		{"stopp", "STOP", providers.TwilioFrom, providers.TwilioFrom, "", true, true, providers.TwilioFrom},
		{"stop", "HELP", providers.TwilioFrom, providers.TwilioFrom, "", false, false, ""},
		{"stop", "", service, "+15005550001", service, true, true, service},
		{"stop", "", providers.TwilioFrom, "+15005550001", "", true, true, "+15005550001"}, // another sender's
	} {
		form := providers.InboundForm("SM1", "+12025550100", x.to, x.body)
		form.Del("OptOutType")
		if x.kind != "" {
			form.Set("OptOutType", x.kind)
		}
		if x.service != "" {
			form.Set("MessagingServiceSid", x.service)
		}
		told, err := newCalls(t, callbackURL, x.from).Read(time.Now(), signed(callbackURL, "", form))
		w := told.Wish
		if err != nil || (w != nil) != x.counts || w != nil && (w.Stop != x.stop || w.Sender != x.sender || w.Address != "+12025550100") {
			t.Errorf("%q %s: %+v, %v", x.body, x.kind, w, err)
		}
	}
}

func TestThePortMayStandInTheAddressOrNot(t *testing.T) {
	t.Parallel()
	form := providers.StatusForm("SM1", "sent", "+12025550100", providers.TwilioFrom, 0)
	const with = "https://tickets.example.com:443/v1/callbacks/twilio"
	for _, x := range []struct {
		configured, signedFor string
		ok                    bool
	}{
		{callbackURL, callbackURL, true},
		{callbackURL, with, true},
		{with, callbackURL, true},
		{callbackURL, "https://tickets.example.com:8443/v1/callbacks/twilio", false},
		{callbackURL, "http://tickets.example.com:443/v1/callbacks/twilio", false},
		{"https://tickets.example.com:8443/v1/callbacks/twilio", callbackURL, false},
	} {
		_, err := newCalls(t, x.configured, providers.TwilioFrom).Read(time.Now(), signed(x.signedFor, "", form))
		if ok := err == nil; ok != x.ok {
			t.Errorf("%s for %s: %v", x.signedFor, x.configured, err)
		}
	}
}

func TestAJSONBodyIsSignedByItsHash(t *testing.T) {
	t.Parallel()
	c := newCalls(t, callbackURL, providers.TwilioFrom)
	body := []byte(`{"AccountSid":"` + providers.TwilioSID + `","MessageSid":"SM1","MessageStatus":"failed","ErrorCode":30006}`)
	sum := sha256.Sum256(body)
	call := signed(callbackURL, "bodySHA256="+hex.EncodeToString(sum[:]), url.Values{})
	call.Header.Set("Content-Type", "application/json")
	call.Body = body
	told, err := c.Read(time.Now(), call)
	if err != nil || told.Report == nil || told.Report.Verdict != delivery.AddressDead {
		t.Errorf("%+v, %v", told, err)
	}
	call.Body = append([]byte(" "), body...)
	if _, err := c.Read(time.Now(), call); !errors.Is(err, delivery.ErrNotGenuine) {
		t.Errorf("another body: %v", err)
	}
}

// FuzzCalls: whatever comes, nothing that is not signed is believed, and what is
// signed holds what it may hold.
func FuzzCalls(f *testing.F) {
	c := newCalls(f, callbackURL, providers.TwilioFrom)
	good := providers.StatusForm("SM1", "delivered", "+12025550100", providers.TwilioFrom, 0).Encode()
	f.Add("", good, "application/x-www-form-urlencoded", "x")
	f.Add("bodySHA256=00&a=%zz", "{}", "application/json", "")
	f.Add("a=1;b=2", "Body=STOP&From=%2B12025550100&AccountSid="+providers.TwilioSID+"&MessageSid=SM2", "", "AAAA")
	f.Fuzz(func(t *testing.T, query, body, kind, signature string) {
		call := &delivery.Call{Query: query, Header: http.Header{"Content-Type": {kind}, "X-Twilio-Signature": {signature}}, Body: []byte(body)}
		if told, err := c.Read(time.Now(), call); !errors.Is(err, delivery.ErrNotGenuine) || told.Report != nil || told.Wish != nil {
			t.Fatalf("believed: %+v, %v", told, err)
		}
		form, err := url.ParseQuery(body)
		if err != nil {
			return
		}
		told, err := c.Read(time.Now(), signed(callbackURL, "", form))
		if err != nil {
			return // of another account
		}
		if r := told.Report; r != nil && (!messageSID.MatchString(r.ProviderID) || len(r.Reason) > 32 || r.Phase == "") {
			t.Fatalf("%+v", r)
		}
		if w := told.Wish; w != nil && (!number.MatchString(w.Address) || !messageSID.MatchString(w.ID)) {
			t.Fatalf("%+v", w)
		}
	})
}
