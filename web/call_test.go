package web

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fanline/waitlist"
)

const (
	goodShow         = `{"name":"Tuesday","venue":"The Locksmith","starts_at":"2026-09-01T12:00:00.007Z"}`
	goodOpening      = `{"quantity":2,"reason":"returned"}`
	goodAnnouncement = `{"id":"a1","title":"Doors at eight","body":"Two\nlines","data":{"gate":"B"},"channels":["push","live"]}`
)

// calls are all calls with a body that is accepted, and what they answer.
var calls = []struct {
	fan          bool
	method, path string
	body         string
	status       int
	store        []string
}{
	{false, "PUT", "/v1/shows/s1", goodShow, 201, []string{"PutShow"}},
	{false, "GET", "/v1/shows", "", 200, []string{"Shows"}},
	{false, "GET", "/v1/shows/s1", "", 200, []string{"Show"}},
	{false, "DELETE", "/v1/shows/s1", "", 204, []string{"CancelShow"}},
	{false, "POST", "/v1/shows/s1/entries", `{"fan_id":"ada"}`, 201, []string{"Join", "Entry"}},
	{false, "GET", "/v1/shows/s1/entries?state=waiting&after_place=-3&limit=500", "", 200, []string{"Entries"}},
	{false, "GET", "/v1/shows/s1/entries/ada", "", 200, []string{"Entry"}},
	{false, "PATCH", "/v1/shows/s1/entries/ada", `{"party_size":2,"tier":"floor","move":"front","reason":"lost in the post"}`, 200, []string{"ChangeEntry"}},
	{false, "DELETE", "/v1/shows/s1/entries/ada", "", 204, []string{"Leave"}},
	{false, "DELETE", "/v1/shows/s1/entries/ada?removed=true&reason=tout", "", 204, []string{"Leave"}},
	{false, "POST", "/v1/shows/s1/entries:import", `{"fan_id":"ada"}`, 200, []string{"NameFans", "Join"}},
	{false, "PUT", "/v1/shows/s1/openings/o1", goodOpening, 201, []string{"Record"}},
	{false, "POST", "/v1/shows/s1/openings:batch", `{"openings":[{"id":"o1","quantity":2,"reason":"returned"}]}`, 200, []string{"Record"}},
	{false, "GET", "/v1/shows/s1/openings", "", 200, []string{"Openings", "NewestWaves"}},
	{false, "GET", "/v1/shows/s1/openings/o1", "", 200, []string{"Opening", "WaveReports"}},
	{false, "GET", "/v1/shows/s1/openings/o1/waves", "", 200, []string{"WaveReports"}},
	{false, "DELETE", "/v1/shows/s1/openings/o1", "", 204, []string{"CancelOpening"}},
	{false, "POST", "/v1/shows/s1/openings/o1/turns", `{"fan_id":"ada","reason":"promised"}`, 204, []string{"GiveTurn"}},
	{false, "GET", "/v1/shows/s1/openings/o1/turns/ada", "", 200, []string{"Facts"}},
	{false, "POST", "/v1/shows/s1/openings/o1/claims", `{"fan_id":"ada"}`, 201, []string{"Claim"}},
	{false, "GET", "/v1/claims/c1", "", 200, []string{"ClaimByID"}},
	{false, "POST", "/v1/claims/c1/confirm", "", 200, []string{"Confirm"}},
	{false, "POST", "/v1/claims/c1/release", `{"reason":"changed their mind"}`, 200, []string{"Release"}},
	{false, "POST", "/v1/claims/c1/release", "", 200, []string{"Release"}},
	{false, "POST", "/v1/claims/c1/extend", `{"by_s":60}`, 200, []string{"Extend"}},
	{false, "GET", "/v1/shows/s1/trace/ada", "", 200, []string{"Trace"}},
	{false, "POST", "/v1/shows/s1/announcements", goodAnnouncement, 202, []string{"Announce"}},
	{false, "PUT", "/v1/fans/ada", `{"email":"ada@example.com","quiet_hours":{"from":"22:00","to":"07:00"},"digest":null}`, 200, []string{"PutProfile"}},
	{false, "GET", "/v1/fans/ada", "", 200, []string{"Profile"}},
	{false, "PUT", "/v1/fans/ada/devices/phone", goodDevice, 201, []string{"PutDevice"}},
	{false, "GET", "/v1/fans/ada/devices/phone", "", 200, []string{"Device"}},
	{false, "DELETE", "/v1/fans/ada/devices/phone", "", 204, []string{"ForgetDevice"}},
	{false, "POST", "/v1/fans/ada/sign-out", "", 204, []string{"FindFan", "ForgetDevice"}},
	{false, "POST", "/v1/fans/ada/sign-out", `{"device":"phone"}`, 204, []string{"FindFan", "ForgetDevice"}},
	{true, "GET", "/v1/me/preferences", "", 200, []string{"Profile"}},
	{true, "PUT", "/v1/me/preferences", `{"channels":{"turn":["push","sms"],"message":null},"turn_at_night":false}`, 200, []string{"PutProfile"}},
	{true, "PUT", "/v1/me/devices/phone", goodDevice, 201, []string{"PutDevice"}},
	{true, "DELETE", "/v1/me/devices/phone", "", 204, []string{"ForgetDevice"}},
	{false, "DELETE", "/v1/fans/ada", "", 204, []string{"FindFan", "EraseFan"}},
	{true, "GET", "/v1/me/inbox?unread=true&kind=turn", "", 200, []string{"Items", "Wake"}},
	{true, "POST", "/v1/me/inbox/opened", `{"ids":["turn:s1:o1"]}`, 204, []string{"Wake", "Opened"}},
	{true, "POST", "/v1/me/inbox/read", `{"ids":["turn:s1:o1"]}`, 200, []string{"Wake", "MarkRead"}},
	{true, "POST", "/v1/me/inbox/read", `{"all_before":"2026-09-01T12:00:00Z"}`, 200, []string{"Wake", "MarkAllRead"}},
	{true, "GET", "/v1/me/entries", "", 200, []string{"FanEntries"}},
	{true, "DELETE", "/v1/me/entries/s1", "", 204, []string{"Leave"}},
	{true, "GET", "/v1/me/turns/s1/o1", "", 200, []string{"Facts"}},
	{true, "POST", "/v1/me/turns/s1/o1/claim", "", 201, []string{"Claim"}},
	{true, "POST", "/v1/me/turns/s1/o1/decline", "", 204, []string{"Decline"}},
}

