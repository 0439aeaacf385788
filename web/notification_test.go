package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fanline/notifier"
)

const code = `"fan_id":"ada","lane":"transactional","type":"login_code","title":"T","body":"B"`

// accepted is what the store was asked to take in last.
func (r *rig) accepted() []notifier.NewMessage {
	r.t.Helper()
	return r.store.argsOf(r.t, "Accept")[1].([]notifier.NewMessage)
}

func TestANotificationHasTheDefaultsOfItsLane(t *testing.T) {
	t.Parallel()
	for lane, want := range map[string]notifier.NewMessage{
		"transactional": {TTL: 10 * time.Minute},
		"bulk":          {TTL: 24 * time.Hour, Inbox: true},
	} {
		r := newRig(t)
		got := r.app("POST", "/v1/notifications", `{"fan_id":"ada","lane":"`+lane+`","type":"x","title":"T","body":"two\nlines"}`).json(202)
		if got["id"] != "ntf_T" || got["duplicate"] != false {
			t.Errorf("%v", got)
		}
		if m := r.accepted()[0]; m.TTL != want.TTL || m.Inbox != want.Inbox || m.Channels != nil || m.FanID != "ada" {
			t.Errorf("%s: %+v", lane, m)
		}
		if by := r.store.argsOf(t, "Accept")[0]; by != "shop" {
			t.Errorf("API key %v", by)
		}
	}
}

func TestAFirstMessageAgainAnswers200(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.created = false
	if got := r.app("POST", "/v1/notifications", "{"+code+"}").json(200); got["duplicate"] != true || got["id"] != "ntf_T" {
		t.Errorf("%v", got)
	}
}

func TestPushIsAllThreeChannelsToDevices(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.app("POST", "/v1/notifications", "{"+code+`,"channels":["push","sms","fcm"],"inbox":true,"ttl_s":60,"data":{"a":1}}`).json(202)
	m := r.accepted()[0]
	if want := []notifier.Channel{"apns", "fcm", "sms", "webpush"}; !slices.Equal(m.Channels, want) || !m.Inbox || m.TTL != time.Minute || string(m.Data) != `{"a":1}` {
		t.Errorf("%+v", m)
	}
}

func TestABadNotificationIsRefusedByItsField(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for field, body := range map[string]string{
		"fan_id":    `{"lane":"bulk","type":"x","title":"T","body":"B"}`,
		"lane":      strings.Replace("{"+code+"}", "transactional", "turns", 1),
		"type":      strings.Replace("{"+code+"}", "login_code", "login code", 1),
		"title":     strings.Replace("{"+code+"}", `"T"`, `"T\r\nBcc: x"`, 1),
		"body":      strings.Replace("{"+code+"}", `"B"`, `"`+strings.Repeat("b", 4001)+`"`, 1),
		"data":      "{" + code + `,"data":[1]}`,
		"channels":  "{" + code + `,"channels":["fax"]}`,
		"ttl_s":     "{" + code + `,"ttl_s":0}`,
		"dedup_key": "{" + code + `,"dedup_key":""}`,
	} {
		r.app("POST", "/v1/notifications", body).problem(422, "invalid", field)
	}
	r.app("POST", "/v1/notifications", "{"+code+`,"ttl_s":2419201}`).problem(422, "invalid", "ttl_s")
	r.app("POST", "/v1/notifications", "{"+code+`,"unknown":1}`).problem(400, "invalid", "unknown")
	if calls := r.store.asked(); len(calls) > 0 {
		t.Errorf("the store was asked: %v", calls)
	}
}

func TestInvalidOnesOfABatchDoNotHarmTheOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good := func(title, lane string) string {
		return fmt.Sprintf(`{"fan_id":"ada","lane":%q,"type":"x","title":%q,"body":"B"}`, lane, title)
	}
	got := r.app("POST", "/v1/notifications:batch", `{"notifications":[`+strings.Join([]string{
		good("one", "bulk"), `{"fan_id":"ada"}`, `null`, good("two", "transactional"), `{"nonsense":1}`,
	}, ",")+`]}`).json(200)
	var words []string
	for _, item := range list(got["results"]) {
		m := item.(map[string]any)
		words = append(words, fmt.Sprint(m["status"], " ", m["id"], " ", m["code"]))
	}
	want := []string{"202 ntf_one <nil>", "422 <nil> invalid", "400 <nil> invalid", "202 ntf_two <nil>", "400 <nil> invalid"}
	if !slices.Equal(words, want) {
		t.Errorf("results %q, want %q", words, want)
	}
	if n := len(r.accepted()); n != 2 {
		t.Errorf("%d were taken in", n)
	}
	r.app("POST", "/v1/notifications:batch", `{"notifications":[`+strings.Repeat("{},", 1000)+"{}]}").problem(422, "invalid", "notifications")
}

func TestANotificationShowsItsDeliveries(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.app("GET", "/v1/notifications/ntf_1", "").json(200)
	if got["id"] != "msg:ntf_1" || got["kind"] != "message" || got["erased"] != false || got["expires_at"] == nil {
		t.Errorf("%v", got)
	}
	b, _ := json.Marshal(got["deliveries"])
	want := `[{"address":"+44*******12","channel":"sms","id":"ab12","phase":"sent","phases":[{"at":"2026-09-01T12:00:00.007Z","phase":"accepted"},{"at":"2026-09-01T12:00:00.007Z","phase":"sent","reason":"201"}]}]`
	if string(b) != want {
		t.Errorf("deliveries %s", b)
	}
}
