package live

import (
	"encoding/json"
	"testing"
)

// FuzzParse: whatever a client sends, a frame that is taken is one of the contract's
// and within its bounds.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"type":"ping"}`, `{"type":"ack","ids":["turn:a:b"]}`, `{"type":"read","ids":[]}`, `{"type":"token","token":"x.y.z"}`,
		`{"type":"ack","ids":"a"}`, `{"type":"ping","ids":["a"]}`, `{`, `[]`, `null`, `{"type":"hello"}`, `{"type":"ack","ids":[""]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parse(b)
		if err != nil {
			return
		}
		if !json.Valid(b) {
			t.Errorf("%q is no JSON and was taken", b)
		}
		switch r.Type {
		case "ping", "ack", "read", "token":
		default:
			t.Errorf("%q was taken as %q", b, r.Type)
		}
		if len(r.IDs) > 500 {
			t.Errorf("%d ids were taken", len(r.IDs))
		}
	})
}
