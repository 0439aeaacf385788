package e2e_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"fanline/sim"
	"fanline/sim/providers"
)

// spill is an instance to which everything is said that it must not pass on: texts,
// addresses and secrets, where all goes well and where all goes wrong.
type spill struct {
	*world
	words

	t        *testing.T
	all      *providers.All
	shop     *receiver
	ear      *redisEar
	password string               // of staff
	fans     map[string]*somebody // by what becomes of what is sent to them
	refused  []string             // bodies of answers from 500 on
}

// somebody is a fan with an address of each channel.
type somebody struct {
	id, token string
	to        map[string]string // addresses by channel
	text      string            // stands in each transactional message, so that providers can repeat it
}

func newSpill(t *testing.T) *spill {
	t.Helper()
	s := &spill{t: t, fans: map[string]*somebody{}}
	s.password = s.fresh(secretWord, "staff's password")
	mailPassword := s.fresh(secretWord, "password of the mail server")
	phones := providers.NewPhones(providers.PhonesConfig{})
	mail := must(providers.StartSMTP(providers.SMTPConfig{Phones: phones, User: "mailer", Password: mailPassword}))(t)
	s.world, s.all = newPhonesOn(t, phones, "FANLINE_ADMIN_PASSWORD="+s.password,
		"FANLINE_SMTP_ADDR="+mail.Addr(), "FANLINE_SMTP_USER=mailer", "FANLINE_SMTP_PASSWORD="+mailPassword)
	s.all.SMTP.Close()
	s.all.SMTP = mail
	s.addSecrets()
	s.ear = s.hearRedis()
	s.keepJobs()
	s.shop = s.receive("shop", "?key="+s.fresh(secretWord, "key in the URL of an endpoint"))
	s.add(secretWord, "secret of an endpoint", string(s.shop.secret))
	for _, fate := range []string{"well", "refused", "away", "unreachable"} {
		s.join(fate)
	}
	return s
}

// addSecrets adds those that the instance was started with.
func (s *spill) addSecrets() {
	s.add(secretWord, "API key", apiSecret)
	s.add(secretWord, "secret of the fans' tokens", jwtSecret)
	s.add(secretWord, "Twilio's token", providers.TwilioToken)
	s.add(secretWord, "an access token of Google", "ya29.")
	line := func(pem string) string { return strings.Split(pem, "\n")[1] }
	s.add(secretWord, "key of APNs", line(s.all.APNs.Key()))
	s.add(secretWord, "key of FCM", strings.Split(s.all.FCM.Credentials(), `\n`)[1])
	for _, setting := range s.in[0].env {
		if key, ok := strings.CutPrefix(setting, "FANLINE_WEBPUSH_PRIVATE_KEY="); ok {
			s.add(secretWord, "key of Web Push", key)
		}
	}
	for name, secret := range s.callbackSecrets() {
		s.add(secretWord, "secret of calls about "+name, string(secret))
	}
}

// join makes a fan of whom everything is known.
func (s *spill) join(fate string) {
	s.t.Helper()
	f := &somebody{id: s.fresh(fanID, fate), text: s.fresh(urgentText, "to "+fate)}
	s.fans[fate] = f
	f.token = sim.Token(jwtSecret, f.id, time.Hour)
	s.add(secretWord, "token of a fan", f.token[strings.LastIndexByte(f.token, '.')+1:])
	name := s.fresh(address, "endpoint of "+fate)
	sub := must(s.all.WebPush.Subscribe(name, ""))(s.t)
	s.add(address, "key of the endpoint of "+fate, sub.P256dh)
	s.add(address, "secret of the endpoint of "+fate, sub.Auth)
	apns := fmt.Sprintf("%016x%016x%016x%016x", rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64())
	number := fmt.Sprintf("4179%07d", rand.IntN(10_000_000))
	s.add(address, "token of "+fate, apns)
	s.add(address, "number of "+fate, number)
	f.to = map[string]string{
		providers.ChannelAPNs: apns, providers.ChannelFCM: s.fresh(address, "token of "+fate), providers.ChannelWebPush: sub.Endpoint,
		providers.ChannelSMS: "+" + number, providers.ChannelEmail: s.fresh(address, "mailbox of "+fate) + "@fans.example",
	}
	s.register(f, sub)
}

