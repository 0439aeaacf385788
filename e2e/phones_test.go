package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"fanline/sim"
	"fanline/sim/providers"
)

// newPhones are an instance whose channels go to services on this machine, and those.
// env are settings beside the usual.
func newPhones(t *testing.T, env ...string) (*world, *providers.All) {
	t.Helper()
	return newPhonesOn(t, providers.NewPhones(providers.PhonesConfig{}), env...)
}

func newPhonesOn(t *testing.T, phones *providers.Phones, env ...string) (*world, *providers.All) {
	t.Helper()
	w := newWorldOn(t, 0, database(t))
	all := must(providers.StartAll(phones))(t)
	t.Cleanup(all.Close)
	in := w.newInstance("A")
	in.env = append(append(phoneEnv(t, all), "FANLINE_PUBLIC_URL="+in.base), env...)
	in.launch()
	in.waitReady()
	w.app = sim.NewApp([]string{in.base}, apiSecret, sim.WithHTTPClient(w.http))
	return w, all
}

// phoneEnv are the settings of all channels, with keys for Web Push as the program makes
// them.
func phoneEnv(t *testing.T, all *providers.All) []string {
	t.Helper()
	code, keys := command(t, nil, "webpush-keys")
	if code != 0 {
		t.Fatalf("webpush-keys ends with %d:\n%s", code, keys)
	}
	env := append(strings.Fields(keys), "FANLINE_WEBPUSH_SUBJECT=mailto:ops@fanline.example")
	for name, value := range all.Env() {
		env = append(env, name+"="+value)
	}
	return env
}

// give registers a device on every platform, a number and a mailbox of a fan, and
// returns the addresses by channel.
func (w *world) give(fan string, all *providers.All) map[string]string {
	w.t.Helper()
	sub := must(all.WebPush.Subscribe(fan, ""))(w.t)
	put := func(path string, body any) {
		w.t.Helper()
		must(w.app.Call(w.ctx, http.MethodPut, "/v1/fans/"+fan+path, body, nil))(w.t)
	}
	to := map[string]string{
		providers.ChannelAPNs: strings.Repeat("0a", 32), providers.ChannelFCM: "fcm-token-of-" + fan,
		providers.ChannelWebPush: sub.Endpoint, providers.ChannelSMS: "+41791234567", providers.ChannelEmail: fan + "@fans.example",
	}
	put("", map[string]string{"phone": to[providers.ChannelSMS], "email": to[providers.ChannelEmail]})
	put("/devices/phone", map[string]string{"platform": "apns", "token": to[providers.ChannelAPNs]})
	put("/devices/tablet", map[string]string{"platform": "fcm", "token": to[providers.ChannelFCM]})
	put("/devices/laptop", map[string]any{
		"platform": "webpush", "token": sub.Endpoint, "keys": map[string]string{"p256dh": sub.P256dh, "auth": sub.Auth},
	})
	return to
}

func TestAMessageReachesEveryPhoneOfAFanWhoDoesNotLook(t *testing.T) {
	t.Parallel()
	w, all := newPhones(t)
	to := w.give("ada", all)
	for channel, address := range to {
		must(w.app.Call(w.ctx, http.MethodPost, "/v1/notifications", map[string]any{
			"fan_id": "ada", "lane": "bulk", "type": "news", "title": "Doors at seven", "body": "By " + channel, "channels": []string{channel},
		}, nil))(t)
		got := must(all.Phones.Wait(w.ctx, func(g providers.Got) bool { return g.Channel == channel }))(t)
		if got.Address != address || !got.Accepted || !strings.Contains(got.Body, "By "+channel) {
			t.Errorf("%s: %+v", channel, got)
		}
	}
}

func TestCheckLooksAtEachChannel(t *testing.T) {
	t.Parallel()
	w, all := newPhones(t)
	env := append(w.env(), phoneEnv(t, all)...)
	code, out := command(t, env, "check")
	if code != 0 || strings.Count(out, " ok") != 8 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	code, out = command(t, w.env(), "check")
	if code != 0 || strings.Count(out, " ok") != 3 || strings.Count(out, " off ") != 6 || !strings.Contains(out, "FANLINE_SMTP_ADDR") {
		t.Errorf("without channels, exit code %d:\n%s", code, out)
	}
	all.SMTP.Close()
	all.FCM.Tokens.Always("", providers.Answer{Status: 401, Reason: "invalid_grant"})
	code, out = command(t, setting(env, "FANLINE_TWILIO_AUTH_TOKEN", "wrong-token"), "check")
	if code != 1 || strings.Count(out, " failed ") != 3 || strings.Contains(out, "wrong-token") {
		t.Errorf("with three that fail, exit code %d:\n%s", code, out)
	}
}

func TestCheckNamesWorkThatNoProcessDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	in := w.newInstance("A", "FANLINE_LANES=turns,bulk")
	in.launch()
	in.waitReady()
	w.app = sim.NewApp([]string{in.base}, apiSecret, sim.WithHTTPClient(w.http))
	must(w.app.Call(w.ctx, http.MethodPost, "/v1/notifications", map[string]any{
		"fan_id": "ada", "lane": "transactional", "type": "login_code", "title": "Code", "body": "1234",
	}, nil))(t)
	if code, out := command(t, w.env(), "check"); code != 0 {
		t.Errorf("of work that is new, exit code %d:\n%s", code, out)
	}
	w.sql(`UPDATE river_job SET scheduled_at = now() - interval '1 minute' WHERE queue = 'lane_transactional'`)
	code, out := command(t, w.env(), "check")
	if code != 1 || !strings.Contains(out, "lane_transactional") || !strings.Contains(out, "FANLINE_LANES") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	w.until(startPatience, "the instance says so", func() bool {
		_, metrics := w.get("http://" + in.ops + "/metrics")
		return strings.Contains(metrics, "fanline_queues_unserved 1") && strings.Contains(in.process.out.all(), "no process serves the queue lane_transactional")
	})
	if status, _ := w.get("http://" + in.ops + "/readyz"); status != 200 {
		t.Errorf("the instance, which serves its own lanes, answers %d to /readyz", status)
	}
}

func TestAWrongSettingOfAChannelIsNamed(t *testing.T) {
	t.Parallel()
	w, all := newPhones(t)
	env := append(w.env(), phoneEnv(t, all)...)
	for _, c := range []struct{ variable, value string }{
		{"FANLINE_APNS_KEY", "hunter2"},
		{"FANLINE_APNS_KEY", ""},
		{"FANLINE_APNS_KEY_ID", ""},
		{"FANLINE_APNS_TEAM_ID", ""},
		{"FANLINE_APNS_TOPIC", ""},
		{"FANLINE_APNS_URL", "api.push.apple.com"},
		{"FANLINE_FCM_CREDENTIALS", `{"type":"hunter2"}`},
		{"FANLINE_FCM_CREDENTIALS", "/nowhere/key.json"},
		{"FANLINE_FCM_PROJECT", "a/b"},
		{"FANLINE_TWILIO_ACCOUNT_SID", ""},
		{"FANLINE_TWILIO_AUTH_TOKEN", ""},
		{"FANLINE_TWILIO_FROM", ""},
		{"FANLINE_SMTP_ADDR", "mail.example.com"},
		{"FANLINE_SMTP_FROM", "hunter2"},
		{"FANLINE_SMTP_TLS", "perhaps"},
		{"FANLINE_WEBPUSH_PRIVATE_KEY", "hunter2"},
		{"FANLINE_WEBPUSH_PUBLIC_KEY", ""},
		{"FANLINE_WEBPUSH_SUBJECT", "ops"},
	} {
		code, out := command(t, setting(env, c.variable, c.value), "serve")
		if code != 2 || !strings.Contains(out, c.variable+":") || strings.Contains(out, "hunter2") {
			t.Errorf("%s=%s: exit code %d:\n%s", c.variable, c.value, code, out)
		}
	}
}

func TestANumberThatOptedOutIsNotTriedAgainAndOtherChannelsGoOn(t *testing.T) {
	t.Parallel()
	w, all := newPhones(t)
	to := w.give("ada", all)
	all.Twilio.Next(to[providers.ChannelSMS], providers.Answer{Status: 400, Reason: "21610"})
	for _, word := range []string{"first", "second"} {
		must(w.app.Call(w.ctx, http.MethodPost, "/v1/notifications", map[string]any{
			"fan_id": "ada", "lane": "transactional", "type": "login_code", "title": "Your code", "body": word, "channels": []string{"sms", "email"},
		}, nil))(t)
		must(all.Phones.Wait(w.ctx, func(g providers.Got) bool {
			return g.Channel == providers.ChannelEmail && strings.Contains(g.Body, word)
		}))(t)
	}
	if got := all.Phones.Of(providers.ChannelSMS, to[providers.ChannelSMS]); len(got) != 1 || got[0].Accepted {
		t.Errorf("the number that opted out was sent to %d times", len(got))
	}
}
