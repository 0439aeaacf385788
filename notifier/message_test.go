package notifier

import (
	"encoding/json"
	"testing"
)

func TestTheSameDataInAnotherOrderIsTheSameMessage(t *testing.T) {
	t.Parallel()
	key := func(data string) DedupKey {
		m := NewMessage{Type: "offer", Title: "T", Body: "B", Data: json.RawMessage(data)}
		k, _ := m.Key("app", 1)
		return k
	}
	first := key(`{"seat":"A-1","row":{"x":1,"y":9007199254740993}}`)
	for data, same := range map[string]bool{
		`{ "row": {"y":9007199254740993, "x":1}, "seat":"A-1" }`: true,
		`{"seat":"A-1","row":{"x":1,"y":9007199254740992}}`:      false,
		`{"seat":"A-2","row":{"x":1,"y":9007199254740993}}`:      false,
		``: false, `{}`: false,
	} {
		if got := key(data) == first; got != same {
			t.Errorf("%s: the same message: %t, want %t", data, got, same)
		}
	}
}