func (s *spill) register(f *somebody, sub providers.Subscription) {
	s.t.Helper()
	put := func(path string, body any) {
		s.t.Helper()
		must(s.app.Call(s.ctx, http.MethodPut, "/v1/fans/"+f.id+path, body, nil))(s.t)
	}
	put("", map[string]string{"phone": f.to[providers.ChannelSMS], "email": f.to[providers.ChannelEmail]})
	put("/devices/phone", map[string]string{"platform": "apns", "token": f.to[providers.ChannelAPNs]})
	put("/devices/tablet", map[string]string{"platform": "fcm", "token": f.to[providers.ChannelFCM]})
	put("/devices/laptop", map[string]any{
		"platform": "webpush", "token": sub.Endpoint, "keys": map[string]string{"p256dh": sub.P256dh, "auth": sub.Auth},
	})
}

// script has providers refuse one fan for good and another for now, and repeat what was
// sent to them, as they do.
func (s *spill) script() {
	no, later := s.fans["refused"], s.fans["away"]
	said := func(f *somebody, channel string) string { return f.to[channel] + " cannot get " + f.text }
	services := map[string]interface {
		Always(address string, a providers.Answer)
	}{
		providers.ChannelAPNs: s.all.APNs, providers.ChannelFCM: s.all.FCM, providers.ChannelWebPush: s.all.WebPush,
		providers.ChannelSMS: s.all.Twilio, providers.ChannelEmail: s.all.SMTP,
	}
	const fcm = `{"error":{"code":%d,"status":%q,"message":%q,"details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":%q}]}}`
	for channel, answers := range map[string][2]providers.Answer{
		providers.ChannelAPNs: {
			{Status: 400, Body: fmt.Sprintf(`{"reason":"BadDeviceToken","detail":%q}`, said(no, providers.ChannelAPNs))},
			{Status: 503, Body: fmt.Sprintf(`{"reason":"ServiceUnavailable","detail":%q}`, said(later, providers.ChannelAPNs))},
		},
		providers.ChannelFCM: {
			{Status: 400, Body: fmt.Sprintf(fcm, 400, "INVALID_ARGUMENT", said(no, providers.ChannelFCM), "INVALID_ARGUMENT")},
			{Status: 503, Body: fmt.Sprintf(fcm, 503, "UNAVAILABLE", said(later, providers.ChannelFCM), "UNAVAILABLE")},
		},
		providers.ChannelWebPush: {{Status: 410, Body: said(no, providers.ChannelWebPush)}, {Status: 503, Body: said(later, providers.ChannelWebPush)}},
		providers.ChannelSMS: {
			{Status: 400, Body: fmt.Sprintf(`{"code":21610,"message":%q,"status":400}`, said(no, providers.ChannelSMS))},
			{Status: 503, Body: fmt.Sprintf(`{"code":20503,"message":%q,"status":503}`, said(later, providers.ChannelSMS))},
		},
		providers.ChannelEmail: {
			{Status: 550, Reason: "5.1.1 " + said(no, providers.ChannelEmail)}, {Status: 451, Reason: "4.3.0 " + said(later, providers.ChannelEmail)},
		},
	} {
		services[channel].Always(no.to[channel], answers[0])
		services[channel].Always(later.to[channel], answers[1])
	}
}

// channels are all ways to a fan.
var channels = []string{
	"live", providers.ChannelAPNs, providers.ChannelFCM, providers.ChannelWebPush, providers.ChannelSMS, providers.ChannelEmail,
}

// send sends a fan an urgent and a bulk message by each channel.
func (s *spill) send(f *somebody) {
	s.t.Helper()
	for _, channel := range channels {
		for lane, k := range map[string]kind{"transactional": urgentText, "bulk": keptText} {
			m := s.message(f, k, channel)
			m["lane"] = lane
			must(s.app.Call(s.ctx, http.MethodPost, "/v1/notifications", m, nil))(s.t)
		}
	}
}

func (s *spill) message(f *somebody, k kind, channel string) map[string]any {
	what := " of a message by " + channel
	m := map[string]any{
		"fan_id": f.id, "lane": "transactional", "type": "login_code", "channels": []string{channel}, "ttl_s": 8,
		"title": s.fresh(k, "title"+what), "body": s.fresh(k, "body"+what), "data": map[string]string{"gate": s.fresh(k, "data"+what)},
	}
	if k == urgentText {
		m["body"] = m["body"].(string) + " " + f.text
	}
	return m
}

