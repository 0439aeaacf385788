package delivery

import (
	"testing"
	"time"

	"fanline/notifier"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := loadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestQuietHoursGoByTheWallClockOfTheDay(t *testing.T) {
	t.Parallel()
	night := QuietHours{22 * 60, 7 * 60}
	for name, c := range map[string]struct {
		zone  string
		hours QuietHours
		at    string // UTC
		quiet bool
	}{
		"New York in winter, a minute before":         {"America/New_York", night, "2026-01-15T02:59:00Z", false},
		"New York in winter, from":                    {"America/New_York", night, "2026-01-15T03:00:00Z", true},
		"New York in winter, the last minute":         {"America/New_York", night, "2026-01-15T11:59:59Z", true},
		"New York in winter, to":                      {"America/New_York", night, "2026-01-15T12:00:00Z", false},
		"New York in summer, an hour earlier":         {"America/New_York", night, "2026-07-15T02:00:00Z", true},
		"New York in summer, over":                    {"America/New_York", night, "2026-07-15T11:00:00Z", false},
		"New York, spring: still winter time":         {"America/New_York", night, "2026-03-08T06:59:00Z", true},
		"New York, spring: the morning comes sooner":  {"America/New_York", night, "2026-03-08T10:59:00Z", true},
		"New York, spring: and is over by the clock":  {"America/New_York", night, "2026-03-08T11:00:00Z", false},
		"New York, autumn: the morning comes later":   {"America/New_York", night, "2026-11-01T11:59:00Z", true},
		"New York, autumn: and is over by the clock":  {"America/New_York", night, "2026-11-01T12:00:00Z", false},
		"New York, autumn: 1:30 the first time":       {"America/New_York", QuietHours{60, 120}, "2026-11-01T05:30:00Z", true},
		"New York, autumn: 1:30 the second time":      {"America/New_York", QuietHours{60, 120}, "2026-11-01T06:30:00Z", true},
		"New York, spring: an hour that there is not": {"America/New_York", QuietHours{120, 180}, "2026-03-08T07:00:00Z", false},
		"Kathmandu, three quarters off":               {"Asia/Kathmandu", night, "2026-05-01T16:14:00Z", false},
		"Kathmandu, from":                             {"Asia/Kathmandu", night, "2026-05-01T16:15:00Z", true},
		"Kathmandu, to":                               {"Asia/Kathmandu", night, "2026-05-02T01:15:00Z", false},
		"within one day":                              {"UTC", QuietHours{13 * 60, 14 * 60}, "2026-05-01T13:59:00Z", true},
		"within one day, outside":                     {"UTC", QuietHours{13 * 60, 14 * 60}, "2026-05-01T23:00:00Z", false},
		"equal ends: never":                           {"UTC", QuietHours{0, 0}, "2026-05-01T00:00:00Z", false},
		"equal ends later: never":                     {"UTC", QuietHours{600, 600}, "2026-05-01T10:00:00Z", false},
		"to midnight":                                 {"UTC", QuietHours{22 * 60, 0}, "2026-05-01T23:59:00Z", true},
		"to midnight, at it":                          {"UTC", QuietHours{22 * 60, 0}, "2026-05-02T00:00:00Z", false},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		r := &Recipient{Zone: zone(t, c.zone), Quiet: &c.hours}
		if got := r.QuietAt(notifier.Bulk, at, nil); got != c.quiet {
			t.Errorf("%s: quiet %v", name, got)
		}
	}
}

func TestQuietHoursHoldBackAllButTransactionalAndTurnsUnlessWanted(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 3, 0, 0, 0, time.UTC)
	for _, turnAtNight := range []bool{true, false} {
		r := &Recipient{Quiet: &QuietHours{0, 6 * 60}, TurnAtNight: turnAtNight}
		for lane, want := range map[notifier.Lane]bool{notifier.Transactional: false, notifier.Turns: !turnAtNight, notifier.Bulk: true} {
			if got := r.QuietAt(lane, at, nil); got != want {
				t.Errorf("%s with turns at night %v: quiet %v", lane, turnAtNight, got)
			}
		}
	}
}

func TestQuietHoursGoByTheShowsZoneForFansWithoutOne(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 3, 0, 0, 0, time.UTC) // noon in Tokyo
	r := &Recipient{Quiet: &QuietHours{0, 6 * 60}}
	tokyo := zone(t, "Asia/Tokyo")
	if !r.QuietAt(notifier.Bulk, at, nil) || r.QuietAt(notifier.Bulk, at, tokyo) {
		t.Error("the show's zone does not count")
	}
	r.Zone = time.UTC
	if !r.QuietAt(notifier.Bulk, at, tokyo) {
		t.Error("the fan's own zone does not count before the show's")
	}
	if r = (&Recipient{}); r.QuietAt(notifier.Bulk, at, nil) {
		t.Error("quiet without quiet hours")
	}
}

func TestQuietHoursEndAtTheFirstMinuteThatIsNot(t *testing.T) {
	t.Parallel()
	ny := zone(t, "America/New_York")
	r := &Recipient{Zone: ny, Quiet: &QuietHours{22 * 60, 7 * 60}}
	for from, want := range map[time.Time]time.Time{
		time.Date(2026, 3, 7, 22, 0, 0, 0, ny):    time.Date(2026, 3, 8, 7, 0, 0, 0, ny),  // 8 hours
		time.Date(2026, 10, 31, 22, 0, 30, 0, ny): time.Date(2026, 11, 1, 7, 0, 0, 0, ny), // 10 hours
		time.Date(2026, 5, 1, 6, 59, 59, 0, ny):   time.Date(2026, 5, 1, 7, 0, 0, 0, ny),
		time.Date(2026, 5, 1, 12, 0, 30, 0, ny):   time.Date(2026, 5, 1, 12, 1, 0, 0, ny),
	} {
		if got := r.QuietEnds(from, nil); !got.Equal(want) {
			t.Errorf("from %v: ends %v, want %v", from, got, want)
		}
	}
	if got := r.QuietEnds(time.Date(2026, 3, 7, 22, 0, 0, 0, ny), nil).Sub(time.Date(2026, 3, 7, 22, 0, 0, 0, ny)); got != 8*time.Hour {
		t.Errorf("the night of the spring change lasts %v", got)
	}
}

func FuzzTimesOfDay(f *testing.F) {
	for _, s := range []string{"22:00", "7:00", "24:00", "23:59", "00:00", "", "2２:00", "12:60", "-1:00", "12:00 "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, ok := minuteOfDay(s)
		if ok && (m < 0 || m >= 24*60 || WallTime(m) != s) {
			t.Errorf("%q is minute %d, which is %s", s, m, WallTime(m))
		}
	})
}
