package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fanline/waitlist"
	"github.com/go-chi/chi/v5"
)

// contracted is a call of the contract: what it answers when all is well, and the
// codes that it refuses with, beyond those that every call of its area can have.
type contracted struct {
	method, path string
	success      []int
	codes        []waitlist.Code
}

// contract is API.md, as far as it is served.
var contract = []contracted{
	{"PUT", "/v1/shows/{show}", []int{200, 201}, []waitlist.Code{"invalid", "closed", "too_large"}},
	{"GET", "/v1/shows", []int{200}, nil},
	{"GET", "/v1/shows/{show}", []int{200}, []waitlist.Code{"not_found"}},
	{"DELETE", "/v1/shows/{show}", []int{204}, []waitlist.Code{"not_found"}},
	{"POST", "/v1/shows/{show}/entries", []int{200, 201}, []waitlist.Code{"invalid", "not_found", "closed", "too_large"}},
	{"POST", "/v1/shows/{show}/entries:import", []int{200}, []waitlist.Code{"invalid", "not_found", "closed"}},
	{"GET", "/v1/shows/{show}/entries", []int{200}, []waitlist.Code{"not_found"}},
	{"GET", "/v1/shows/{show}/entries/{fan}", []int{200}, []waitlist.Code{"not_found"}},
	{"PATCH", "/v1/shows/{show}/entries/{fan}", []int{200}, []waitlist.Code{"invalid", "not_found", "conflict", "too_large"}},
	{"DELETE", "/v1/shows/{show}/entries/{fan}", []int{204}, []waitlist.Code{"not_found"}},
	{"POST", "/v1/shows/{show}/openings/{opening}/turns", []int{204}, []waitlist.Code{"invalid", "not_found", "conflict", "too_large"}},
	{"PUT", "/v1/shows/{show}/openings/{opening}", []int{200, 201}, []waitlist.Code{"invalid", "not_found", "conflict", "closed", "too_large"}},
	{"POST", "/v1/shows/{show}/openings:batch", []int{200}, []waitlist.Code{"invalid", "too_large"}},
	{"GET", "/v1/shows/{show}/openings", []int{200}, []waitlist.Code{"not_found"}},
	{"GET", "/v1/shows/{show}/openings/{opening}", []int{200}, []waitlist.Code{"not_found"}},
	{"GET", "/v1/shows/{show}/openings/{opening}/waves", []int{200}, []waitlist.Code{"not_found"}},
	{"DELETE", "/v1/shows/{show}/openings/{opening}", []int{204}, []waitlist.Code{"not_found", "conflict"}},
	{"GET", "/v1/shows/{show}/openings/{opening}/turns/{fan}", []int{200}, []waitlist.Code{"not_found"}},
	{
		"POST", "/v1/shows/{show}/openings/{opening}/claims",
		[]int{200, 201},
		[]waitlist.Code{"invalid", "not_found", "not_your_turn", "already_claimed", "all_held", "turn_over", "filled", "closed", "rate_limited", "too_large"},
	},
	{"GET", "/v1/claims/{claim}", []int{200}, []waitlist.Code{"not_found"}},
	{"POST", "/v1/claims/{claim}/confirm", []int{200}, []waitlist.Code{"not_found", "conflict", "turn_over"}},
	{"POST", "/v1/claims/{claim}/release", []int{200}, []waitlist.Code{"invalid", "not_found", "conflict", "turn_over", "too_large"}},
	{"POST", "/v1/claims/{claim}/extend", []int{200}, []waitlist.Code{"invalid", "not_found", "conflict", "turn_over", "too_large"}},
	{"POST", "/v1/shows/{show}/announcements", []int{200, 202}, []waitlist.Code{"invalid", "not_found", "conflict", "closed", "too_large"}},
	{"PUT", "/v1/fans/{fan}", []int{200}, []waitlist.Code{"invalid", "too_large"}},
	{"GET", "/v1/fans/{fan}", []int{200}, nil},
	{"PUT", "/v1/fans/{fan}/devices/{device}", []int{200, 201}, []waitlist.Code{"invalid", "too_large"}},
	{"GET", "/v1/fans/{fan}/devices/{device}", []int{200}, []waitlist.Code{"not_found"}},
	{"DELETE", "/v1/fans/{fan}/devices/{device}", []int{204}, nil},
	{"POST", "/v1/fans/{fan}/sign-out", []int{204}, []waitlist.Code{"invalid", "too_large"}},
	{"DELETE", "/v1/fans/{fan}", []int{204}, nil},
	{"GET", "/v1/shows/{show}/trace/{fan}", []int{200}, []waitlist.Code{"not_found"}},
	{"POST", "/v1/notifications", []int{200, 202}, []waitlist.Code{"invalid", "too_large"}},
	{"POST", "/v1/notifications:batch", []int{200}, []waitlist.Code{"invalid", "too_large"}},
	{"GET", "/v1/notifications/{id}", []int{200}, []waitlist.Code{"not_found"}},
	{"GET", "/v1/events", []int{200}, []waitlist.Code{"invalid", "closed", "rate_limited"}},
	{"PUT", "/v1/webhook-endpoints/{id}", []int{200, 201}, []waitlist.Code{"invalid", "conflict", "too_large"}},
	{"GET", "/v1/webhook-endpoints/{id}", []int{200}, []waitlist.Code{"not_found"}},
	{"DELETE", "/v1/webhook-endpoints/{id}", []int{204}, nil},
	{"GET", "/healthz", []int{200}, nil},
	{"GET", "/readyz", []int{200}, []waitlist.Code{"unavailable"}},
	{"GET", "/openapi.json", []int{200}, nil},
	{"GET", "/docs", []int{200}, nil},
	{"GET", "/asyncapi.json", []int{200}, nil},
	{"GET", "/client/fanline.js", []int{200}, nil},
	{"GET", "/client/fanline.d.ts", []int{200}, nil},
	{"GET", "/v1/me/inbox", []int{200}, nil},
	{"POST", "/v1/callbacks/twilio", []int{204}, []waitlist.Code{"invalid", "forbidden", "too_large", "unavailable"}},
	{"POST", "/v1/callbacks/email", []int{204}, []waitlist.Code{"invalid", "forbidden", "too_large", "unavailable"}},
	{"POST", "/v1/callbacks/push", []int{204}, []waitlist.Code{"invalid", "forbidden", "too_large", "unavailable"}},
	{"POST", "/v1/me/inbox/opened", []int{204}, []waitlist.Code{"invalid", "too_large"}},
	{"POST", "/v1/me/inbox/read", []int{200}, []waitlist.Code{"invalid", "too_large"}},
	{"GET", "/v1/me/entries", []int{200}, nil},
	{"DELETE", "/v1/me/entries/{show}", []int{204}, []waitlist.Code{"not_found"}},
	{"GET", "/v1/me/preferences", []int{200}, nil},
	{"PUT", "/v1/me/preferences", []int{200}, []waitlist.Code{"invalid", "too_large"}},
	{"PUT", "/v1/me/devices/{device}", []int{200, 201}, []waitlist.Code{"invalid", "too_large"}},
	{"DELETE", "/v1/me/devices/{device}", []int{204}, nil},
	{"GET", "/u/{token}", []int{200}, []waitlist.Code{"not_found"}},
	{"POST", "/u/{token}", []int{200}, []waitlist.Code{"not_found"}},
	{"GET", "/v1/webpush-key", []int{200}, []waitlist.Code{"not_found"}},
	{"GET", "/v1/me/turns/{show}/{opening}", []int{200}, []waitlist.Code{"not_found"}},
	{
		"POST", "/v1/me/turns/{show}/{opening}/claim",
		[]int{200, 201},
		[]waitlist.Code{"not_found", "not_your_turn", "already_claimed", "all_held", "turn_over", "filled", "closed", "rate_limited"},
	},
	{"POST", "/v1/me/turns/{show}/{opening}/decline", []int{204}, []waitlist.Code{"not_found", "not_your_turn", "already_claimed", "turn_over"}},
	{"GET", "/v1/me/stream", []int{101}, []waitlist.Code{"invalid", "forbidden"}},
}

