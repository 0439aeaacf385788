package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

const goodDevice = `{"platform":"apns","token":"9F86D081884C7D659A2FEAA0C55AD015"}`

const goodKeys = `{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}`

func (f *fakeStore) Profile(ctx context.Context, fan string) (delivery.Profile, error) {
	return f.profile, f.on(ctx, "Profile", fan)
}

func (f *fakeStore) PutProfile(ctx context.Context, fan string, change func(*delivery.Profile) error, again ...notifier.Kind) (delivery.Profile, error) {
	p := f.profile
	if err := change(&p); err != nil {
		return p, err
	}
	f.profile = p
	return p, f.on(ctx, "PutProfile", fan, again)
}

func (f *fakeStore) Device(ctx context.Context, fan, device string) (delivery.Device, error) {
	return f.device, f.on(ctx, "Device", fan, device)
}

func (f *fakeStore) PutDevice(ctx context.Context, fan, device string, change func(*delivery.Device) error) (delivery.Device, bool, error) {
	d := f.device
	if f.created {
		d = delivery.Device{ID: device}
	}
	if err := change(&d); err != nil {
		return d, false, err
	}
	d.RegisteredAt, d.Used = noon, true
	f.device = d
	return d, f.created, f.on(ctx, "PutDevice", fan, device)
}

func (f *fakeStore) ForgetDevice(ctx context.Context, fan, device string) error {
	return f.on(ctx, "ForgetDevice", fan, device)
}

func (f *fakeStore) Subscription(ctx context.Context, token string) (notifier.Channel, notifier.Kind, error) {
	return f.subscription(ctx, "Subscription", token)
}

func (f *fakeStore) Unsubscribe(ctx context.Context, token string) (notifier.Channel, notifier.Kind, error) {
	return f.subscription(ctx, "Unsubscribe", token)
}

func (f *fakeStore) subscription(ctx context.Context, call, token string) (notifier.Channel, notifier.Kind, error) {
	if err := f.on(ctx, call, token); err != nil {
		return "", "", err
	}
	if token != "genuine" {
		return "", "", waitlist.Refuse(waitlist.NotFound, "no")
	}
	return notifier.Email, notifier.KindTurn, nil
}

func TestWhatIsOmittedOfAFanStaysAndNullIsTheDefault(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	put := func(body string) map[string]any { t.Helper(); return r.app("PUT", "/v1/fans/ada", body).json(200) }
	put(`{"email":"Ada@Example.com","phone":"+44 20 7946 0018","locale":"de_ch","time_zone":"Europe/Zurich",
		"channels":{"turn":["sms","sms"],"message":[]},"quiet_hours":{"from":"22:00","to":"07:05"},"turn_at_night":false,"digest":{"hour":0}}`)
	got := put(`{}`)
	channels := got["channels"].(map[string]any)
	if got["email"] != "Ada@Example.com" || got["phone"] != "+442079460018" || got["locale"] != "de-CH" || got["time_zone"] != "Europe/Zurich" ||
		got["turn_at_night"] != false || got["digest"].(map[string]any)["hour"] != 0.0 || got["quiet_hours"].(map[string]any)["to"] != "07:05" ||
		len(list(channels["turn"])) != 1 || len(list(channels["message"])) != 0 || len(list(channels["announcement"])) != 2 {
		t.Errorf("after an empty change: %v", got)
	}
	if got := put(`{"channels":{"turn":null}}`)["channels"].(map[string]any); len(list(got["turn"])) != 4 || len(list(got["message"])) != 0 {
		t.Errorf("channels of turns reset: %v", got)
	}
	got = put(`{"email":null,"phone":null,"locale":null,"time_zone":null,"channels":null,"quiet_hours":null,"turn_at_night":null,"digest":null}`)
	for _, field := range []string{"email", "phone", "locale", "time_zone", "quiet_hours", "digest"} {
		if v, ok := got[field]; !ok || v != nil {
			t.Errorf("%s reset is %v", field, v)
		}
	}
	if got["turn_at_night"] != true || len(list(got["channels"].(map[string]any)["message"])) != 2 {
		t.Errorf("after a reset: %v", got)
	}
}

