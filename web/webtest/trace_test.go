package webtest

import (
	"fmt"
	"strings"
	"testing"
)

type traced struct {
	OpeningID  string `json:"opening_id"`
	FanID      string `json:"fan_id"`
	State      string `json:"state"`
	Reason     string `json:"reason"`
	OpensAt    string `json:"opens_at"`
	ClosesAt   string `json:"closes_at"`
	ClaimID    string `json:"claim_id"`
	RecordedAt string `json:"recorded_at"`
}

type logged struct {
	What      string `json:"what"`
	Reason    string `json:"reason"`
	OpeningID string `json:"opening_id"`
	FromPlace int64  `json:"from_place"`
	ToPlace   int64  `json:"to_place"`
	State     string `json:"state"`
}

type tracePage struct {
	Items []traced       `json:"items"`
	Next  *string        `json:"next_cursor"`
	Entry map[string]any `json:"entry"`
	Log   []logged       `json:"log"`
}

// trace reads a fan's whole trace, by pages of two, and checks each item against
// the opening's own verdict.
func (in *instance) trace(show, fan string) (items []traced, log []logged) {
	in.t.Helper()
	for cursor := ""; ; {
		var p tracePage
		in.app("GET", "/v1/shows/"+show+"/trace/"+fan+"?limit=2"+cursor, "").want(200).into(&p)
		items, log = append(items, p.Items...), p.Log
		if p.Next == nil {
			break
		}
		cursor = "&cursor=" + *p.Next
	}
	for _, it := range items {
		var v traced
		in.app("GET", "/v1/shows/"+show+"/openings/"+it.OpeningID+"/turns/"+fan, "").want(200).into(&v)
		if v.RecordedAt = it.RecordedAt; v != it {
			in.t.Errorf("trace of %s: %+v\nverdict %+v", fan, it, v)
		}
		if it.RecordedAt == "" {
			in.t.Errorf("trace of %s at %s without when it was recorded", fan, it.OpeningID)
		}
	}
	return items, log
}

// reasons are a trace in short, oldest opening first.
func reasons(items []traced) string {
	var words []string
	for i := len(items) - 1; i >= 0; i-- {
		words = append(words, items[i].OpeningID+":"+items[i].Reason)
	}
	return strings.Join(words, " ")
}

// take has a fan take a seat for good.
func (in *instance) take(show, opening, fan string) {
	in.t.Helper()
	in.opened(show, opening, fan)
	claim, _ := in.app("POST", "/v1/shows/"+show+"/openings/"+opening+"/claims", `{"fan_id":"`+fan+`"}`).want(201).get("id").(string)
	in.app("POST", "/v1/claims/"+claim+"/confirm", "").want(200)
	in.decide()
}

