package web

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fanline/notifier"
	"fanline/waitlist"
)

// pages follows a list to its end and returns the field of all items.
func (r *rig) pages(fan bool, path, field string, limit int) (got []any, n int) {
	r.t.Helper()
	cursor := ""
	for {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		page := r.call(fan, "GET", fmt.Sprintf("%s%slimit=%d&cursor=%s", path, sep, limit, url.QueryEscape(cursor)), "").json(200)
		n++
		for _, item := range list(page["items"]) {
			got = append(got, item.(map[string]any)[field])
		}
		next, ok := page["next_cursor"].(string)
		if !ok {
			if page["next_cursor"] != nil {
				r.t.Fatalf("next_cursor %v", page["next_cursor"])
			}
			return got, n
		}
		cursor = next
	}
}

func TestPagesNeitherSkipNorRepeat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	show, opening, item := r.store.shows[0], r.store.openings[0], r.inbox.items[0]
	entry := r.store.entries[0]
	r.store.shows, r.store.openings, r.store.entries, r.store.fanLines, r.inbox.items = nil, nil, nil, nil, nil
	for i := range 6 {
		show.ID, opening.ID, opening.No = fmt.Sprint("s", i), fmt.Sprint("o", i), int64(100-i)
		entry.No, entry.Place = int64(i), int64(i-3)
		// Two items each stand at the same moment.
		item.ID, item.CreatedAt = fmt.Sprint("turn:s:", 9-i), notifier.Stamp(noon.Add(-time.Duration(i/2)*time.Microsecond))
		r.store.shows, r.store.openings = append(r.store.shows, show), append(r.store.openings, opening)
		r.store.entries, r.inbox.items = append(r.store.entries, entry), append(r.inbox.items, item)
		r.store.fanLines = append(r.store.fanLines, waitlist.FanEntry{ShowID: fmt.Sprint("s", 5-i), Entry: entry})
	}
	for _, c := range []struct {
		fan         bool
		path, field string
		want        []any
	}{
		{false, "/v1/shows", "id", []any{"s0", "s1", "s2", "s3", "s4", "s5"}},
		{false, "/v1/shows/s1/entries?state=waiting", "place", []any{-3.0, -2.0, -1.0, 0.0, 1.0, 2.0}},
		{false, "/v1/shows/s1/openings", "id", []any{"o0", "o1", "o2", "o3", "o4", "o5"}},
		{true, "/v1/me/inbox", "id", []any{"turn:s:9", "turn:s:8", "turn:s:7", "turn:s:6", "turn:s:5", "turn:s:4"}},
		{true, "/v1/me/entries", "show_id", []any{"s0", "s1", "s2", "s3", "s4", "s5"}},
	} {
		for limit, pages := range map[int]int{1: 6, 2: 3, 4: 2, 6: 1, 500: 1} {
			got, n := r.pages(c.fan, c.path, c.field, limit)
			if diff := cmp.Diff(c.want, got); diff != "" || n != pages {
				t.Errorf("%s by %d: %d pages, want %d (-want +got):\n%s", c.path, limit, n, pages, diff)
			}
		}
	}
	// A row that is gone does not hold up who comes after it.
	page := r.app("GET", "/v1/shows?limit=2", "").json(200)
	r.store.shows = r.store.shows[2:]
	got := list(r.app("GET", "/v1/shows?limit=2&cursor="+page["next_cursor"].(string), "").json(200)["items"])
	if len(got) != 2 || got[0].(map[string]any)["id"] != "s2" {
		t.Errorf("%v", got)
	}
}

func TestACursorBelongsToItsList(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good := cursor{Of: "entries:s1:waiting", No: 4}.String()
	r.app("GET", "/v1/shows/s1/entries?state=waiting&cursor="+good, "").json(200)
	for _, path := range []string{"/v1/shows", "/v1/shows/s2/entries?state=waiting", "/v1/shows/s1/entries", "/v1/shows/s1/openings", "/v1/shows/s1/openings/o1/waves"} {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		r.app("GET", path+sep+"cursor="+good, "").problem(422, "invalid", "cursor")
	}
	r.fan("GET", "/v1/me/inbox?cursor="+good, "").problem(422, "invalid", "cursor")
	r.fan("GET", "/v1/me/entries?cursor="+good, "").problem(422, "invalid", "cursor")
	r.app("GET", "/v1/shows/s1/entries?state=waiting&after_place=1&cursor="+good, "").json(200)
	if after := r.store.filter.AfterPlace; after == nil || *after != 4 {
		t.Errorf("went on after %v", after)
	}
	for _, text := range []string{
		`{"v":2,"of":"shows"}`, `{"v":1,"of":"shows","x":1}`, `{"of":"shows"}`, `{"v":1,"of":"shows","id":"a\u0000"}`,
		`{"v":1,"of":"shows","no":1e3}`, ` {"v":1,"of":"shows"}`, `[]`, `null`, ``, `{"v":1,"of":"shows","at":"20260-09-01T00:00:00Z"}`,
		`{"v":1,"of":"shows","at":"0000-09-01T00:00:00Z"}`, `{"v":1,"of":"shows","id":"a"}{}`,
	} {
		r.app("GET", "/v1/shows?cursor=x"+base64.RawURLEncoding.EncodeToString([]byte(text)), "").problem(422, "invalid", "cursor")
		if text != "" {
			r.app("GET", "/v1/shows?cursor="+base64.RawURLEncoding.EncodeToString([]byte(text)), "").problem(422, "invalid", "cursor")
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor{Of: "shows", ID: "s1"}.String())
	f.Add(cursor{Of: "shows", No: -7, At: noon}.String())
	f.Add("e30")
	f.Add("%%%")
	f.Fuzz(func(t *testing.T, s string) {
		c, ok, err := parseCursor(s, "shows")
		switch {
		case s == "" && (ok || err != nil):
			t.Fatal("the beginning is refused")
		case s != "" && ok == (err != nil):
			t.Fatalf("ok %v with %v", ok, err)
		case ok && c.String() != s:
			t.Fatalf("%q came back as %q", s, c.String())
		}
	})
}
