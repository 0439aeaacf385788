package web

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the quick reader takes it reads as the careful one does.
func FuzzPlainJoinIsDecode(f *testing.F) {
	for _, line := range []string{
		`{"fan_id":"ada"}`, `{ "fan_id" : "ada" , "party_size" : 2 , "tier":"", "joined_at":"2026-09-01T12:00:00.5+02:00"} `,
		`{}`, `{"fan_id":"a","fan_id":"b"}`, `{"fan_id":"a",}`, `{"fan_id":null}`, `{"party_size":01}`, `{"party_size":1.5}`,
		`{"party_size":-1}`, `{"party_size":1e2}`, `{"fan_id":"\u00e9"}`, `{"fan_id":"é"}`, `{"fan_id":"a"}}`, `{"fan_id":"a"} x`,
		`{"Fan_id":"a"}`, `{"seat":1}`, `[]`, ``, `{"fan_id"`, `{"joined_at":"yesterday"}`, `{,}`, `{"tier":"x" "fan_id":"y"}`,
		`{"party_size":1234567}`, "{\"fan_id\":\"a\tb\"}", `{"fan_id":"a" ,"tier":"b"}`, `{"party_size":0}`,
		`{"joined_at":"2026-09-01t12:00:00z"}`, `{"joined_at":"2026-09-01T24:00:00Z"}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		quick, ok := plainJoin(line)
		if !ok {
			return
		}
		var careful JoinRequest
		if p := decode(line, &careful, ""); p != nil {
			t.Fatalf("%q was taken; decode says: %s", line, p.Detail)
		}
		if diff := cmp.Diff(careful, quick); diff != "" {
			t.Fatalf("%q: %s", line, diff)
		}
	})
}

func TestUsualLinesOfAnImportAreReadQuickly(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"fan_id":"ada"}`, `{"fan_id":"ada@example.com","party_size":2}`,
		`{"fan_id": "a", "party_size": 20, "tier": "floor left", "joined_at": "2026-09-01T12:00:00.123Z"}`,
	} {
		if _, ok := plainJoin([]byte(line)); !ok {
			t.Errorf("%s is read slowly", line)
		}
	}
	if _, ok := plainJoin([]byte(`{"fan_id":"` + strings.Repeat("é", 3) + `"}`)); ok {
		t.Error("a text that is not ASCII is read quickly")
	}
}