// TestATraceStaysAsItWas makes openings that end in every way, and then changes
// all that a verdict could be mistaken by.
func TestATraceStaysAsItWas(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.show("s1")
	const seat = `{"quantity":1,"reason":"returned"`
	in.join("s1", "buyer", "gone", "thrown")
	in.app("POST", "/v1/shows/s1/entries", `{"fan_id":"floor","tier":"floor"}`).want(201)
	in.app("POST", "/v1/shows/s1/entries", `{"fan_id":"big","party_size":4}`).want(201)
	in.join("s1", "one", "two", "three", "erase", "last")
	patch := func(fan, body string) { in.app("PATCH", "/v1/shows/s1/entries/"+fan, body).want(200) }

	in.free("s1", "o1", seat+`,"tier":"box"}`)
	in.take("s1", "o1", "buyer")
	in.app("DELETE", "/v1/shows/s1/entries/gone", "").want(204)
	in.app("DELETE", "/v1/shows/s1/entries/thrown?removed=true&reason=a+tout", "").want(204)
	in.free("s1", "o2", seat+`,"tier":"box"}`)
	in.opened("s1", "o2", "one")
	in.free("s1", "o3", `{"quantity":2,"reason":"returned","tier":"box"}`)
	in.opened("s1", "o3", "two")
	in.fan("two", "POST", "/v1/me/turns/s1/o3/decline", "").want(204)
	in.decide()
	in.take("s1", "o3", "three")
	in.take("s1", "o3", "erase")
	in.take("s1", "o2", "one")
	in.free("s1", "o4", seat+`}`)
	in.opened("s1", "o4", "floor")
	in.app("DELETE", "/v1/shows/s1/openings/o4", "").want(204)
	in.decide()
	in.app("PUT", "/v1/shows/s1/openings/o5", seat+`,"tier":"floor"}`).want(201)
	in.app("POST", "/v1/shows/s1/openings/o5/turns", `{"fan_id":"last","reason":"a promise"}`).want(204)
	in.decide()
	in.take("s1", "o5", "last")

	fans := []string{"buyer", "gone", "thrown", "floor", "big", "one", "two", "three", "last", "stranger"}
	before := map[string]string{}
	was := map[string][]traced{}
	for _, fan := range fans {
		was[fan], _ = in.trace("s1", fan)
		before[fan] = reasons(was[fan])
	}
	for fan, want := range map[string]string{
		"buyer":    "o1:confirmed o2:left o3:left o4:left o5:left",
		"gone":     "o1:filled o2:left o3:left o4:left o5:left",
		"thrown":   "o1:filled o2:removed o3:removed o4:removed o5:removed",
		"floor":    "o1:filled o2:tier_mismatch o3:tier_mismatch o4:cancelled o5:filled",
		"big":      "o1:filled o2:party_too_big o3:party_too_big o4:cancelled o5:filled",
		"stranger": "o1:not_on_list o2:not_on_list o3:not_on_list o4:not_on_list o5:not_on_list",
	} {
		if before[fan] != want {
			t.Errorf("%s: %s, want %s", fan, before[fan], want)
		}
	}

	// Now everything else happens.
	in.app("PATCH", "/v1/shows/s1/entries/floor", `{"tier":"","party_size":7}`).want(200)
	patch("big", `{"party_size":1,"tier":"box"}`)
	patch("big", `{"move":"front","reason":"a mistake of ours"}`)
	in.join("s1", "gone", "thrown", "buyer", "stranger")
	in.app("DELETE", "/v1/shows/s1/entries/two", "").want(204)
	in.app("DELETE", "/v1/fans/erase", "").want(204)
	in.app("PUT", "/v1/shows/s1", `{"paused":true,"policy":{"mode":"everyone","fans_per_seat":9,"claim_window_s":5,"max_missed":1,"quiet_hours":{"from":"00:00","to":"23:59","time_zone":"UTC"}}}`).want(200)
	in.decide()
	patch("big", `{"move":"restore","reason":"was right after all"}`)
	for _, fan := range fans {
		is, _ := in.trace("s1", fan)
		if fmt.Sprint(is) != fmt.Sprint(was[fan]) {
			t.Errorf("the trace of %s was\n%v\nand is\n%v", fan, was[fan], is)
		}
	}
	_, log := in.trace("s1", "big")
	var words []string
	for _, c := range log {
		words = append(words, fmt.Sprintf("%s %d>%d %s", c.What, c.FromPlace, c.ToPlace, c.Reason))
	}
	if len(log) != 3 || log[0].What != "restored" || log[0].Reason != "was right after all" || log[1].What != "moved" ||
		log[0].ToPlace != log[1].FromPlace || log[0].FromPlace != log[1].ToPlace || log[2].What != "changed" {
		t.Errorf("the log of big: %v", words)
	}
	if _, log := in.trace("s1", "last"); log[len(log)-1].What != "given" || log[len(log)-1].OpeningID != "o5" || log[len(log)-1].Reason != "a promise" {
		t.Errorf("the log of last: %+v", log)
	}
	if _, log := in.trace("s1", "thrown"); log[1].What != "removed" || log[1].Reason != "a tout" || log[1].State != "removed" || log[0].State != "waiting" {
		t.Errorf("the log of thrown: %+v", log)
	}
	in.app("GET", "/v1/shows/s9/trace/big", "").want(404)
}

// TestATraceIsPagedWhileOpeningsCome reads on while more are recorded.
func TestATraceIsPagedWhileOpeningsCome(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.show("s1")
	in.join("s1", "ada")
	for i := range 5 {
		in.app("PUT", fmt.Sprintf("/v1/shows/s1/openings/o%d", i), `{"quantity":1,"reason":"returned","tier":"floor"}`).want(201)
	}
	var got []string
	for cursor := ""; ; {
		var p tracePage
		in.app("GET", "/v1/shows/s1/trace/ada?limit=2"+cursor, "").want(200).into(&p)
		for _, it := range p.Items {
			got = append(got, it.OpeningID)
		}
		in.app("PUT", fmt.Sprintf("/v1/shows/s1/openings/new-%d", len(got)), `{"quantity":1,"reason":"returned"}`).want(201)
		if p.Next == nil {
			break
		}
		cursor = "&cursor=" + *p.Next
	}
	if s := strings.Join(got, " "); s != "o4 o3 o2 o1 o0" {
		t.Errorf("the pages hold %s", s)
	}
}
