package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fanline/notifier"
	"fanline/waitlist"
)

const (
	// eventsPage is how many events one answer has at most.
	eventsPage = 500
	// eventsWait is how long a reader may wait for one.
	eventsWait = time.Minute
	// eventsWaiting is how many readers may wait at a time, on one instance.
	eventsWaiting = 100
	nextHeader    = "Fanline-Next"
)

// Tail tells readers of the stream that it grew. *notifier.Tail is one.
type Tail interface{ Grew() <-chan struct{} }

func (s *Server) eventCalls() {
	op := doc("Messages", "GET", "/v1/events", "events", "The event stream: a page of what happened, in order", 400, 410, 422, 429)
	op.Description = "Newline-delimited JSON, one event a line, at most 500. Go on after the last event's id or, where types leaves most out, " +
		"after what the header " + nextHeader + " says. Nobody who does misses an event, and an id is the same for ever. " +
		"A row is kept for 14 days: after an older one the answer is 410, closed."
	word := func(name, text string, schema huma.Schema) *huma.Param {
		schema.Description = text
		return &huma.Param{Name: name, In: "query", Description: text, Schema: &schema}
	}
	limit := func(n float64) *float64 { return &n }
	op.Parameters = []*huma.Param{
		word("after", "The id of the last event that was read; none: the oldest that is kept.", huma.Schema{Type: huma.TypeString}),
		word("types", "Only these types, with commas between.", huma.Schema{Type: huma.TypeString, Examples: []any{"claim.confirmed,claim.released"}}),
		word("wait_s", "How long to wait for an event where there is none yet.", huma.Schema{
			Type: huma.TypeInteger, Minimum: limit(0), Maximum: limit(eventsWait.Seconds()), Default: 0,
		}),
	}
	op.Responses = map[string]*huma.Response{"200": {
		Description: "Events, oldest first; none where nothing happened.",
		Headers:     map[string]*huma.Param{nextHeader: {Description: "Where to go on.", Schema: &huma.Schema{Type: huma.TypeString}}},
		Content: map[string]*huma.MediaType{"application/x-ndjson": {
			Schema: s.schemaOf(Event{}),
			Example: `{"id":"evt_2f1.9c.0","type":"claim.confirmed","at":"2026-08-30T18:06:02.000Z","show_id":"tuesday-42",` +
				`"opening_id":"freed-7","fan":17,"fan_id":"ada@example.com","data":{"claim":"clm_4PJ2ZK7Q3XWN","seats":2}}` + "\n",
		}},
	}}
	s.plain(op, s.events)
}

// Event documents notifier.StreamEvent.
type Event struct {
	ID        string         `json:"id" example:"evt_2f1.9c.0"`
	Type      string         `json:"type" example:"claim.confirmed"`
	At        time.Time      `json:"at"`
	ShowID    string         `json:"show_id,omitempty"`
	OpeningID string         `json:"opening_id,omitempty"`
	Fan       int64          `json:"fan,omitempty" example:"17" doc:"The fan's number, which names nobody."`
	FanID     string         `json:"fan_id,omitempty" doc:"Gone once the fan is erased."`
	Data      map[string]any `json:"data" example:"{\"seats\": 2}"`
}

// events answers a page. It waits for the first event, never for a second.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	q, patient, err := eventQuery(r.URL.Query())
	if err != nil {
		s.problem(r.Context(), err).write(w)
		return
	}
	bound(http.NewResponseController(w), time.Now().Add(patient+patience))
	page, err := s.nextEvents(r.Context(), q, patient)
	if err != nil {
		s.problem(r.Context(), err).write(w)
		return
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	for i := range page.Events {
		if err := enc.Encode(&page.Events[i]); err != nil {
			s.problem(r.Context(), fmt.Errorf("encode an event: %w", err)).write(w)
			return
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set(nextHeader, page.Next)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body.Bytes()) // the caller may be gone
}

// nextEvents reads on until there is an event, or the end and no patience left.
func (s *Server) nextEvents(ctx context.Context, q notifier.StreamQuery, patient time.Duration) (page notifier.StreamPage, err error) {
	over := time.NewTimer(patient)
	defer over.Stop()
	waiting := false
	for {
		grew := s.cfg.Tail.Grew()
		if page, err = s.readEvents(ctx, q); err != nil || len(page.Events) > 0 {
			return page, err
		}
		more := page.Next != q.After
		if q.After = page.Next; more && ctx.Err() == nil {
			continue // what lay there was of other types
		}
		if patient == 0 {
			return page, nil
		}
		if !waiting {
			select {
			case s.waiting <- struct{}{}:
				waiting = true
				defer func() { <-s.waiting }()
			default:
				return page, refuse(rateLimited, "too many readers of the stream wait already").after(time.Second)
			}
		}
		select {
		case <-grew:
		case <-over.C:
			return page, nil
		case <-s.stopping:
			return page, nil
		case <-ctx.Done():
			return page, ctx.Err()
		}
	}
}

func (s *Server) readEvents(ctx context.Context, q notifier.StreamQuery) (notifier.StreamPage, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	return s.cfg.Events.Stream(ctx, q)
}

// eventQuery reads the parameters.
func eventQuery(v url.Values) (q notifier.StreamQuery, patient time.Duration, err error) {
	q.Limit = eventsPage
	for name, values := range v {
		if !slices.Contains([]string{"after", "types", "wait_s"}, name) {
			return q, 0, waitlist.Wrong(name, "there is no parameter of this name; there are after, types and wait_s")
		}
		if len(values) > 1 {
			return q, 0, waitlist.Wrong(name, "%s stands there twice", name)
		}
	}
	q.After = v.Get("after")
	if v.Get("types") != "" {
		if q.Types, err = eventTypes("types", strings.Split(v.Get("types"), ",")); err != nil {
			return q, 0, err
		}
	}
	if text := v.Get("wait_s"); text != "" {
		n, err := strconv.Atoi(text)
		if patient = time.Duration(n) * time.Second; err != nil || n < 0 || patient > eventsWait {
			return q, 0, waitlist.Wrong("wait_s", "wait_s must be 0 to %d seconds", int(eventsWait.Seconds()))
		}
	}
	return q, patient, nil
}

// eventTypes are the types that words name.
func eventTypes(field string, words []string) ([]notifier.EventType, error) {
	var types []notifier.EventType
	for _, word := range words {
		t := notifier.EventType(strings.TrimSpace(word))
		if !notifier.IsStreamed(t) {
			return nil, waitlist.Wrong(field, "%s may hold types of the stream's events, such as claim.confirmed", field)
		}
		types = append(types, t)
	}
	return types, nil
}
