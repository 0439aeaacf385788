package web

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// wrong are bodies and targets that are refused, with the input that is named.
var wrong = []struct {
	fan          bool
	method, path string
	body         string
	field        string
}{
	{false, "PUT", "/v1/shows/s1", `{"name":7,"venue":"V","starts_at":"2026-09-01T12:00:00Z"}`, "name"},
	{false, "PUT", "/v1/shows/s1", `{"name":"","venue":"V","starts_at":"2026-09-01T12:00:00Z"}`, "name"},
	{false, "PUT", "/v1/shows/s1", `{"name":"  ","venue":"V","starts_at":"2026-09-01T12:00:00Z"}`, "name"},
	{false, "PUT", "/v1/shows/s1", `{"venue":"V","starts_at":"2026-09-01T12:00:00Z"}`, "name"},
	{false, "PUT", "/v1/shows/s1", `{"name":"a\r\nBcc: b@c","venue":"V","starts_at":"2026-09-01T12:00:00Z"}`, "name"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V\u0000","starts_at":"2026-09-01T12:00:00Z"}`, "venue"},
	{false, "PUT", "/v1/shows/s1", `{"name":"` + strings.Repeat("ü", 201) + `","venue":"V","starts_at":"2026-09-01T12:00:00Z"}`, "name"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"tomorrow"}`, "starts_at"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":1780000000}`, "starts_at"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V"}`, "starts_at"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","sales_close_at":"2026-09-02T12:00:00Z"}`, "sales_close_at"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","time_zone":"Local"}`, "time_zone"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","url":"javascript:x"}`, "url"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","paused":"yes"}`, "paused"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","policy":7}`, "policy"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","policy":{"mode":"all"}}`, "policy.mode"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","policy":{"fans_per_seat":0.5}}`, "policy.fans_per_seat"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","policy":{"fans_per_seat":1.0005}}`, "policy.fans_per_seat"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","policy":{"claim_window_s":604801}}`, "policy.claim_window_s"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","policy":{"claim_window_s":60.5}}`, "policy.claim_window_s"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","policy":{"hold_s":0}}`, "policy.hold_s"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","policy":{"release_per_s":0}}`, "policy.release_per_s"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","policy":{"max_missed":1001}}`, "policy.max_missed"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","policy":{"strategy":"push"}}`, "policy.strategy"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","policy":{"quiet_hours":{"from":"25:00","to":"08:00","time_zone":"UTC"}}}`, "policy.quiet_hours.from"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","policy":{"quiet_hours":{"from":"22:00","to":8,"time_zone":"UTC"}}}`, "policy.quiet_hours.to"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","policy":{"quiet":1}}`, "policy.quiet"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","templates":{"turn":{"en":{"title":"T","body":7}}}}`, "templates.turn.en.body"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","templates":{"turn":{"en":{"title":"T","body":"B","html":"X"}}}}`, "templates.turn.en.html"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","templates":{"Turn!":{"en":{"title":"T","body":"B"}}}}`, "templates.Turn!"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","templates":{"result.lost":{"en":{"title":"T","body":"B"}}}}`, "templates.result.lost"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","venue":"V","starts_at":"2026-09-01T12:00:00Z","templates":{"turn":{"e\u0000":{"title":"T","body":"B"}}}}`, "templates.turn"},
	{false, "PUT", "/v1/shows/s1", `{"Name":"N"}`, "Name"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N","name":"M"}`, "name"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N"} {}`, "body"},
	{false, "PUT", "/v1/shows/s1", `{"name":"N"`, "body"},
	{false, "PUT", "/v1/shows/s1", `{"name":'N'}`, "body"},
	{false, "PUT", "/v1/shows/s1", "{\"name\":\"\xff\"}", "body"},
	{false, "PUT", "/v1/shows/s1", `[]`, "body"},
	{false, "PUT", "/v1/shows/s1", `null`, "body"},
	{false, "PUT", "/v1/shows/-s1", goodShow, "show"},
	{false, "PUT", "/v1/shows/" + strings.Repeat("s", 65), goodShow, "show"},
	{false, "PUT", "/v1/shows/s1?dry_run=true", goodShow, "dry_run"},
	{false, "POST", "/v1/shows/s1/announcements", `{"body":"B"}`, "title"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":"","body":"B"}`, "title"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":"T"}`, "body"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":7,"body":"B"}`, "title"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":"T\nU","body":"B"}`, "title"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":"` + strings.Repeat("ü", 201) + `","body":"B"}`, "title"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":"T","body":"` + strings.Repeat("ü", 4001) + `"}`, "body"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":"T","body":"B\u0007"}`, "body"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":"T","body":"B","data":[1]}`, "data"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":"T","body":"B","data":"x"}`, "data"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":"T","body":"B","data":{"x":"` + strings.Repeat("x", 4096) + `"}}`, "data"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":"T","body":"B","channels":["pigeon"]}`, "channels"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":"T","body":"B","channels":"live"}`, "channels"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":"T","body":"B","channels":["live",null]}`, "channels[1]"},
	{false, "POST", "/v1/shows/s1/announcements", `{"id":"","title":"T","body":"B"}`, "id"},
	{false, "POST", "/v1/shows/s1/announcements", `{"id":"no spaces","title":"T","body":"B"}`, "id"},
	{false, "POST", "/v1/shows/s1/announcements", `{"title":"T","body":"B","lane":"bulk"}`, "lane"},
	{false, "POST", "/v1/shows/-s/announcements", goodAnnouncement, "show"},
	{false, "PUT", "/v1/webhook-endpoints/w", `{"url":null}`, "url"},
	{false, "POST", "/v1/fans/ada/sign-out", `{"device":""}`, "device"},
	{false, "POST", "/v1/fans/ada/sign-out", `{"device":"no spaces"}`, "device"},
	{false, "GET", "/v1/shows/a%00b", "", "show"},
	{false, "GET", "/v1/shows?limit=0", "", "limit"},
	{false, "GET", "/v1/shows?limit=501", "", "limit"},
	{false, "GET", "/v1/shows?limit=many", "", "limit"},
	{false, "GET", "/v1/shows?cursor=x", "", "cursor"},
	{false, "GET", "/v1/shows?page=2", "", "page"},
	{false, "GET", "/v1/shows?limit=1&limit=2", "", "limit"},
	{false, "GET", "/v1/shows?limit=%zz", "", "query"},
	{false, "GET", "/v1/shows?limit=1;cursor=x", "", "query"},
	{false, "DELETE", "/v1/shows/s%2F1", "", "show"},
	{false, "POST", "/v1/shows/s1/entries", `{}`, "fan_id"},
	{false, "POST", "/v1/shows/s1/entries", `{"fan_id":"a b"}`, "fan_id"},
	{false, "POST", "/v1/shows/s1/entries", `{"fan_id":["ada"]}`, "fan_id"},
	{false, "POST", "/v1/shows/s1/entries", `{"fan_id":"ada","party_size":0}`, "party_size"},
	{false, "POST", "/v1/shows/s1/entries", `{"fan_id":"ada","party_size":21}`, "party_size"},
	{false, "POST", "/v1/shows/s1/entries", `{"fan_id":"ada","party_size":"2"}`, "party_size"},
	{false, "POST", "/v1/shows/s1/entries", `{"fan_id":"ada","party_size":1e99}`, "party_size"},
	{false, "POST", "/v1/shows/s1/entries", `{"fan_id":"ada","tier":"` + strings.Repeat("t", 65) + `"}`, "tier"},
	{false, "POST", "/v1/shows/s1/entries", `{"fan_id":"ada","joined_at":"2026-13-01T00:00:00Z"}`, "joined_at"},
	{false, "POST", "/v1/shows/s1/entries", `{"fan_id":"ada","joined":1}`, "joined"},
	{false, "POST", "/v1/shows/s!/entries", `{"fan_id":"ada"}`, "show"},
	{false, "GET", "/v1/shows/s1/entries?state=gone", "", "state"},
	{false, "GET", "/v1/shows/s1/entries?after_place=front", "", "after_place"},
	{false, "GET", "/v1/shows/s1/entries/ada%20l", "", "fan"},
	{false, "PATCH", "/v1/shows/s1/entries/ada", `{}`, "party_size"},
	{false, "PATCH", "/v1/shows/s1/entries/ada", `{"party_size":99}`, "party_size"},
	{false, "PATCH", "/v1/shows/s1/entries/ada", `{"tier":"\n"}`, "tier"},
	{false, "PATCH", "/v1/shows/s1/entries/ada", `{"move":"back","reason":"r"}`, "move"},
	{false, "PATCH", "/v1/shows/s1/entries/ada", `{"move":"front"}`, "reason"},
	{false, "PATCH", "/v1/shows/s1/entries/ada", `{"move":"front","reason":" \u00a0 "}`, "reason"},
	{false, "PATCH", "/v1/shows/s1/entries/ada", `{"place":1}`, "place"},
	{false, "DELETE", "/v1/shows/s1/entries/ada?removed=maybe", "", "removed"},
	{false, "DELETE", "/v1/shows/s1/entries/ada?removed=true&reason=" + strings.Repeat("r", 501), "", "reason"},
	{false, "DELETE", "/v1/shows/s1/entries/ada?removed=true&reason=a%00b", "", "reason"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"reason":"returned"}`, "quantity"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"quantity":0,"reason":"returned"}`, "quantity"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"quantity":0,"seats":["A-1"],"reason":"returned"}`, "quantity"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"quantity":-1,"reason":"returned"}`, "quantity"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"quantity":100001,"reason":"returned"}`, "quantity"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"quantity":1,"seats":["A-1"],"reason":"returned"}`, "quantity"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"seats":"A-1","reason":"returned"}`, "seats"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"seats":["A-1","A-1"],"reason":"returned"}`, "seats"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"seats":["A-1",2],"reason":"returned"}`, "seats[1]"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"seats":["A-1",null],"reason":"returned"}`, "seats[1]"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"seats":[""],"reason":"returned"}`, "seats"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"quantity":1,"reason":"fire"}`, "reason"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"quantity":1}`, "reason"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"quantity":1,"reason":"returned","adjacent":true}`, "adjacent"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"quantity":1,"reason":"returned","tier":7}`, "tier"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"quantity":1,"reason":"returned","policy":{"max_missed":3}}`, "policy.max_missed"},
	{false, "PUT", "/v1/shows/s1/openings/o1", `{"quantity":1,"reason":"returned","policy":{"hold_s":86401}}`, "policy.hold_s"},
	{false, "PUT", "/v1/shows/s1/openings/o%21", goodOpening, "opening"},
	{false, "POST", "/v1/shows/s1/openings:batch", `{"openings":7}`, "openings"},
	{false, "POST", "/v1/shows/s1/openings:batch", `{"items":[]}`, "items"},
	{false, "GET", "/v1/shows/s1/openings?cursor=%00", "", "cursor"},
	{false, "GET", "/v1/shows/s1/openings/o1/waves?limit=-1", "", "limit"},
	{false, "POST", "/v1/shows/s1/openings/o1/turns", `{"fan_id":"ada"}`, "reason"},
	{false, "POST", "/v1/shows/s1/openings/o1/turns", `{"fan_id":"","reason":"r"}`, "fan_id"},
	{false, "POST", "/v1/shows/s1/openings/o1/claims", `{"fan_id":"/etc"}`, "fan_id"},
	{false, "POST", "/v1/shows/s1/openings/o1/claims", ``, ""},
	{false, "POST", "/v1/claims/c1/extend", `{"by_s":0}`, "by_s"},
	{false, "POST", "/v1/claims/c1/extend", `{"by_s":9223372036854775807}`, "by_s"},
	{false, "POST", "/v1/claims/c1/extend", `{}`, "by_s"},
	{false, "POST", "/v1/claims/c1/release", `{"reason":7}`, "reason"},
	{false, "POST", "/v1/claims/c1/release", `{"why":"x"}`, "why"},
	{false, "PUT", "/v1/fans/a%20b", `{}`, "fan"},
	{false, "PUT", "/v1/fans/ada", `{"email":"ada"}`, "email"},
	{false, "PUT", "/v1/fans/ada", `{"email":"Ada <ada@example.com>"}`, "email"},
	{false, "PUT", "/v1/fans/ada", `{"email":"ada@example.com, eve@example.com"}`, "email"},
	{false, "PUT", "/v1/fans/ada", `{"email":"ada@example.com\r\nBcc: eve@example.com"}`, "email"},
	{false, "PUT", "/v1/fans/ada", `{"email":"ada@example.com\u0000"}`, "email"},
	{false, "PUT", "/v1/fans/ada", `{"email":7}`, "email"},
	{false, "PUT", "/v1/fans/ada", `{"phone":"020 7946 0018"}`, "phone"},
	{false, "PUT", "/v1/fans/ada", `{"phone":"+44 20 7946 0018, +44 20 7946 0019"}`, "phone"},
	{false, "PUT", "/v1/fans/ada", `{"phone":442079460018}`, "phone"},
	{false, "PUT", "/v1/fans/ada", `{"locale":"english please"}`, "locale"},
	{false, "PUT", "/v1/fans/ada", `{"time_zone":"Europe/Metropolis"}`, "time_zone"},
	{false, "PUT", "/v1/fans/ada", `{"time_zone":"Local"}`, "time_zone"},
	{false, "PUT", "/v1/fans/ada", `{"channels":["sms"]}`, "channels"},
	{false, "PUT", "/v1/fans/ada", `{"channels":{"turn":"sms"}}`, "channels.turn"},
	{false, "PUT", "/v1/fans/ada", `{"channels":{"turn":["sms","pigeon"]}}`, "channels.turn[1]"},
	{false, "PUT", "/v1/fans/ada", `{"channels":{"turn":[null]}}`, "channels.turn[0]"},
	{false, "PUT", "/v1/fans/ada", `{"channels":{"result":["sms"]}}`, "channels.result"},
	{false, "PUT", "/v1/fans/ada", `{"quiet_hours":{"from":"24:00","to":"07:00"}}`, "quiet_hours.from"},
	{false, "PUT", "/v1/fans/ada", `{"quiet_hours":{"from":"22:00"}}`, "quiet_hours.to"},
	{false, "PUT", "/v1/fans/ada", `{"quiet_hours":{"from":"22:00","to":"7:00"}}`, "quiet_hours.to"},
	{false, "PUT", "/v1/fans/ada", `{"quiet_hours":{"from":"22:00","to":"07:00","time_zone":"UTC"}}`, "quiet_hours.time_zone"},
	{false, "PUT", "/v1/fans/ada", `{"turn_at_night":"no"}`, "turn_at_night"},
	{false, "PUT", "/v1/fans/ada", `{"digest":{"hour":24}}`, "digest.hour"},
	{false, "PUT", "/v1/fans/ada", `{"digest":{}}`, "digest.hour"},
	{false, "PUT", "/v1/fans/ada", `{"digest":9}`, "digest"},
	{false, "PUT", "/v1/fans/ada", `{"name":"Ada"}`, "name"},
	{false, "PUT", "/v1/fans/ada/devices/my%20phone", goodDevice, "device"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"token":"9f86d081884c7d65"}`, "platform"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"sms","token":"x"}`, "platform"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"apns"}`, "token"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"apns","token":"<9f86d081 884c7d65>"}`, "token"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"apns","token":"not hexadecimal!"}`, "token"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"fcm","token":"` + strings.Repeat("t", 2001) + `"}`, "token"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"fcm","token":"a\nb"}`, "token"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"apns","token":"9f86d081884c7d65","environment":"staging"}`, "environment"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"apns","token":"9f86d081884c7d65","topic":"com example"}`, "topic"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"fcm","token":"x","topic":"com.example"}`, "topic"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"fcm","token":"x","keys":` + goodKeys + `}`, "keys"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"webpush","token":"http://push.example.com/x","keys":` + goodKeys + `}`, "token"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"webpush","token":"https://localhost/x","keys":` + goodKeys + `}`, "token"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"webpush","token":"https://169.254.169.254/x","keys":` + goodKeys + `}`, "token"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"webpush","token":"https://[::1]/x","keys":` + goodKeys + `}`, "token"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"webpush","token":"https://2130706433/x","keys":` + goodKeys + `}`, "token"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"webpush","token":"https://redis.internal/x","keys":` + goodKeys + `}`, "token"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"webpush","token":"https://push.example.com/x"}`, "keys.p256dh"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"webpush","token":"https://push.example.com/x","keys":{"p256dh":"AAAA","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}`, "keys.p256dh"},
	{false, "PUT", "/v1/fans/ada/devices/phone", `{"platform":"webpush","token":"https://push.example.com/x","keys":` + strings.Replace(goodKeys, "BTBZ", "", 1) + `}`, "keys.auth"},
	{false, "GET", "/v1/fans/ada/devices/-", "", "device"},
	{true, "PUT", "/v1/me/devices/-", goodDevice, "device"},
	{true, "PUT", "/v1/me/preferences", `{"quiet_hours":{"from":"","to":"07:00"}}`, "quiet_hours.from"},
	{true, "PUT", "/v1/me/preferences", `{"phone":"+442079460018"}`, "phone"},
	{true, "GET", "/v1/me/inbox?unread=perhaps", "", "unread"},
	{true, "GET", "/v1/me/inbox?kind=spam", "", "kind"},
	{true, "POST", "/v1/me/inbox/read", `{}`, "ids"},
	{true, "POST", "/v1/me/inbox/read", `{"ids":["a"],"all_before":"2026-09-01T12:00:00Z"}`, "all_before"},
	{true, "POST", "/v1/me/inbox/read", `{"ids":"a"}`, "ids"},
	{true, "POST", "/v1/me/inbox/read", `{"ids":["a","\u0000"]}`, "ids[1]"},
	{true, "POST", "/v1/me/inbox/read", `{"all_before":"noon"}`, "all_before"},
	{true, "DELETE", "/v1/me/entries/-", "", "show"},
	{true, "POST", "/v1/me/turns/s1/-/claim", "", "opening"},
}