func (r *rig) call(fan bool, method, path, body string) *response {
	r.t.Helper()
	if fan {
		return r.fan(method, path, body)
	}
	return r.app(method, path, body)
}

// stamp is a time as the contract writes it.
var stamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

func TestEveryCallReachesTheLineAndAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range calls {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			w := r.call(c.fan, c.method, c.path, c.body)
			if w.Code != c.status {
				t.Fatalf("status %d, want %d: %s", w.Code, c.status, w.Body)
			}
			if diff := cmp.Diff(c.store, r.store.asked()); diff != "" {
				t.Errorf("store calls (-want +got):\n%s", diff)
			}
			if c.status == 204 {
				if w.Body.Len() > 0 {
					t.Errorf("204 with a body: %s", w.Body)
				}
				return
			}
			if ct := w.Header().Get("Content-Type"); ct != "application/json" {
				t.Errorf("Content-Type %q", ct)
			}
			checkTimes(t, "", w.json(c.status))
		})
	}
}

func checkTimes(t *testing.T, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			checkTimes(t, path+"."+k, e)
		}
	case []any:
		for _, e := range v {
			checkTimes(t, path, e)
		}
	case string:
		if strings.HasSuffix(path, "_at") && !stamp.MatchString(v) {
			t.Errorf("%s is %q", path, v)
		}
	}
}

