package delivery

import (
	"fmt"
	"time"

	"fanline/notifier"
)

// QuietHours are a span of the day by a wall clock, as minutes after midnight;
// From may be later than To. Equal ends: never quiet.
type QuietHours struct{ From, To int }

// minuteOfDay reads "HH:MM".
func minuteOfDay(s string) (int, bool) {
	t, err := time.Parse("15:04", s)
	if err != nil || len(s) != 5 {
		return 0, false
	}
	return t.Hour()*60 + t.Minute(), true
}

// WallTime is a minute of the day as HH:MM.
func WallTime(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }

// at says whether t is inside, by the wall clock of the zone on that day: an hour
// that a clock change repeats is judged as it reads, twice.
func (q *QuietHours) at(t time.Time, zone *time.Location) bool {
	if q == nil || q.From == q.To {
		return false
	}
	w := t.In(zone)
	m := w.Hour()*60 + w.Minute()
	if q.From < q.To {
		return q.From <= m && m < q.To
	}
	return m >= q.From || m < q.To
}

// QuietAt says whether the fan's quiet hours hold an item of a lane back at now:
// never a transactional one, and one about turns only for those who want so.
// showZone is for fans who named no zone; nil is UTC.
func (r *Recipient) QuietAt(lane notifier.Lane, now time.Time, showZone *time.Location) bool {
	if lane == notifier.Transactional || lane == notifier.Turns && r.TurnAtNight {
		return false
	}
	return r.Quiet.at(now, r.zone(showZone))
}

// QuietEnds returns the first later whole minute that is not inside the fan's quiet
// hours. It asks instants one by one, so that a clock change inside the night needs
// no rule of its own.
func (r *Recipient) QuietEnds(now time.Time, showZone *time.Location) time.Time {
	m := now.Truncate(time.Minute).Add(time.Minute)
	zone := r.zone(showZone)
	for limit := m.Add(49 * time.Hour); r.Quiet.at(m, zone) && m.Before(limit); {
		m = m.Add(time.Minute)
	}
	return m
}

func (r *Recipient) zone(showZone *time.Location) *time.Location {
	switch {
	case r.Zone != nil:
		return r.Zone
	case showZone != nil:
		return showZone
	}
	return time.UTC
}
