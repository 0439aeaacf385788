package web

import (
	"strings"
	"testing"

	"fanline/notifier"
)

const endpoint = "/v1/webhook-endpoints/box"

func TestASecretIsShownOnceWhereItIsMade(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.app("PUT", endpoint, `{"url":"https://shop.example/hook","types":["claim.held"]}`).json(201)
	if got["secret"] != "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3" || got["state"] != "enabled" {
		t.Errorf("%v", got)
	}
	given := r.app("PUT", endpoint, `{"url":"https://shop.example/hook","secret":"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"}`).json(201)
	if _, shown := given["secret"]; shown {
		t.Errorf("the caller's own secret is shown: %v", given)
	}
	r.store.created = false
	if again := r.app("PUT", endpoint, `{"types":null}`).json(200); again["secret"] != nil {
		t.Errorf("it is shown again: %v", again)
	}
	c := r.store.argsOf(t, "PutEndpoint")[1].(notifier.EndpointChange)
	if c.URL != nil || c.Types == nil || len(*c.Types) != 0 || c.Secret != nil {
		t.Errorf("%+v", c)
	}
	if id := r.store.argsOf(t, "PutEndpoint")[0]; id != "box" {
		t.Errorf("endpoint %q was put", id)
	}
	read := r.app("GET", endpoint, "").json(200)
	if read["secret"] != nil || read["state"] != "disabled" || read["attempts"] != float64(3) || read["last_error"] != "answered 500" {
		t.Errorf("%v", read)
	}
	if w := r.app("DELETE", endpoint, ""); w.Code != 204 {
		t.Errorf("%d", w.Code)
	}
}

func TestABadEndpointIsRefusedByItsField(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, url := range []string{
		"http://shop.example", "https://127.0.0.1/", "https://10.1.2.3/", "https://[::1]/", "https://169.254.169.254/", "ftp://x", "https://u:p@shop.example", "x",
	} {
		r.app("PUT", endpoint, `{"url":"`+url+`"}`).problem(422, "invalid", "url")
	}
	r.app("PUT", endpoint, `{"types":["wave.capped"]}`).problem(422, "invalid", "types")
	for _, secret := range []string{"x", "whsec_", "whsec_!!!!", "whsec_" + strings.Repeat("AAAA", 7), "whsec_" + strings.Repeat("AAAA", 22)} {
		r.app("PUT", endpoint, `{"secret":"`+secret+`"}`).problem(422, "invalid", "secret")
	}
	if calls := r.store.asked(); len(calls) > 0 {
		t.Errorf("the store was asked: %v", calls)
	}
}
