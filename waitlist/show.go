package waitlist

import (
	"strings"
	"time"
)

// Limits of the contract for shows.
const (
	MaxTitle = 200
	MaxBody  = 4000
	MaxURL   = 2000
)

// Template is the text of one kind of message in one language, with places such
// as {show} to be filled in.
type Template struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// Templates are texts by kind ("turn", "result") and locale ("en", "de-CH").
type Templates map[string]map[string]Template

// Show is an event with one waitlist.
type Show struct {
	// No is the number that stands for the show in every other table.
	No           int32
	ID           string
	Name         string
	Venue        string
	StartsAt     time.Time
	SalesCloseAt *time.Time // nil: at the start
	TimeZone     string
	URL          string
	Templates    Templates
	Policy       Policy
	PausedApp    bool // by the ticketing app
	PausedStaff  bool // by staff; either pauses
	Cancelled    bool
	// Over: it ended so long ago that its line is not kept any more.
	Over bool

	// Worked out on reading.
	Waiting      int64
	Strategy     Strategy // what an opening recorded now would get
	OpeningsOpen int
}

// SalesClose is the moment from which no turn opens and none stays open.
func (s *Show) SalesClose() time.Time {
	if s.SalesCloseAt != nil && s.SalesCloseAt.Before(s.StartsAt) {
		return *s.SalesCloseAt
	}
	return s.StartsAt
}

// Shut is why nothing can be added to the show any more, or nil.
func (s *Show) Shut() error {
	switch {
	case s.Cancelled:
		return Refuse(Closed, "show %q was cancelled", s.ID)
	case s.Over:
		return Refuse(Closed, "show %q ended long ago and its line is gone; use another id", s.ID)
	}
	return nil
}

// Paused says whether either side paused the show.
func (s *Show) Paused() bool { return s.PausedApp || s.PausedStaff }

// ShowChange is a show as a caller puts it: what is omitted stays.
type ShowChange struct {
	Name         Opt[string]       `json:"name"`
	Venue        Opt[string]       `json:"venue"`
	StartsAt     Opt[time.Time]    `json:"starts_at"`
	SalesCloseAt Opt[*time.Time]   `json:"sales_close_at"`
	TimeZone     Opt[string]       `json:"time_zone"`
	URL          Opt[string]       `json:"url"`
	Paused       Opt[bool]         `json:"paused"`
	Policy       Opt[PolicyChange] `json:"policy"`
	Templates    Opt[Templates]    `json:"templates"`
}

// Apply returns the show as changed. A zero Show with the default policy is what
// a new one starts from.
func (c ShowChange) Apply(s Show) Show {
	c.Name.Apply(&s.Name, "")
	c.Venue.Apply(&s.Venue, "")
	c.StartsAt.Apply(&s.StartsAt, time.Time{})
	c.SalesCloseAt.Apply(&s.SalesCloseAt, nil)
	if !c.TimeZone.Set && s.TimeZone == "" {
		s.TimeZone = "UTC" // a new show
	}
	c.TimeZone.Apply(&s.TimeZone, "UTC")
	c.URL.Apply(&s.URL, "")
	c.Paused.Apply(&s.PausedApp, false)
	c.Templates.Apply(&s.Templates, nil)
	if c.Policy.Set {
		if c.Policy.Null {
			s.Policy = DefaultPolicy()
		} else {
			s.Policy = c.Policy.Value.Apply(s.Policy)
		}
	}
	s.StartsAt = s.StartsAt.UTC().Truncate(time.Millisecond)
	if s.SalesCloseAt != nil {
		t := s.SalesCloseAt.UTC().Truncate(time.Millisecond)
		s.SalesCloseAt = &t
	}
	return s
}

// Check returns an Error that names the first field that is not allowed.
func (s *Show) Check() error {
	if err := CheckID("show", s.ID); err != nil {
		return err
	}
	if err := CheckText("name", s.Name, true, MaxTitle); err != nil {
		return err
	}
	if err := CheckText("venue", s.Venue, true, MaxTitle); err != nil {
		return err
	}
	if s.StartsAt.IsZero() || s.StartsAt.Year() > 9999 {
		return Wrong("starts_at", "starts_at is required, as an RFC 3339 time")
	}
	if s.SalesCloseAt != nil && (s.SalesCloseAt.After(s.StartsAt) || s.SalesCloseAt.Year() < 1970) {
		return Wrong("sales_close_at", "sales_close_at must not be after starts_at")
	}
	if _, err := LoadZone(s.TimeZone); err != nil {
		return Wrong("time_zone", "time_zone must be an IANA time zone such as Europe/London")
	}
	if err := CheckText("url", s.URL, false, MaxURL); err != nil {
		return err
	}
	if s.URL != "" && !strings.HasPrefix(s.URL, "https://") && !strings.HasPrefix(s.URL, "http://") {
		return Wrong("url", "url must start with https:// or http://")
	}
	for kind, locales := range s.Templates {
		for locale, t := range locales {
			field := "templates." + kind + "." + locale
			if err := CheckText(field+".title", t.Title, true, MaxTitle); err != nil {
				return err
			}
			if err := CheckLines(field+".body", t.Body, true, MaxBody); err != nil {
				return err
			}
		}
	}
	return s.Policy.Check()
}