func TestEveryWrongInputIsNamedAndGoesNoFurther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range wrong {
		t.Run(c.method+" "+c.path+" "+c.body[:min(len(c.body), 60)], func(t *testing.T) {
			r.t = t
			w := r.call(c.fan, c.method, c.path, c.body)
			if w.Code != 400 && w.Code != 422 {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			w.problem(w.Code, "invalid", c.field)
		})
	}
	if got := r.store.asked(); len(got) > 0 {
		t.Errorf("the store was called: %v", got)
	}
}

// The document must not promise more than the rules keep, nor less: what is sent
// in the tests is judged alike by both, field by field.
func TestSchemasAcceptWhatIsAccepted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range calls {
		op := r.operation(c.method, c.path)
		if c.body == "" || op.RequestBody.Content["application/json"] == nil {
			continue
		}
		if errs := r.validate(op, c.body); len(errs) > 0 {
			t.Errorf("%s %s: %v", c.method, c.path, errs)
		}
	}
}

func TestSchemasRefuseTypesAndUnknownFields(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/v1/shows/s1", `{"name":7}`},
		{"PUT", "/v1/shows/s1", `{"names":"N"}`},
		{"POST", "/v1/shows/s1/entries", `{}`},
		{"POST", "/v1/shows/s1/entries", `{"fan_id":"ada","party_size":21}`},
		{"PUT", "/v1/shows/s1/openings/o1", `{"quantity":1,"reason":"fire"}`},
		{"POST", "/v1/claims/c1/extend", `{}`},
	} {
		if errs := r.validate(r.operation(c.method, c.path), c.body); len(errs) == 0 {
			t.Errorf("%s %s: the schema takes %s", c.method, c.path, c.body)
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	big := `{"fan_id":"` + strings.Repeat("a", maxBody) + `"}`
	r.app("POST", "/v1/shows/s1/entries", big).problem(413, "too_large", "")
	exact := `{"fan_id":"ada"` + strings.Repeat(" ", maxBody-len(`{"fan_id":"ada"}`)) + `}`
	r.app("POST", "/v1/shows/s1/entries", exact).json(201)
}

func TestBodyTypes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for ct, status := range map[string]int{
		"":                                  201,
		"application/json":                  201,
		"application/json; charset=utf-8":   201,
		"application/json;charset=UTF-8":    201,
		"APPLICATION/JSON":                  201,
		"application/json; charset=latin-1": 415,
		"application/x-www-form-urlencoded": 415,
		"text/plain":                        415,
		"nonsense;;":                        415,
	} {
		req := httptest.NewRequest("POST", "/v1/shows/s1/entries", strings.NewReader(`{"fan_id":"ada"}`))
		req.Header.Set("Authorization", "bearer "+appSecret)
		if ct != "" {
			req.Header.Set("Content-Type", ct)
		}
		if w := r.send(req); w.Code != status {
			t.Errorf("%q: %d, want %d: %s", ct, w.Code, status, w.Body)
		} else if status == 415 {
			w.problem(415, "invalid", "Content-Type")
		}
	}
}

// operation is the documented operation that a target belongs to.
func (r *rig) operation(method, target string) *huma.Operation {
	r.t.Helper()
	path, _, _ := strings.Cut(target, "?")
	for pattern, item := range r.server.api.OpenAPI().Paths {
		if matches(pattern, path) {
			op := map[string]*huma.Operation{
				"GET": item.Get, "PUT": item.Put, "POST": item.Post, "PATCH": item.Patch, "DELETE": item.Delete,
			}[method]
			if op != nil {
				return op
			}
		}
	}
	r.t.Fatalf("%s %s is not documented", method, target)
	return nil
}

func matches(pattern, path string) bool {
	p, q := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(p) != len(q) {
		return false
	}
	for i := range p {
		if p[i] != q[i] && !strings.HasPrefix(p[i], "{") {
			return false
		}
	}
	return true
}

func (r *rig) validate(op *huma.Operation, body string) []error {
	r.t.Helper()
	var v any
	mustJSON(r.t, body, &v)
	res := &huma.ValidateResult{}
	huma.Validate(r.server.api.OpenAPI().Components.Schemas, op.RequestBody.Content["application/json"].Schema,
		huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, v, res)
	return res.Errors
}
