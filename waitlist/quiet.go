package waitlist

import (
	"fmt"
	"time"
)

func (q *Quiet) check() error {
	if q == nil {
		return nil
	}
	for _, f := range []struct{ field, v string }{{"from", q.From}, {"to", q.To}} {
		if _, err := minuteOfDay(f.v); err != nil {
			return Wrong("policy.quiet_hours."+f.field, "policy.quiet_hours.%s must be a time of day such as 22:00", f.field)
		}
	}
	if _, err := LoadZone(q.Zone); err != nil {
		return Wrong("policy.quiet_hours.time_zone", "policy.quiet_hours.time_zone must be an IANA time zone such as Europe/London")
	}
	return nil
}

// LoadZone is time.LoadLocation without its two special names: a zone that a
// caller names must mean the same on every machine.
func LoadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("no time zone %q", name)
	}
	return time.LoadLocation(name)
}

// At says whether t is inside the quiet hours, by the wall clock of the zone on
// that day: an hour that a clock change repeats is judged as it reads, twice.
func (q *Quiet) At(t time.Time) bool {
	c, ok := q.clock()
	return ok && c.at(t)
}

// End returns the first later whole minute that is not quiet. It asks instants
// one by one, so that a clock change inside the night needs no rule of its own.
func (q *Quiet) End(t time.Time) time.Time {
	m := t.Truncate(time.Minute).Add(time.Minute)
	c, ok := q.clock()
	for limit := m.Add(49 * time.Hour); ok && c.at(m) && m.Before(limit); {
		m = m.Add(time.Minute)
	}
	return m
}

// quietClock is Quiet as read: loading a zone reads a file, which is too much for
// each minute of a night.
type quietClock struct {
	from, to int // minutes of the day
	zone     *time.Location
}

// clock is not ok where it is never quiet.
func (q *Quiet) clock() (c quietClock, ok bool) {
	if q == nil || q.From == q.To {
		return c, false
	}
	from, err1 := minuteOfDay(q.From)
	to, err2 := minuteOfDay(q.To)
	zone, err3 := LoadZone(q.Zone)
	if err1 != nil || err2 != nil || err3 != nil {
		return c, false // checked at the edge; a zone the machine has lost must not stop the line
	}
	return quietClock{from, to, zone}, true
}

func (c quietClock) at(t time.Time) bool {
	w := t.In(c.zone)
	m := w.Hour()*60 + w.Minute()
	if c.from < c.to {
		return c.from <= m && m < c.to
	}
	return m >= c.from || m < c.to
}

// minuteOfDay parses "HH:MM".
func minuteOfDay(s string) (int, error) {
	t, err := time.Parse("15:04", s)
	if err != nil || len(s) != 5 {
		return 0, fmt.Errorf("no time of day: %q", s)
	}
	return t.Hour()*60 + t.Minute(), nil
}
