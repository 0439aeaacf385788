package delivery

import (
	"slices"
	"testing"
	"time"
)

func TestADigestHasOneMomentADayWhateverTheClocksDo(t *testing.T) {
	t.Parallel()
	for name, year := range map[string]int{
		"": 2026, "America/New_York": 2026, "Europe/London": 2026, "Asia/Kathmandu": 2026, "Australia/Lord_Howe": 2026,
		"America/Havana": 2026, "America/Scoresbysund": 2025, "America/Nuuk": 2025, "Pacific/Apia": 2011, "Africa/Cairo": 2025,
	} {
		zone, err := DigestZone(name)
		if err != nil {
			t.Fatal(err)
		}
		for hour := range 24 {
			for day := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() == year; day = day.AddDate(0, 0, 1) {
				at, ok := digestMoment(day.Year(), day.Month(), day.Day(), hour, zone)
				w, before := at.In(zone), at.Add(-time.Minute).In(zone)
				switch {
				case !ok && name == "Pacific/Apia" && day.Month() == 12 && day.Day() == 30: // it left that day out
				case !ok || w.Format(time.DateOnly) != day.Format(time.DateOnly):
					t.Errorf("%s, %s at %d: %v %s", name, day.Format(time.DateOnly), hour, ok, w)
				case w.Hour() < hour && at.Add(quarter).In(zone).Day() == w.Day():
					t.Errorf("%s, %s at %d: at %s, too early", name, day.Format(time.DateOnly), hour, w)
				case w.Hour() >= hour && before.Day() == w.Day() && before.Hour() >= hour:
					t.Errorf("%s, %s at %d: at %s, too late or twice", name, day.Format(time.DateOnly), hour, w)
				}
			}
		}
	}
}

func TestEachDayIsStartedOnceAroundAChangeOfClocks(t *testing.T) {
	t.Parallel()
	zone, err := DigestZone("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []time.Time{time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 30, 12, 0, 0, 0, time.UTC)} {
		for _, hour := range []int{0, 1, 2, 3, 23} {
			var days []string
			for now := from; now.Before(from.AddDate(0, 0, 5)); now = now.Add(time.Minute) {
				for _, r := range DueDigests(DigestGroup{"America/New_York", hour}, zone, now) {
					if !slices.Contains(days, r.Day) {
						days = append(days, r.Day)
					}
				}
			}
			if len(days) != 5 || !slices.IsSorted(days) {
				t.Errorf("at %d from %s: %v", hour, from, days)
			}
		}
	}
}

func TestADigestIsNotSentLongAfterItsHour(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 1, 23, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		after time.Duration
		days  int
	}{{-time.Second, 0}, {0, 1}, {2 * time.Hour, 1}, {digestLate - time.Second, 1}, {digestLate, 0}} {
		runs := DueDigests(DigestGroup{"", 23}, time.UTC, at.Add(c.after))
		if len(runs) != c.days || c.days > 0 && runs[0].Day != "2026-07-01" {
			t.Errorf("%v after the hour: %v", c.after, runs)
		}
	}
}