// say has a line hear an announcement, and of turns, whose text it returns.
func (s *spill) say(show string) (turn string) {
	s.t.Helper()
	turn = s.fresh(keptText, "body of a turn")
	must(s.app.PutShow(s.ctx, show, sim.PutShow{
		Name: "Tuesday night", Venue: "The Locksmith", StartsAt: time.Now().AddDate(0, 1, 0), Policy: &sim.Policy{ClaimWindowS: new(8)},
		Templates: map[string]map[string]sim.Template{"turn": {"en": {Title: s.fresh(keptText, "title of a turn"), Body: turn}}},
	}))(s.t)
	for _, f := range s.fans {
		must(s.app.Join(s.ctx, show, sim.Join{FanID: f.id}))(s.t)
	}
	must(s.app.Announce(s.ctx, show, sim.Announce{
		ID: "doors", Title: s.fresh(keptText, "title of an announcement"), Body: s.fresh(keptText, "body of an announcement"),
		Data: map[string]any{"gate": s.fresh(keptText, "data of an announcement")}, Channels: channels,
	}))(s.t)
	must(s.app.Free(s.ctx, show, "seats", sim.Free{Quantity: len(s.fans), Reason: "returned"}))(s.t)
	return turn
}

// browse is a member of staff who mistypes the password, logs in and announces.
func (s *spill) browse() {
	s.t.Helper()
	jar := must(cookiejar.New(nil))(s.t)
	client := &http.Client{Jar: jar, Transport: s.http.Transport}
	base := s.in[0].base
	post := func(path string, form url.Values) string {
		s.t.Helper()
		req := must(http.NewRequestWithContext(s.ctx, http.MethodPost, base+path, strings.NewReader(form.Encode())))(s.t)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res := must(client.Do(req))(s.t)
		defer res.Body.Close()
		return string(must(io.ReadAll(res.Body))(s.t))
	}
	post("/admin/login", url.Values{"name": {"admin"}, "password": {s.fresh(secretWord, "wrong password")}})
	post("/admin/login", url.Values{"name": {"admin"}, "password": {s.password}})
	for _, c := range jar.Cookies(must(url.Parse(base + "/admin/"))(s.t)) {
		s.add(secretWord, "session of staff", c.Value)
	}
	page := post("/admin/shows/hall/announce", url.Values{
		"id": {"staff-1"}, "step": {"send"}, "title": {s.fresh(keptText, "title of staff")}, "body": {s.fresh(keptText, "body of staff")},
	})
	if !strings.Contains(page, "on its way") {
		s.t.Fatalf("staff cannot announce:\n%s", page)
	}
}

// ask makes a call of its own and returns the answer.
func (s *spill) ask(method, path, bearer, body string, header ...string) (int, string) {
	s.t.Helper()
	req := must(http.NewRequestWithContext(s.ctx, method, s.in[0].base+path, strings.NewReader(body)))(s.t)
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res := must(s.http.Do(req))(s.t)
	defer res.Body.Close()
	text := string(must(io.ReadAll(res.Body))(s.t))
	if res.StatusCode >= 500 {
		s.refused = append(s.refused, text)
	}
	return res.StatusCode, text
}