func TestAFanSeesTheirContactMaskedAndCannotChangeIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.app("PUT", "/v1/fans/ada", `{"email":"ada@example.com","phone":"+442079460018"}`).json(200)
	contact := r.fan("GET", "/v1/me/preferences", "").json(200)["contact"].(map[string]any)
	if contact["email"] != "a…@example.com" || contact["phone"] != "+44…18" {
		t.Errorf("contact %v", contact)
	}
	r.fan("PUT", "/v1/me/preferences", `{"email":"eve@example.com"}`).problem(400, "invalid", "email")
}

func TestOnlyTheFanTakesBackWhatTheyUnsubscribedFrom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.app("PUT", "/v1/fans/ada", `{"channels":{"turn":["email"]}}`).json(200)
	if again := r.store.lastArgs()[1].([]notifier.Kind); len(again) != 0 {
		t.Errorf("the app takes back %v", again)
	}
	r.fan("PUT", "/v1/me/preferences", `{"channels":{"turn":["email"],"message":null}}`).json(200)
	if again := r.store.lastArgs()[1].([]notifier.Kind); !slices.Equal(again, []notifier.Kind{notifier.KindTurn}) {
		t.Errorf("the fan takes back %v", again)
	}
	r.store.profile.OptedOut = map[notifier.Channel][]notifier.Kind{notifier.Email: {notifier.KindTurn, ""}}
	got := r.fan("GET", "/v1/me/preferences", "").json(200)
	if n := len(list(got["channels"].(map[string]any)["turn"])); n != 0 || list(got["opted_out"])[0] != "email" {
		t.Errorf("what was unsubscribed from still shows: %v", got)
	}
}

func TestADeviceIsShownMasked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for body, want := range map[string]string{
		goodDevice: "9f86…d015",
		`{"platform":"fcm","token":"dQw4w9WgXcQ:APA91bHun4"}`:                                                "dQw4…Hun4",
		`{"platform":"webpush","token":"https://push.example.com/send/secret-abcd","keys":` + goodKeys + `}`: "https://push.example.com/…abcd",
	} {
		d := r.app("PUT", "/v1/fans/ada/devices/phone", body).json(201)
		if d["token"] != want || d["used"] != true || d["id"] != "phone" {
			t.Errorf("device %v, want the token as %s", d, want)
		}
	}
	if log := r.log.String(); strings.Contains(log, "secret-abcd") || strings.Contains(log, "APA91") {
		t.Error("the log holds a token")
	}
}

func TestADeviceThatStandsKeepsWhatIsOmitted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.created = false
	r.store.device = delivery.Device{ID: "phone", Platform: notifier.APNs, Token: "9f86d081884c7d659a2f", Environment: "sandbox", Topic: "com.example.fans"}
	d := r.fan("PUT", "/v1/me/devices/phone", `{"topic":null}`).json(200)
	if d["environment"] != "sandbox" || d["topic"] != nil || d["platform"] != "apns" {
		t.Errorf("device %v", d)
	}
	// Nothing of one platform is of use to another.
	r.fan("PUT", "/v1/me/devices/phone", `{"platform":"fcm"}`).problem(422, "invalid", "token")
}

func TestALookAtAnUnsubscribeLinkNeverActs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, method := range []string{"GET", "HEAD", "GET"} {
		w := r.as("", method, "/u/genuine", "")
		if w.Code != 200 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
			t.Fatalf("%s: %d %v", method, w.Code, w.Header())
		}
	}
	for _, method := range []string{"PUT", "DELETE", "OPTIONS"} {
		if w := r.as("", method, "/u/genuine", ""); w.Code != 405 {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	if got := r.store.asked(); slices.Contains(got, "Unsubscribe") {
		t.Errorf("calls %v", got)
	}
}

func TestAPostUnsubscribesFromAFormAndFromAMailProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, body string }{
		{"", ""},
		{"application/x-www-form-urlencoded", "List-Unsubscribe=One-Click"},
		{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n"},
	} {
		r := newRig(t)
		req := httptest.NewRequest("POST", "/u/genuine", strings.NewReader(c.body))
		req.Header.Set("Content-Type", c.kind)
		w := r.send(req)
		if w.Code != 200 || !strings.Contains(w.Body.String(), "no more e-mails about your turns") || strings.Contains(w.Body.String(), "<form") {
			t.Errorf("%s: %d %s", c.kind, w.Code, w.Body)
		}
		if got := r.store.asked(); !slices.Equal(got, []string{"Unsubscribe"}) {
			t.Errorf("calls %v", got)
		}
	}
}

