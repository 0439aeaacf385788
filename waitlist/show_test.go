package waitlist

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// put applies a body to a show and fails where it is not JSON of a change.
func put(t testing.TB, s Show, body string) Show {
	t.Helper()
	var c ShowChange
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatal(err)
	}
	return c.Apply(s)
}

func TestNewShowNeedsOnlyNameVenueAndStart(t *testing.T) {
	s := put(t, Show{ID: "s", Policy: DefaultPolicy()}, `{"name": "N", "venue": "V", "starts_at": "2026-03-12T20:00:00.1239+01:00"}`)
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	want := Show{
		ID: "s", Name: "N", Venue: "V", TimeZone: "UTC", Policy: DefaultPolicy(),
		StartsAt: time.Date(2026, time.March, 12, 19, 0, 0, 123_000_000, time.UTC),
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !s.SalesClose().Equal(s.StartsAt) {
		t.Errorf("sales close at %v, want the start", s.SalesClose())
	}
}

func TestShowChangeLeavesWhatIsOmittedAndTakesDefaultsForNull(t *testing.T) {
	start := testShow()
	start.URL, start.PausedApp, start.TimeZone = "https://tickets.example/{show}", true, "Europe/London"
	start.SalesCloseAt = ptr(noon)
	start.Policy.MaxMissed, start.Policy.HoldS = 7, 70
	start.Templates = Templates{"turn": {"en": {"t", "b"}}}
	for _, c := range []struct {
		body string
		want func(*Show)
	}{
		{`{}`, func(*Show) {}},
		{`{"name": "N"}`, func(s *Show) { s.Name = "N" }},
		{`{"url": null, "paused": null}`, func(s *Show) { s.URL, s.PausedApp = "", false }},
		{`{"time_zone": null}`, func(s *Show) { s.TimeZone = "UTC" }},
		{`{"sales_close_at": null}`, func(s *Show) { s.SalesCloseAt = nil }},
		{`{"sales_close_at": "2026-03-02T13:00:00+01:00"}`, func(*Show) {}},
		{`{"policy": null}`, func(s *Show) { s.Policy = DefaultPolicy() }},
		{`{"policy": {}}`, func(*Show) {}},
		{`{"policy": {"max_missed": null}}`, func(s *Show) { s.Policy.MaxMissed = 3 }},
		{`{"templates": null}`, func(s *Show) { s.Templates = nil }},
	} {
		want := start
		c.want(&want)
		if d := cmp.Diff(want, put(t, start, c.body)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.body, d)
		}
	}
}

func TestShowCheckNamesTheFieldThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Show)
		field  string
	}{
		{"good", func(*Show) {}, ""},
		{"id", func(s *Show) { s.ID = "a b" }, "show"},
		{"no name", func(s *Show) { s.Name = "" }, "name"},
		{"longest name", func(s *Show) { s.Name = strings.Repeat("é", MaxTitle) }, ""},
		{"name too long", func(s *Show) { s.Name = strings.Repeat("é", MaxTitle+1) }, "name"},
		{"line break in the name", func(s *Show) { s.Name = "a\r\nBcc: x" }, "name"},
		{"no venue", func(s *Show) { s.Venue = "" }, "venue"},
		{"venue not UTF-8", func(s *Show) { s.Venue = "\xff" }, "venue"},
		{"no start", func(s *Show) { s.StartsAt = time.Time{} }, "starts_at"},
		{"start too far", func(s *Show) { s.StartsAt = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) }, "starts_at"},
		{"sales close at the start", func(s *Show) { s.SalesCloseAt = &s.StartsAt }, ""},
		{"sales close after it", func(s *Show) { s.SalesCloseAt = ptr(s.StartsAt.Add(ms(1))) }, "sales_close_at"},
		{"sales close long ago", func(s *Show) { s.SalesCloseAt = ptr(time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC)) }, "sales_close_at"},
		{"no zone", func(s *Show) { s.TimeZone = "" }, "time_zone"},
		{"Local", func(s *Show) { s.TimeZone = "Local" }, "time_zone"},
		{"no such zone", func(s *Show) { s.TimeZone = "Mars/Olympus" }, "time_zone"},
		{"https", func(s *Show) { s.URL = "https://t.example/{show}/{opening}" }, ""},
		{"javascript", func(s *Show) { s.URL = "javascript:alert(1)" }, "url"},
		{"url too long", func(s *Show) { s.URL = "https://" + strings.Repeat("a", MaxURL) }, "url"},
		{"template", func(s *Show) { s.Templates = Templates{"turn": {"en": {"t", "two\nlines"}}} }, ""},
		{"template without a title", func(s *Show) { s.Templates = Templates{"turn": {"en": {"", "b"}}} }, "templates.turn.en.title"},
		{"template without a body", func(s *Show) { s.Templates = Templates{"turn": {"en": {"t", ""}}} }, "templates.turn.en.body"},
		{"template too long", func(s *Show) { s.Templates = Templates{"turn": {"en": {"t", strings.Repeat("x", MaxBody+1)}}} }, "templates.turn.en.body"},
		{"policy", func(s *Show) { s.Policy.HoldS = 0 }, "policy.hold_s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := testShow()
			c.change(&s)
			wantWrong(t, s.Check(), c.field)
		})
	}
}

func TestSalesCloseAtTheStartAtTheLatest(t *testing.T) {
	s := testShow()
	for _, c := range []struct {
		close *time.Time
		want  time.Time
	}{
		{nil, s.StartsAt},
		{ptr(s.StartsAt.Add(-time.Hour)), s.StartsAt.Add(-time.Hour)},
		{ptr(s.StartsAt.Add(time.Hour)), s.StartsAt},
	} {
		s.SalesCloseAt = c.close
		if got := s.SalesClose(); !got.Equal(c.want) {
			t.Errorf("sales_close_at %v: %v, want %v", c.close, got, c.want)
		}
	}
}

func TestEitherPausePauses(t *testing.T) {
	for _, app := range []bool{false, true} {
		for _, staff := range []bool{false, true} {
			s := Show{PausedApp: app, PausedStaff: staff}
			if s.Paused() != (app || staff) {
				t.Errorf("app %v, staff %v: paused is %v", app, staff, s.Paused())
			}
		}
	}
}