// mistake makes calls that are refused.
func (s *spill) mistake() {
	s.t.Helper()
	f, bad := s.fans["well"], func() string { return s.fresh(urgentText, "a call that was refused") }
	for _, c := range []struct {
		method, path, bearer, body string
		status                     int
	}{
		{"POST", "/v1/notifications", apiSecret, `{"fan_id":"` + f.id + `","lane":"urgent","type":"x","title":"` + bad() + `","body":"` + bad() + `"}`, 422},
		{"POST", "/v1/notifications", apiSecret, `{"` + bad() + `":1}`, 422},
		{"POST", "/v1/notifications", apiSecret, `{"title":` + bad(), 400},
		{"PUT", "/v1/fans/" + f.id, apiSecret, `{"phone":"` + s.fresh(address, "no number") + `"}`, 422},
		{"PUT", "/v1/me/devices/phone", f.token, `{"platform":"apns","token":"` + s.fresh(address, "no token") + `"}`, 422},
		{"GET", "/v1/shows?key=" + s.fresh(secretWord, "wrong API key in a query"), s.fresh(secretWord, "wrong API key"), "", 401},
		{"GET", "/v1/me/inbox", sim.Token(s.fresh(secretWord, "another secret"), f.id, time.Hour), "", 401},
		{"POST", "/v1/callbacks/email", "", `{"event":"bounced","email":"` + s.fresh(address, "mailbox in a forged call") + `"}`, 403},
		{"POST", "/u/" + s.fresh(secretWord, "forged link"), "", "", 404},
	} {
		if status, body := s.ask(c.method, c.path, c.bearer, c.body); status != c.status && (status != 400 || c.status != 422) {
			s.t.Errorf("%s %.40s is answered %d %s", c.method, c.path, status, body)
		}
	}
	form := providers.InboundForm("SMforged", f.to[providers.ChannelSMS], providers.TwilioFrom, bad()).Encode()
	if status := s.callBack("/v1/callbacks/twilio", map[string]string{
		"Content-Type": "application/x-www-form-urlencoded", "X-Twilio-Signature": s.fresh(secretWord, "signature"),
	}, form); status != http.StatusForbidden {
		s.t.Errorf("a forged call of Twilio is answered %d", status)
	}
	must(s.all.Twilio.Reply(s.ctx, s.in[0].base+"/v1/callbacks/twilio", f.to[providers.ChannelSMS], "STOP "+bad()))(s.t)
}

// fail makes calls and a job that the database refuses, with a row to tell of.
func (s *spill) fail() {
	s.t.Helper()
	f := s.fans["well"]
	broken := func(table, check string, while func()) {
		s.t.Helper()
		s.sql(`ALTER TABLE ` + table + ` ADD CONSTRAINT broken CHECK (` + check + `) NOT VALID`)
		while()
		s.sql(`ALTER TABLE ` + table + ` DROP CONSTRAINT broken`)
	}
	fails := func(method, path, bearer, body string) {
		s.t.Helper()
		status, text := s.ask(method, path, bearer, body)
		if status != 500 || !strings.Contains(text, `"internal"`) {
			s.t.Errorf("%s is answered %d %s", path, status, text)
		}
	}
	broken("messages", "false", func() {
		fails("POST", "/v1/notifications", apiSecret, `{"fan_id":"`+f.id+`","lane":"transactional","type":"x","title":"`+s.fresh(urgentText, "broken")+`","body":"b"}`)
	})
	broken("devices", "false", func() {
		fails("PUT", "/v1/me/devices/watch", f.token, `{"platform":"fcm","token":"`+s.fresh(address, "broken token")+`"}`)
	})
	broken("fans", "email IS NULL OR fan_id <> '"+f.id+"'", func() {
		fails("PUT", "/v1/fans/"+f.id, apiSecret, `{"email":"`+s.fresh(address, "broken mailbox")+`@fans.example"}`)
	})
	broken("deliveries", "false", func() {
		must(s.app.Call(s.ctx, http.MethodPost, "/v1/notifications", s.message(f, urgentText, providers.ChannelFCM), nil))(s.t)
		s.until(20*time.Second, "a job has failed", func() bool {
			return s.number(`SELECT count(*) FROM river_job WHERE errors IS NOT NULL`) > 0
		})
	})
}

var unsubscribe = regexp.MustCompile(`/u/([A-Za-z0-9_-]{20,})`)

// leave unsubscribes by the link of a mail.
func (s *spill) leave() {
	s.t.Helper()
	to := s.fans["well"].to[providers.ChannelEmail]
	mail := must(s.all.Phones.Wait(s.ctx, func(g providers.Got) bool { return g.Address == to && unsubscribe.Match(g.Payload) }))(s.t)
	token := string(unsubscribe.FindSubmatch(mail.Payload)[1])
	s.add(secretWord, "unsubscribe token", token)
	for _, method := range []string{"GET", "POST"} {
		if status, body := s.ask(method, "/u/"+token, "", ""); status != http.StatusOK {
			s.t.Errorf("%s of the link is answered %d %s", method, status, body)
		}
	}
}