func TestTheUnsubscribePageRunsNothingAndSaysWhatItIsAbout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.as("", "GET", "/u/genuine", "")
	policy := w.Header().Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "style-src 'sha256-", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("policy %q lacks %s", policy, part)
		}
	}
	page := w.Body.String()
	for _, part := range []string{`<html lang="en">`, "<h1>", "e-mails about your turns", `<form method="post"><button>`} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %s:\n%s", part, page)
		}
	}
	for _, part := range []string{"<script", "http:", "genuine", " style="} {
		if strings.Contains(page, part) {
			t.Errorf("the page holds %s", part)
		}
	}
	if strings.Contains(r.log.String(), "genuine") {
		t.Error("the log holds the token")
	}
	for _, method := range []string{"GET", "POST"} {
		if w := r.as("", method, "/u/forged", ""); w.Code != 404 || !strings.Contains(w.Body.String(), "does not work") {
			t.Errorf("%s of a forged link: %d %s", method, w.Code, w.Body)
		}
	}
}

func TestTheWebPushKeyIsForAllAndIsNotThereWhereWebPushIsOff(t *testing.T) {
	t.Parallel()
	newRig(t).as("", "GET", "/v1/webpush-key", "").problem(404, "not_found", "")
	r := newRig(t, func(c *Config) { c.WebPushKey = "the-key" })
	req := httptest.NewRequest("GET", "/v1/webpush-key", nil)
	req.Header.Set("Origin", "https://fans.example")
	w := r.send(req)
	if w.json(http.StatusOK)["public_key"] != "the-key" || w.Header().Get("Access-Control-Allow-Origin") != "https://fans.example" {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	// Its neighbours are not open.
	r.as("", "GET", "/v1/webpush-key/x", "").problem(401, "unauthenticated", "")
}

func TestAPushServiceOnThisMachineIsForDevelopmentAlone(t *testing.T) {
	t.Parallel()
	body := func(endpoint string) string {
		return `{"platform":"webpush","token":"` + endpoint + `","keys":` + goodKeys + `}`
	}
	const local = "http://127.0.0.1:4000/push/ada"
	newRig(t).app("PUT", "/v1/fans/ada/devices/laptop", body(local)).problem(422, "invalid", "token")
	r := newRig(t, func(c *Config) { c.LocalPush = true })
	r.app("PUT", "/v1/fans/ada/devices/laptop", body(local)).json(201)
	for _, bad := range []string{"http://10.0.0.1/push", "http://push.example.com/push", "https://192.168.1.1/", "ftp://127.0.0.1/"} {
		r.app("PUT", "/v1/fans/ada/devices/laptop", body(bad)).problem(422, "invalid", "token")
	}
}

func TestSigningOutForgetsTheDeviceOrAllOfThem(t *testing.T) {
	t.Parallel()
	for body, device := range map[string]string{``: "", `{}`: "", `{"device":"phone"}`: "phone"} {
		r := newRig(t)
		if w := r.app("POST", "/v1/fans/ada/sign-out", body); w.Code != 204 {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
		if args := r.store.argsOf(t, "ForgetDevice"); args[0] != "ada" || args[1] != device {
			t.Errorf("%s forgets %v", body, args)
		}
	}
}

func TestADigestThatWasUnsubscribedFromIsOffAndTheFanMayTakeItBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.profile.DigestHour = new(9)
	r.store.profile.OptedOut = map[notifier.Channel][]notifier.Kind{notifier.Email: {notifier.KindDigest}}
	if got := r.fan("GET", "/v1/me/preferences", "").json(200); got["digest"] != nil {
		t.Errorf("digest %v", got["digest"])
	}
	r.fan("PUT", "/v1/me/preferences", `{"digest":{"hour":8}}`).json(200)
	if again := r.store.kept["PutProfile"][1].([]notifier.Kind); !slices.Equal(again, []notifier.Kind{notifier.KindDigest}) {
		t.Errorf("takes back %v", again)
	}
	r.app("PUT", "/v1/fans/ada", `{"digest":{"hour":8}}`).json(200)
	if again := r.store.kept["PutProfile"][1].([]notifier.Kind); len(again) != 0 {
		t.Errorf("the ticketing app takes back %v", again)
	}
}
