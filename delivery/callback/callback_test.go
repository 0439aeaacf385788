package callback

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
)

const key = "8f14e45fceea167a5a36dedd4bea2543"

var (
	now    = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	secret = EmailSecret([]byte("root"))
)

func call(secret []byte, id, body string) *delivery.Call {
	stamp := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + stamp + "." + body))
	h := http.Header{}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", stamp)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return &delivery.Call{Header: h, Body: []byte(body)}
}

func TestEachKindOfMailCallMeansWhatItSays(t *testing.T) {
	t.Parallel()
	e := &Email{Secret: secret}
	for _, x := range []struct {
		rest      string
		phase     notifier.Phase
		reason    string
		dead      bool
		complaint bool
	}{
		{`"event":"delivered"`, notifier.PhaseDelivered, "", false, false},
		{`"event":"bounced","bounce":"permanent"`, notifier.PhaseBounced, "permanent", true, false},
		{`"event":"bounced","bounce":"permanent","code":"5.1.1"`, notifier.PhaseBounced, "permanent 5.1.1", true, false},
		{`"event":"bounced","bounce":"permanent","code":"5.7.1"`, notifier.PhaseBounced, "permanent 5.7.1", false, false},
		{`"event":"bounced","bounce":"permanent","code":"5.2.2"`, notifier.PhaseBounced, "permanent 5.2.2", false, false},
		{`"event":"bounced","bounce":"transient","code":"4.2.2"`, notifier.PhaseBounced, "transient 4.2.2", false, false},
		{`"event":"bounced","bounce":"undetermined"`, notifier.PhaseBounced, "undetermined", false, false},
		{`"event":"complained"`, notifier.PhaseDelivered, "complaint", false, true},
	} {
		told, err := e.Read(now, call(secret, "id", `{"message_id":"<`+key+`@x.example>",`+x.rest+`}`))
		if err != nil {
			t.Fatalf("%s: %v", x.rest, err)
		}
		r := told.Report
		if r.Phase != x.phase || r.Reason != x.reason || (r.Verdict == delivery.AddressDead) != x.dead || r.Complaint != x.complaint || r.Key.String() != key {
			t.Errorf("%s: %+v", x.rest, r)
		}
	}
}

func TestACallThatSaysNothingIsRefusedByField(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		``: "body", `[]`: "body", `{"event":"delivered"} {}`: "body", `{"event":"delivered","x":1}`: "body",
		`{"event":"delivered"}`: "message_id", `{"event":"delivered","message_id":"abc@x"}`: "message_id",
		`{"event":"opened","message_id":"` + key + `@x"}`:                                          "event",
		`{"event":"bounced","message_id":"` + key + `@x"}`:                                         "bounce",
		`{"event":"bounced","bounce":"permanent","code":"5.1.1 ada","message_id":"` + key + `@x"}`: "code",
	} {
		_, err := (&Email{Secret: secret}).Read(now, call(secret, "id", body))
		var bad *delivery.BadInput
		if !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v, want %s", body, err, field)
		}
	}
	for _, body := range []string{`{"event":"opened","delivery":"x"}`, `{"event":"sent","delivery":"` + key + `"}`} {
		if _, err := (&Push{Secret: secret}).Read(now, call(secret, "id", body)); err == nil {
			t.Errorf("%s was taken", body)
		}
	}
}

func TestTheAddressOfAMailCallIsOneMailbox(t *testing.T) {
	t.Parallel()
	for _, email := range []string{`a\u0000@x.example`, `a\r\n@x.example`, `ada`, `Ada <a@x.example>`, `a@x.example,b@x.example`} {
		_, err := (&Email{Secret: secret}).Read(now, call(secret, "id", `{"event":"delivered","message_id":"`+key+`@x","email":"`+email+`"}`))
		var bad *delivery.BadInput
		if !errors.As(err, &bad) || bad.Field != "email" {
			t.Errorf("%s: %v", email, err)
		}
	}
}

func TestEachKindHasItsSecret(t *testing.T) {
	t.Parallel()
	if string(EmailSecret([]byte("root"))) == string(PushSecret([]byte("root"))) || len(SecretText(secret)) != len(Prefix)+44 {
		t.Error("the secrets are alike, or short")
	}
}

func fuzz(f *testing.F, r delivery.CallReader, good string) {
	f.Add("id", "1788264000", "v1,AAAA", good)
	f.Add("", "-1", "v1,", "{")
	f.Fuzz(func(t *testing.T, id, stamp, signature, body string) {
		forged := &delivery.Call{Header: http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {signature}}, Body: []byte(body)}
		if told, err := r.Read(now, forged); !errors.Is(err, delivery.ErrNotGenuine) || told.Report != nil {
			t.Fatalf("believed: %+v, %v", told, err)
		}
		told, err := r.Read(now, call(secret, "id", body))
		if err == nil && (told.Report == nil || told.Report.Key == nil || told.Nonce != "id" || len(told.Report.Reason) > 40) {
			t.Fatalf("%+v", told)
		}
	})
}

// FuzzEmail: nothing unsigned is believed, and what is signed is whole or refused.
func FuzzEmail(f *testing.F) {
	fuzz(f, &Email{Secret: secret}, `{"event":"delivered","message_id":"<`+key+`@x>"}`)
}

// FuzzPush is FuzzEmail for pushes.
func FuzzPush(f *testing.F) {
	fuzz(f, &Push{Secret: secret}, `{"event":"opened","delivery":"`+key+`"}`)
}
