package webtest

import (
	"strings"
	"testing"
	"time"

	"fanline/notifier"
)

// inbox is a fan's.
func (in *instance) inbox(fan, query string) (items []notifier.Item, unread int) {
	in.t.Helper()
	var page struct {
		Items  []notifier.Item
		Unread int
	}
	in.fan(fan, "GET", "/v1/me/inbox"+query, "").want(200).into(&page)
	return page.Items, page.Unread
}

func TestAnAnnouncementReachesThoseInLineUnderBothStrategies(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"write", "read"} {
		in := newInstance(t)
		in.show("s1")
		in.app("PUT", "/v1/shows/s1", `{"policy":{"strategy":"`+strategy+`"}}`).want(200)
		in.join("s1", "ada", "ben")
		in.app("DELETE", "/v1/shows/s1/entries/ben", "").want(204)
		body := `{"id":"doors","title":"Doors at eight","body":"Bring a coat.\nAnd \ud83c\udf9f.","data":{"gate":"B"}}`
		first := in.app("POST", "/v1/shows/s1/announcements", body).want(202)
		in.join("s1", "cyd")
		if want := `{"id":"doors","strategy":"` + strategy + `"}`; strings.TrimSpace(first.body) != want {
			t.Errorf("answered %s, want %s", first.body, want)
		}
		if again := in.app("POST", "/v1/shows/s1/announcements", body).want(200); again.body != first.body {
			t.Errorf("again: %s", again.body)
		}
		if code := in.app("POST", "/v1/shows/s1/announcements", `{"id":"doors","title":"T","body":"B"}`).want(409).get("code"); code != "conflict" {
			t.Errorf("another body: %v", code)
		}
		items, unread := in.inbox("ada", "?kind=announcement")
		if len(items) != 1 || unread != 1 {
			t.Fatalf("%s: ada has %d items, %d unread", strategy, len(items), unread)
		}
		it := items[0]
		if it.ID != "ann:s1:doors" || it.Lane != "bulk" || it.ShowID != "s1" || it.Title != "Doors at eight" ||
			it.Body != "Bring a coat.\nAnd 🎟." || string(it.Data) != `{"gate":"B"}` || time.Since(time.Time(it.CreatedAt)) > time.Minute {
			t.Errorf("item %+v", it)
		}
		for _, fan := range []string{"ben", "cyd"} {
			if items, _ := in.inbox(fan, ""); len(items) != 0 {
				t.Errorf("%s has %v", fan, items)
			}
		}
		in.app("DELETE", "/v1/shows/s1", "").want(204)
		if code := in.app("POST", "/v1/shows/s1/announcements", `{"title":"T","body":"B"}`).want(410).get("code"); code != "closed" {
			t.Errorf("a cancelled show: %v", code)
		}
		in.app("POST", "/v1/shows/s1/announcements", body).want(200) // it stands
		if items, _ := in.inbox("ada", "?unread=true"); len(items) != 1 {
			t.Error("the announcement of a cancelled show cannot be read")
		}
		in.app("POST", "/v1/shows/s2/announcements", body).want(404)
	}
}

func TestDataOfAnyShapeComesBackAsItWasSent(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.show("s1")
	in.join("s1", "ada")
	deep := `{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`
	for _, data := range []string{
		`{}`, `{"n":12345678901234567890.1234567890,"e":1e400}`, `{"b":1,"a":2}`, `{"\u0000":"\u0000<&>"}`, deep,
	} {
		in.app("POST", "/v1/shows/s1/announcements", `{"title":"T","body":"B","data":`+data+`}`).want(202)
		items, _ := in.inbox("ada", "?limit=1")
		if got := string(items[0].Data); got != strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(data) {
			t.Errorf("sent %s, got %s", data, got)
		}
	}
}
