package waitlist

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestAnAnnouncementIsChecked(t *testing.T) {
	t.Parallel()
	good := NewAnnouncement{ID: "doors", Title: "Doors at eight", Body: "Two\nlines.", Data: json.RawMessage(`{"gate": "B"}`)}
	data := func(n int) json.RawMessage {
		return json.RawMessage(`{ "x" : "` + strings.Repeat("x", n-len(`{"x":""}`)) + `" }`)
	}
	for _, c := range []struct {
		change func(*NewAnnouncement)
		field  string
	}{
		{func(*NewAnnouncement) {}, ""},
		{func(a *NewAnnouncement) { a.ID = "" }, ""},
		{func(a *NewAnnouncement) { a.ID = "no spaces" }, "id"},
		{func(a *NewAnnouncement) { a.Title = "" }, "title"},
		{func(a *NewAnnouncement) { a.Title = strings.Repeat("é", MaxTitle) }, ""},
		{func(a *NewAnnouncement) { a.Title = strings.Repeat("é", MaxTitle+1) }, "title"},
		{func(a *NewAnnouncement) { a.Title = "two\nlines" }, "title"},
		{func(a *NewAnnouncement) { a.Body = "" }, "body"},
		{func(a *NewAnnouncement) { a.Body = strings.Repeat("é", MaxBody) }, ""},
		{func(a *NewAnnouncement) { a.Body = strings.Repeat("é", MaxBody+1) }, "body"},
		{func(a *NewAnnouncement) { a.Body = "bell\a" }, "body"},
		{func(a *NewAnnouncement) { a.Data = nil }, ""},
		{func(a *NewAnnouncement) { a.Data = json.RawMessage(`[1]`) }, "data"},
		{func(a *NewAnnouncement) { a.Data = data(MaxData) }, ""},
		{func(a *NewAnnouncement) { a.Data = data(MaxData + 1) }, "data"},
	} {
		a := good
		c.change(&a)
		err := a.Check()
		if got := fieldOf(err); got != c.field {
			t.Errorf("%.80q: %v, want a fault of %q", a, err, c.field)
		}
	}
}

func TestAnAnnouncementIsTheSameWhateverTheOrderOfItsData(t *testing.T) {
	t.Parallel()
	print := func(a NewAnnouncement) []byte {
		b, err := a.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a := NewAnnouncement{ID: "a", Title: "T", Body: "B", Data: json.RawMessage(`{"x":1,"y":{"z":12345678901234567890,"v":2}}`)}
	same := a
	same.ID, same.Data = "b", json.RawMessage(`{ "y": {"v":2, "z":12345678901234567890}, "x":1}`)
	if !bytes.Equal(print(a), print(same)) {
		t.Error("the order of fields makes it another one")
	}
	for name, change := range map[string]func(*NewAnnouncement){
		"title":       func(a *NewAnnouncement) { a.Title = "U" },
		"body":        func(a *NewAnnouncement) { a.Body = "C" },
		"a number":    func(a *NewAnnouncement) { a.Data = json.RawMessage(`{"x":1,"y":{"z":12345678901234567891,"v":2}}`) },
		"no data":     func(a *NewAnnouncement) { a.Data = nil },
		"no channels": func(a *NewAnnouncement) { a.Channels = []string{} },
		"channels":    func(a *NewAnnouncement) { a.Channels = []string{"sms"} },
	} {
		other := a
		change(&other)
		if bytes.Equal(print(a), print(other)) {
			t.Errorf("another of %s is the same", name)
		}
	}
}
