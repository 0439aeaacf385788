package web

import (
	"net/http"
	"net/url"
	"testing"
)

// A cursor is the hub's business: whatever it says, it is no reason to refuse the
// upgrade.
func TestStreamHandsTheCursorOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address := serveRig(t, r)
	auth := http.Header{"Authorization": {"Bearer " + r.fanToken("ada")}}
	for _, after := range []string{"AQAB_-", "", "not a cursor", "%00"} {
		conn, _, err := dial(t, address+"?after="+url.QueryEscape(after), auth)
		if err != nil {
			t.Fatalf("%q: %v", after, err)
		}
		if _, _, err := conn.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.stream.mu.Lock()
		if got := r.stream.sessions[len(r.stream.sessions)-1].After; got != after {
			t.Errorf("the hub got %q, want %q", got, after)
		}
		r.stream.mu.Unlock()
	}
}
