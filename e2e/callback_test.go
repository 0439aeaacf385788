package e2e_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fanline/sim/providers"
)

// delivered is a delivery as the ticketing app sees it.
type delivered struct {
	ID, Channel, Address, Phase string
	Phases                      []struct {
		Phase  string
		At     time.Time
		Reason string
	}
}

func (d *delivered) words() string {
	words := make([]string, len(d.Phases))
	for i, p := range d.Phases {
		words[i] = strings.TrimSpace(p.Phase + " " + p.Reason)
	}
	return strings.Join(words, ", ")
}

// notify sends a message by a channel and returns its id.
func (w *world) notify(fan, title, channel string) string {
	w.t.Helper()
	var sent struct{ ID string }
	must(w.app.Call(w.ctx, http.MethodPost, "/v1/notifications", map[string]any{
		"fan_id": fan, "lane": "transactional", "type": "login_code", "title": title, "body": "Code", "channels": []string{channel},
	}, &sent))(w.t)
	return sent.ID
}

// becomes waits until a message's delivery has gone through these phases.
func (w *world) becomes(id, phases string) delivered {
	w.t.Helper()
	var got struct{ Deliveries []delivered }
	w.until(20*time.Second, id+" is "+phases, func() bool {
		got.Deliveries = nil
		must(w.app.Call(w.ctx, http.MethodGet, "/v1/notifications/"+id, nil, &got))(w.t)
		return len(got.Deliveries) == 1 && got.Deliveries[0].words() == phases
	})
	return got.Deliveries[0]
}

func (w *world) callBack(path string, header map[string]string, body string) int {
	w.t.Helper()
	req := must(http.NewRequestWithContext(w.ctx, http.MethodPost, w.in[0].base+path, strings.NewReader(body)))(w.t)
	for name, v := range header {
		req.Header.Set(name, v)
	}
	res := must(w.http.Do(req))(w.t)
	_ = res.Body.Close()
	return res.StatusCode
}

// callbackSecrets are those that the program prints, by kind of call.
func (w *world) callbackSecrets() map[string][]byte {
	w.t.Helper()
	code, out := command(w.t, w.env(), "callback-secrets")
	words := strings.Fields(out)
	if code != 0 || len(words) != 4 {
		w.t.Fatalf("callback-secrets ends with %d:\n%s", code, out)
	}
	secrets := map[string][]byte{}
	for i := 0; i < len(words); i += 2 {
		secrets[words[i]] = must(base64.StdEncoding.DecodeString(strings.TrimPrefix(words[i+1], "whsec_")))(w.t)
		if len(secrets[words[i]]) != 32 {
			w.t.Fatalf("the secret of %s has %d bytes", words[i], len(secrets[words[i]]))
		}
	}
	return secrets
}

// signed are the headers of a call that is made now, as Standard Webhooks says.
func signed(secret []byte, id, body string) map[string]string {
	stamp := fmt.Sprint(time.Now().Unix())
	return map[string]string{"Webhook-Id": id, "Webhook-Timestamp": stamp, "Webhook-Signature": signature(secret, id, stamp, body)}
}

func signature(secret []byte, id, stamp, body string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + stamp + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestTwilioTellsOfATextAndOfStop(t *testing.T) {
	t.Parallel()
	w, all := newPhones(t)
	to := w.give("ada", all)
	id := w.notify("ada", "Your code", "sms")
	d := w.becomes(id, "accepted, sent, delivered")
	if d.Channel != "sms" || strings.Contains(d.Address, "234567") {
		t.Errorf("%+v", d)
	}
	for i := 1; i < len(d.Phases); i++ {
		if d.Phases[i].At.Before(d.Phases[i-1].At) || time.Since(d.Phases[i].At) > time.Minute {
			t.Errorf("times %+v", d.Phases)
		}
	}
	number, callback := to[providers.ChannelSMS], w.in[0].base+"/v1/callbacks/twilio"
	optedOut := func() []string {
		var fan struct {
			OptedOut []string `json:"opted_out"`
		}
		must(w.app.Call(w.ctx, http.MethodGet, "/v1/fans/ada", nil, &fan))(t)
		return fan.OptedOut
	}
	form := providers.InboundForm("SMforged", number, providers.TwilioFrom, "STOP").Encode()
	if status := w.callBack("/v1/callbacks/twilio", map[string]string{
		"Content-Type": "application/x-www-form-urlencoded", "X-Twilio-Signature": "AAAA",
	}, form); status != http.StatusForbidden || len(optedOut()) != 0 {
		t.Errorf("a forged STOP: %d, opted out of %v", status, optedOut())
	}
	for _, word := range []string{"STOP", "START", "HELP"} {
		if status := must(all.Twilio.Reply(w.ctx, callback, number, word))(t); status != http.StatusNoContent {
			t.Errorf("%s: %d", word, status)
		}
		if off := slices.Contains(optedOut(), "sms"); off != (word == "STOP") {
			t.Errorf("after %s, opted out of %v", word, optedOut())
		}
	}
}

func TestAMailServiceTellsOfABounceWithThePrintedSecret(t *testing.T) {
	t.Parallel()
	w, all := newPhones(t)
	w.give("ada", all)
	id := w.notify("ada", "Your code", "email")
	d := w.becomes(id, "accepted, sent")
	body := `{"event":"bounced","message_id":"<` + d.ID + `@fanline.example>","bounce":"transient","code":"4.2.2"}`
	header := signed(w.callbackSecrets()["email"], "call-1", body)
	for range 2 {
		if status := w.callBack("/v1/callbacks/email", header, body); status != http.StatusNoContent {
			t.Errorf("%d", status)
		}
	}
	w.becomes(id, "accepted, sent, bounced transient 4.2.2")
	if status := w.callBack("/v1/callbacks/email", header, strings.Replace(body, "transient", "permanent", 1)); status != http.StatusForbidden {
		t.Errorf("another body: %d", status)
	}
}

// A digest at the hour that it is: there is one, whichever instance begins it.
func TestADigestComesAtItsHour(t *testing.T) {
	t.Parallel()
	w, all := newPhones(t)
	w.give("ada", all)
	for i := range 3 {
		must(w.app.Call(w.ctx, http.MethodPost, "/v1/notifications", map[string]any{
			"fan_id": "ada", "lane": "bulk", "type": "news", "title": fmt.Sprint("News ", i), "body": "<b>Doors</b> at seven", "channels": []string{"live"},
		}, nil))(t)
	}
	must(w.app.Call(w.ctx, http.MethodPut, "/v1/fans/ada", map[string]any{"digest": map[string]int{"hour": time.Now().UTC().Hour()}}, nil))(t)
	got := must(all.Phones.Wait(w.ctx, func(g providers.Got) bool { return g.Channel == providers.ChannelEmail }))(t)
	for i := range 3 {
		if !strings.Contains(got.Body, fmt.Sprint("* News ", i)) {
			t.Errorf("the mail lacks News %d:\n%s", i, got.Body)
		}
	}
	if got.Title != "3 new items in your inbox" || !strings.Contains(string(got.Payload), "List-Unsubscribe:") {
		t.Errorf("%s\n%s", got.Title, got.Payload)
	}
}