func TestWhatStandsAlreadyIs200(t *testing.T) {
	t.Parallel()
	for _, c := range calls {
		if c.status != 201 {
			continue
		}
		r := newRig(t)
		r.store.created = false
		if w := r.call(c.fan, c.method, c.path, c.body); w.Code != 200 {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}

func TestAnswersHaveTheContractsFields(t *testing.T) {
	t.Parallel()
	keys := func(v any) []string {
		var names []string
		for k := range v.(map[string]any) {
			names = append(names, k)
		}
		slices.Sort(names)
		return names
	}
	r := newRig(t)
	first := func(path string) any { return list(r.app("GET", path, "").json(200)["items"])[0] }
	for name, c := range map[string]struct {
		got  any
		want string
	}{
		"entry":   {r.app("POST", "/v1/shows/s1/entries", `{"fan_id":"ada"}`).json(201), "dormant entry fan_id joined_at party_size place position state tier"},
		"entries": {first("/v1/shows/s1/entries"), "dormant entry fan_id joined_at party_size place position state tier"},
		"opening": {
			r.app("GET", "/v1/shows/s1/openings/o1", "").json(200),
			"adjacent final_at id mode quantity reason recorded_at seats_free seats_held seats_left show_id state strategy tier told waves",
		},
		"wave":    {first("/v1/shows/s1/openings/o1/waves"), "closes_at fans from_place number opens_at skipped to_place"},
		"verdict": {r.app("GET", "/v1/shows/s1/openings/o1/turns/ada", "").json(200), "ahead fan_id opening_id reason show_id state"},
		"claim": {
			r.app("GET", "/v1/claims/c1", "").json(200),
			"claimed_at expires_at fan_id id labels opening_id seats show_id state",
		},
		"inbox": {r.fan("GET", "/v1/me/inbox", "").json(200), "items next_cursor unread"},
		"item": {
			list(r.fan("GET", "/v1/me/inbox", "").json(200)["items"])[0],
			"body created_at id kind lane opening_id opens_at read_at seats show_id state title",
		},
		"own entry": {
			list(r.fan("GET", "/v1/me/entries", "").json(200)["items"])[0],
			"dormant entry fan_id joined_at party_size place position show_id state tier",
		},
		"policy": {
			r.app("GET", "/v1/shows/s1", "").json(200)["policy"],
			"claim_window_s fans_per_seat hold_s max_missed mode quiet_hours release_per_s strategy",
		},
		"import": {r.app("POST", "/v1/shows/s1/entries:import", "").json(200), "errors existing imported rejected"},
	} {
		if diff := cmp.Diff(strings.Fields(c.want), keys(c.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEachItemOfABatchIsAnsweredForItself(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	body := `{"openings":[{"id":"o1","quantity":2,"reason":"returned"},{"id":"o2","quantity":"two","reason":"returned"},` +
		`{"id":"o3","quantity":2,"reason":"bored"},{"id":"o4","quantity":2,"reason":"returned","colour":1},7,null,{"id":"-o6","quantity":1,"reason":"returned"}]}`
	results := list(r.app("POST", "/v1/shows/s1/openings:batch", body).json(200)["results"])
	want := []struct {
		status float64
		id     any
		code   any
		field  string
	}{
		{201, "o1", nil, ""},
		{400, "o2", "invalid", "quantity"},
		{422, "o3", "invalid", "reason"},
		{400, "o4", "invalid", "colour"},
		{400, nil, "invalid", "openings[4]"},
		{400, nil, "invalid", "openings[5]"},
		{422, "-o6", "invalid", "id"},
	}
	if len(results) != len(want) {
		t.Fatalf("%d results", len(results))
	}
	for i, w := range want {
		got := results[i].(map[string]any)
		if got["status"] != w.status || got["id"] != w.id || got["code"] != w.code {
			t.Errorf("item %d: %v, want %v", i, got, w)
		}
		if w.field != "" && list(got["errors"])[0].(map[string]any)["field"] != w.field {
			t.Errorf("item %d: %v, want field %s", i, got, w.field)
		}
	}
	if got := r.store.asked(); len(got) != 1 {
		t.Errorf("store calls %v", got)
	}
	many := `{"openings":[` + strings.Repeat(`{},`, 1000) + `{}]}`
	newRig(t).app("POST", "/v1/shows/s1/openings:batch", many).problem(422, "invalid", "openings")
}

func TestPutShowTellsOmittedFromNull(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.created = false
	r.app("PUT", "/v1/shows/s1", `{"sales_close_at":null,"paused":true,"policy":{"hold_s":null,"fans_per_seat":1.5},"url":null}`).json(200)
	change := r.store.argsOf(t, "PutShow")[1].(waitlist.ShowChange)
	want := waitlist.ShowChange{
		SalesCloseAt: waitlist.Default[*time.Time](), Paused: waitlist.Some(true), URL: waitlist.Default[string](),
		Policy: waitlist.Some(waitlist.PolicyChange{HoldS: waitlist.Default[int](), FansPerSeat: waitlist.Some[waitlist.Milli](1500)}),
	}
	if diff := cmp.Diff(want, change); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
}

func TestATemplateThatIsNullIsNone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.created = false
	r.app("PUT", "/v1/shows/s1", `{"templates":{"turn":null,"result":{"en":{"title":"T","body":"B"}}}}`).json(200)
	change := r.store.argsOf(t, "PutShow")[1].(waitlist.ShowChange)
	want := waitlist.Templates{"result": {"en": {Title: "T", Body: "B"}}}
	if diff := cmp.Diff(want, change.Templates.Value); diff != "" {
		t.Errorf("templates (-want +got):\n%s", diff)
	}
}

func TestJoinHasItsDefaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.app("POST", "/v1/shows/s1/entries", `{"fan_id":"ada","party_size":null,"tier":null,"joined_at":"2026-09-01T14:00:00+02:00"}`).json(201)
	want := []waitlist.Join{{FanID: "ada", Party: 1, JoinedAt: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)}}
	if diff := cmp.Diff(want, r.store.argsOf(t, "Join")[1]); diff != "" {
		t.Errorf("join (-want +got):\n%s", diff)
	}
}

func TestStaffRemovesTheFanLeaves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.app("DELETE", "/v1/shows/s1/entries/ada?removed=true&reason=tout", "")
	if diff := cmp.Diff([]any{"s1", "ada", waitlist.Removed, "tout"}, r.store.argsOf(t, "Leave")); diff != "" {
		t.Error(diff)
	}
	r.app("DELETE", "/v1/shows/s1/entries/ada", "")
	if diff := cmp.Diff([]any{"s1", "ada", waitlist.Left, ""}, r.store.argsOf(t, "Leave")); diff != "" {
		t.Error(diff)
	}
}

func TestFansActForThemselvesAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range calls {
		if !c.fan {
			continue
		}
		bob := r.as(r.fanToken("bob:1|x@y+z"), c.method, c.path, c.body)
		if bob.Code != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, bob.Code, bob.Body)
		}
		if got := fmt.Sprint(r.store.lastArgs()); !strings.Contains(got, "bob:1|x@y+z") || strings.Contains(got, "ada") {
			t.Errorf("%s %s asked for %s", c.method, c.path, got)
		}
	}
}

func TestHEADIsAnsweredLikeGET(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"/healthz", "/v1/shows/s1"} {
		if w := r.app(http.MethodHead, path, ""); w.Code != 200 {
			t.Errorf("HEAD %s: %d", path, w.Code)
		}
	}
}
