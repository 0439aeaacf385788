package web

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTheDocsPageShowsEveryCallAndRunsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.as("", "GET", "/docs", "")
	page := w.Body.String()
	if ct := w.Header().Get("Content-Type"); w.Code != 200 || ct != "text/html; charset=utf-8" {
		t.Fatalf("%d %s", w.Code, ct)
	}
	for _, item := range r.server.api.OpenAPI().Paths {
		for _, op := range operations(item) {
			if !strings.Contains(page, `<article id="`+op.OperationID+`">`) {
				t.Errorf("the page lacks %s %s", op.Method, op.Path)
			}
		}
	}
	policy := w.Header().Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") {
		t.Errorf("policy %s", policy)
	}
	if !strings.Contains(page, "<style>"+docsStyle+"</style>") {
		t.Error("the style sheet is not the one that the policy allows")
	}
	for _, never := range []string{"<script", " style=", "http-equiv", "<link", "src=", "ZgotmplZ", "0xc0", "&lt;nil&gt;", "%!"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %s", never)
		}
	}
	for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if id, ok := strings.CutPrefix(link[1], "#"); ok && !strings.Contains(page, `id="`+id+`"`) {
			t.Errorf("a link to %s leads nowhere", link[1])
		} else if !ok && !slices.Contains([]string{"openapi.json", "asyncapi.json", "client/fanline.js", "client/fanline.d.ts"}, link[1]) {
			t.Errorf("a link to %s leads away", link[1])
		}
	}
}

func TestEveryFieldHasAnExampleOrItsValues(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, s := range r.server.api.OpenAPI().Components.Schemas.Map() {
		for field, p := range s.Properties {
			if bare(p) && p.Type != "object" && name+"."+field != "BatchResults.results" {
				t.Errorf("%s.%s has neither an example nor a list of values", name, field)
			}
		}
	}
}

// TestEveryListOfValuesIsDocumented looks at the fields whose values the contract lists.
func TestEveryListOfValuesIsDocumented(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	schemas := r.server.api.OpenAPI().Components.Schemas.Map()
	for at, values := range map[string]string{
		"Show.strategy": "write read", "Policy.mode": "turns everyone", "Policy.strategy": "auto write read",
		"Entry.state":   "waiting holding bought left removed",
		"Opening.state": "open filled exhausted cancelled", "Opening.reason": "card_declined hold_timeout returned new_inventory",
		"Claim.state": "held confirmed released lapsed", "Verdict.state": "waiting upcoming open claimed over none",
		"EntryPatch.move": "front restore", "Item.kind": "turn result announcement message", "Item.lane": "transactional turns bulk",
		"Verdict.reason": "not_on_list left behind tier_mismatch party_too_big busy dormant quiet_hours paused turn_upcoming turn_open turn_lapsed " +
			"turn_declined claimed confirmed hold_released hold_lapsed filled exhausted cancelled sales_closed removed unreachable",
		"Problem.code": "invalid unauthenticated forbidden not_found method_not_allowed conflict not_your_turn already_claimed all_held " +
			"turn_over filled closed too_large rate_limited unavailable internal",
	} {
		schema, field, _ := strings.Cut(at, ".")
		if got := strings.Trim(fmt.Sprint(schemas[schema].Properties[field].Enum), "[]"); got != values {
			t.Errorf("%s is one of %s, want %s", at, got, values)
		}
	}
}

// TestEveryExampleOfABodyIsAccepted sends the examples as they stand.
func TestEveryExampleOfABodyIsAccepted(t *testing.T) {
	t.Parallel()
	path := strings.NewReplacer("{show}", "tuesday-42", "{opening}", "freed-7", "{fan}", "ada", "{claim}", "c1", "{device}", "adas-phone", "{id}", "box-office")
	sent := 0
	for _, item := range newRig(t).server.api.OpenAPI().Paths {
		for _, op := range operations(item) {
			body, ok := bodies[op.OperationID]
			if op.RequestBody != nil && !ok && op.OperationID != "import-entries" && op.OperationID != "callback-twilio" {
				t.Errorf("%s has no example of its body", op.OperationID)
			}
			if !ok {
				continue
			}
			sent++
			w := newRig(t).call(areaOf(op.Path) == areaFan, op.Method, path.Replace(op.Path), body)
			if !slices.Contains([]int{200, 201, 202, 204}, w.Code) || strings.Contains(w.Body.String(), `"code"`) {
				t.Errorf("the example of %s: %d %s", op.OperationID, w.Code, w.Body)
			}
		}
	}
	if sent != len(bodies) {
		t.Errorf("%d of %d examples belong to a call", sent, len(bodies))
	}
}
