package web

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"fanline/delivery/live"
)

func TestTheStreamsDocumentHasEveryFrameOfTheHub(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.as("", "GET", "/asyncapi.json", "")
	if ct := w.Header().Get("Content-Type"); w.Code != 200 || ct != "application/json" {
		t.Fatalf("%d %s", w.Code, ct)
	}
	var doc struct {
		AsyncAPI string
		Channels map[string]struct {
			Address  string
			Messages map[string]json.RawMessage
		}
		Operations map[string]struct {
			Action   string
			Messages []map[string]string
		}
		Components struct {
			Messages map[string]struct{ Payload map[string]string }
			Schemas  map[string]struct {
				Properties map[string]struct{ Enum []string }
			}
		}
	}
	mustJSON(t, w.Body.String(), &doc)
	if !strings.HasPrefix(doc.AsyncAPI, "3.") || doc.Channels["stream"].Address != streamPath {
		t.Errorf("version %q, address %q", doc.AsyncAPI, doc.Channels["stream"].Address)
	}
	var all []string
	for id, frames := range map[string][]live.FrameType{"toFan": live.ServerFrames(), "fromFan": live.ClientFrames()} {
		op := doc.Operations[id]
		for i, f := range frames {
			all = append(all, f.Name)
			if got := op.Messages[i]["$ref"]; got != "#/channels/stream/messages/"+f.Name {
				t.Errorf("%s: %s", id, got)
			}
			name := strings.TrimPrefix(doc.Components.Messages[f.Name].Payload["$ref"], asyncSchemas)
			if types := doc.Components.Schemas[name].Properties["type"].Enum; !slices.Equal(types, []string{f.Name}) {
				t.Errorf("the payload of %s is %q with the types %v", f.Name, name, types)
			}
		}
	}
	slices.Sort(all)
	if got := slices.Sorted(maps.Keys(doc.Channels["stream"].Messages)); !slices.Equal(got, all) {
		t.Errorf("the channel has %v, want %v", got, all)
	}
	refs(t, w.Body.String())
}

// refs fails the test where a reference leads nowhere.
func refs(t *testing.T, body string) {
	t.Helper()
	var doc any
	mustJSON(t, body, &doc)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if to, ok := v["$ref"].(string); ok && !leads(doc, to) {
				t.Errorf("%s leads nowhere", to)
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(doc)
}

func leads(doc any, to string) bool {
	at := doc
	for _, name := range strings.Split(strings.TrimPrefix(to, "#/"), "/") {
		m, ok := at.(map[string]any)
		if !ok {
			return false
		}
		if at, ok = m[name]; !ok {
			return false
		}
	}
	return true
}

func TestTheClientIsPublicAndCached(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for path, kind := range map[string]string{"/client/fanline.js": "text/javascript; charset=utf-8", "/client/fanline.d.ts": "text/plain; charset=utf-8"} {
		w := r.as("", "GET", path, "")
		h := w.Header()
		if w.Code != 200 || h.Get("Content-Type") != kind || h.Get("Access-Control-Allow-Origin") != "*" ||
			h.Get("Cache-Control") != "public, max-age=3600" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, w.Code, h)
		}
		req := httptest.NewRequest("GET", path, nil)
		req.Header.Set("If-None-Match", h.Get("ETag"))
		if again := r.send(req); again.Code != 304 || again.Body.Len() > 0 {
			t.Errorf("%s with its ETag: %d", path, again.Code)
		}
	}
}
