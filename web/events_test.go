package web

import (
	"strings"
	"testing"
	"time"

	"fanline/notifier"
)

func claimed(id string) notifier.StreamEvent {
	return notifier.StreamEvent{ID: id, Type: notifier.ClaimHeld, At: notifier.Stamp(noon), ShowID: "s1", OpeningID: "o1", Fan: 5, FanID: "ada", Data: []byte(`{"seats":2}`)}
}

func TestTheStreamIsALineAnEvent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.events = []notifier.StreamEvent{claimed("evt_1.1.0"), claimed("evt_1.2.0")}
	w := r.app("GET", "/v1/events?after=evt_1.0.0&types=claim.held,claim.confirmed", "")
	line := `{"id":"evt_1.1.0","type":"claim.held","at":"2026-09-01T12:00:00.007Z","show_id":"s1","opening_id":"o1","fan":5,"fan_id":"ada","data":{"seats":2}}`
	want := line + "\n" + strings.Replace(line, "evt_1.1.0", "evt_1.2.0", 1) + "\n"
	if w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/x-ndjson" || w.Header().Get("Fanline-Next") != "evt_1.2.0" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	q := r.store.argsOf(t, "Stream")[0].(notifier.StreamQuery)
	if q.After != "evt_1.0.0" || len(q.Types) != 2 || q.Limit != 500 {
		t.Errorf("%+v", q)
	}
}

func TestAQueryOfTheStreamIsRefusedByItsParameter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, query := range map[string]string{
		"types": "types=claim.held,wave.capped", "wait_s": "wait_s=61", "limit": "limit=5", "after": "after=a&after=b",
	} {
		r.app("GET", "/v1/events?"+query, "").problem(422, "invalid", name)
	}
	r.app("GET", "/v1/events?wait_s=x", "").problem(422, "invalid", "wait_s")
	r.as("", "GET", "/v1/events", "").problem(401, "unauthenticated", "")
}

func TestAReaderWaitsUntilTheStreamGrows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	grew := make(chan struct{})
	r.store.grew = grew
	answer := make(chan *response)
	go func() { answer <- r.app("GET", "/v1/events?wait_s=60", "") }()
	for len(r.server.waiting) == 0 { // it waits
		time.Sleep(time.Millisecond)
	}
	r.store.mu.Lock()
	r.store.events = []notifier.StreamEvent{claimed("evt_1.1.0")}
	r.store.grew = make(chan struct{})
	r.store.mu.Unlock()
	close(grew)
	if w := <-answer; w.Code != 200 || !strings.Contains(w.Body.String(), "evt_1.1.0") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if len(r.server.waiting) != 0 {
		t.Error("the reader still counts as waiting")
	}
}

func TestSomeReadersWaitAndMoreAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range eventsWaiting {
		r.server.waiting <- struct{}{}
	}
	w := r.app("GET", "/v1/events?wait_s=60", "")
	w.problem(429, "rate_limited", "")
	if w.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if w := r.app("GET", "/v1/events", ""); w.Code != 200 {
		t.Errorf("a reader who does not wait: %d", w.Code)
	}
}

func TestAReaderWhoWaitsIsAnsweredWhenTheServerStops(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.grew = make(chan struct{})
	close(r.server.stopping)
	if w := r.app("GET", "/v1/events?wait_s=60", ""); w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