// notYet are the calls of API.md that are not served yet. The day one is, it moves
// up.
var notYet = []string{}

// served are the routes, as "METHOD /path".
func (r *rig) served() (list []string) {
	r.t.Helper()
	if err := chi.Walk(r.server.router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		list = append(list, method+" "+route)
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// documentedCalls are the responses of each call in the served document.
func (r *rig) documentedCalls() map[string][]string {
	r.t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]json.RawMessage
		}
	}
	mustJSON(r.t, r.as("", "GET", "/openapi.json", "").Body.String(), &doc)
	calls := map[string][]string{}
	for path, item := range doc.Paths {
		for method, op := range item {
			calls[strings.ToUpper(method)+" "+path] = slices.Sorted(maps.Keys(op.Responses))
		}
	}
	return calls
}

func TestTheContractIsWhatIsServedAndDocumented(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var want []string
	for _, c := range contract {
		want = append(want, c.method+" "+c.path)
	}
	slices.Sort(want)
	served := r.served()
	documented := slices.Sorted(maps.Keys(r.documentedCalls()))
	for name, got := range map[string][]string{"served": served, "documented": documented} {
		for _, call := range got {
			if slices.Contains(notYet, call) {
				t.Errorf("%s is %s now: move it from notYet to contract", call, name)
			} else if !slices.Contains(want, call) {
				t.Errorf("%s is %s but stands in neither table", call, name)
			}
		}
		for _, call := range want {
			if !slices.Contains(got, call) {
				t.Errorf("%s is not %s", call, name)
			}
		}
	}
}

// TestTheDocumentHasTheStatusesOfTheContract also asks for those that a whole area
// has.
func TestTheDocumentHasTheStatusesOfTheContract(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	documented := r.documentedCalls()
	for _, c := range contract {
		call := c.method + " " + c.path
		want := map[int]bool{}
		for _, status := range c.success {
			want[status] = true
		}
		for _, code := range c.codes {
			want[statuses[code]] = true
			if code == waitlist.Invalid && c.method != "GET" {
				want[http.StatusBadRequest] = true
			}
		}
		if areaOf(c.path) != areaOpen {
			want[http.StatusUnauthorized], want[http.StatusServiceUnavailable] = true, true
		}
		if c.method == "POST" && !strings.HasSuffix(c.path, ":import") && areaOf(c.path) != areaOpen {
			want[http.StatusConflict] = true // of an idempotency key
		}
		if c.path == "/v1/shows/{show}/entries:import" || c.path == streamPath {
			delete(want, http.StatusUnprocessableEntity) // they name the line, or the header, with 400
		}
		for _, status := range slices.Sorted(maps.Keys(want)) {
			if !slices.Contains(documented[call], fmt.Sprint(status)) {
				t.Errorf("%s does not document %d", call, status)
			}
		}
		for _, status := range documented[call] {
			if status < "400" && !slices.Contains(c.success, atoi(status)) {
				t.Errorf("%s documents %s, which the contract does not know", call, status)
			}
		}
	}
}

func atoi(s string) (n int) {
	_, _ = fmt.Sscan(s, &n)
	return n
}

// TestEveryPartOfAPathIsReadAndDocumented: a call that misses one would serve all
// ids as the same.
func TestEveryPartOfAPathIsReadAndDocumented(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	mustJSON(t, r.as("", "GET", "/openapi.json", "").Body.String(), &doc)
	for path, item := range doc.Paths {
		for method, op := range item {
			var names []string
			for _, p := range op.Parameters {
				if p.In == "path" {
					names = append(names, "{"+p.Name+"}")
				}
			}
			asked := regexp.MustCompile(`\{[a-z]+\}`).FindAllString(path, -1)
			slices.Sort(names)
			slices.Sort(asked)
			if !slices.Equal(names, asked) {
				t.Errorf("%s %s reads %v", method, path, names)
			}
		}
	}
}
