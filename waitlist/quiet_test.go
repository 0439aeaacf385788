package waitlist

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestQuietHoursSpanMidnightAndHoldTheirBoundsExactly(t *testing.T) {
	q := &Quiet{From: "22:00", To: "07:00", Zone: "UTC"}
	day := &Quiet{From: "09:30", To: "17:00", Zone: "UTC"}
	midnight := noon.Add(-12 * time.Hour)
	for _, c := range []struct {
		q    *Quiet
		at   time.Duration
		want bool
	}{
		{q, 22*time.Hour - 1, false},
		{q, 22 * time.Hour, true},
		{q, 24 * time.Hour, true},
		{q, 7*time.Hour - 1, true},
		{q, 7 * time.Hour, false},
		{day, 9*time.Hour + 30*time.Minute - 1, false},
		{day, 9*time.Hour + 30*time.Minute, true},
		{day, 17*time.Hour - 1, true},
		{day, 17 * time.Hour, false},
	} {
		if got := c.q.At(midnight.Add(c.at)); got != c.want {
			t.Errorf("%s-%s at %v: %v", c.q.From, c.q.To, c.at, got)
		}
	}
}

func TestEqualEndsAreNeverQuiet(t *testing.T) {
	for _, q := range []*Quiet{nil, {From: "00:00", To: "00:00", Zone: "UTC"}, {From: "22:00", To: "22:00", Zone: "Asia/Kathmandu"}} {
		for m := range 24 * 60 {
			if at := noon.Add(time.Duration(m) * time.Minute); q.At(at) {
				t.Fatalf("%v is quiet at %v", q, at)
			}
		}
	}
}

func TestQuietHoursFollowTheWallClockOfTheirZone(t *testing.T) {
	for _, c := range []struct {
		name  string
		q     Quiet
		at    string
		quiet bool
		end   string
	}{
		// New York goes from EST (-5) to EDT (-4) on 2026-03-08 at 02:00 and back on 2026-11-01.
		{"winter night", Quiet{"22:00", "07:00", "America/New_York"}, "2026-03-08T03:00:00Z", true, "2026-03-08T11:00:00Z"},
		{"winter evening, just before", Quiet{"22:00", "07:00", "America/New_York"}, "2026-03-08T02:59:59Z", false, "2026-03-08T11:00:00Z"},
		{"after the spring change", Quiet{"22:00", "07:00", "America/New_York"}, "2026-03-08T10:59:59Z", true, "2026-03-08T11:00:00Z"},
		{"summer evening begins an hour earlier in UTC", Quiet{"22:00", "07:00", "America/New_York"}, "2026-03-09T02:00:00Z", true, "2026-03-09T11:00:00Z"},
		{"the night of the autumn change lasts an hour more", Quiet{"22:00", "07:00", "America/New_York"}, "2026-11-01T02:00:00Z", true, "2026-11-01T12:00:00Z"},
		{"the hour that spring skips is never quiet", Quiet{"02:00", "03:00", "America/New_York"}, "2026-03-08T07:00:00Z", false, ""},
		{"the hour that autumn repeats, first time", Quiet{"01:00", "02:00", "America/New_York"}, "2026-11-01T05:30:00Z", true, "2026-11-01T07:00:00Z"},
		{"the hour that autumn repeats, second time", Quiet{"01:00", "02:00", "America/New_York"}, "2026-11-01T06:30:00Z", true, "2026-11-01T07:00:00Z"},
		// Kathmandu is at +5:45 all year.
		{"Kathmandu, just before", Quiet{"22:00", "07:00", "Asia/Kathmandu"}, "2026-06-01T16:14:59Z", false, "2026-06-02T01:15:00Z"},
		{"Kathmandu", Quiet{"22:00", "07:00", "Asia/Kathmandu"}, "2026-06-01T16:15:00Z", true, "2026-06-02T01:15:00Z"},
		// Lord Howe Island moves by half an hour: +11 to +10:30 on 2026-04-05 at 02:00, back on 2026-10-04.
		{"Lord Howe, the half hour repeated", Quiet{"01:30", "02:00", "Australia/Lord_Howe"}, "2026-04-04T14:30:00Z", true, "2026-04-04T15:30:00Z"},
		{"Lord Howe, the half hour skipped", Quiet{"02:00", "02:30", "Australia/Lord_Howe"}, "2026-10-03T15:30:00Z", false, ""},
		{"Lord Howe, night in summer", Quiet{"22:00", "07:00", "Australia/Lord_Howe"}, "2026-10-03T11:30:00Z", true, "2026-10-03T20:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.q.At(at); got != c.quiet {
			t.Errorf("%s: quiet is %v", c.name, got)
		}
		if !c.quiet {
			continue
		}
		if got := c.q.End(at).UTC().Format(time.RFC3339); got != c.end {
			t.Errorf("%s: ends at %s, want %s", c.name, got, c.end)
		}
	}
}

func TestQuietHoursOutlastADayWhoseOnlyWakingHourIsSkipped(t *testing.T) {
	q := &Quiet{From: "03:00", To: "02:00", Zone: "America/New_York"}
	at := time.Date(2026, time.March, 7, 3, 30, 0, 0, mustZone(t, q.Zone))
	want := time.Date(2026, time.March, 9, 2, 0, 0, 0, mustZone(t, q.Zone))
	if got := q.End(at); !got.Equal(want) {
		t.Errorf("ends at %v, want %v", got, want)
	}
}

func TestEndIsTheFirstLaterWholeMinuteThatIsNotQuiet(t *testing.T) {
	clock := rapid.Custom(func(t *rapid.T) string {
		m := rapid.IntRange(0, 24*60-1).Draw(t, "minute")
		return noon.Add(-12*time.Hour + time.Duration(m)*time.Minute).Format("15:04")
	})
	rapid.Check(t, func(t *rapid.T) {
		q := &Quiet{
			From: clock.Draw(t, "from"), To: clock.Draw(t, "to"),
			Zone: rapid.SampledFrom([]string{"UTC", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Europe/London"}).Draw(t, "zone"),
		}
		at := noon.Add(time.Duration(rapid.IntRange(0, 365*24*3600).Draw(t, "second")) * time.Second)
		end := q.End(at)
		if !end.After(at) || !end.Equal(end.Truncate(time.Minute)) || q.At(end) {
			t.Fatalf("%+v at %v ends at %v: later, whole and not quiet?", q, at, end)
		}
		for m := at.Truncate(time.Minute).Add(time.Minute); m.Before(end); m = m.Add(time.Minute) {
			if !q.At(m) {
				t.Fatalf("%+v at %v: %v was not quiet, yet the end is %v", q, at, m, end)
			}
		}
	})
}

func TestQuietHoursCheckNamesTheFieldThatIsWrong(t *testing.T) {
	good := Quiet{From: "22:00", To: "07:00", Zone: "Europe/London"}
	for _, c := range []struct {
		field  string
		change func(*Quiet)
	}{
		{"", func(*Quiet) {}},
		{"policy.quiet_hours.from", func(q *Quiet) { q.From = "24:00" }},
		{"policy.quiet_hours.from", func(q *Quiet) { q.From = "7:00" }},
		{"policy.quiet_hours.from", func(q *Quiet) { q.From = "" }},
		{"policy.quiet_hours.from", func(q *Quiet) { q.From = "22:00:00" }},
		{"policy.quiet_hours.to", func(q *Quiet) { q.To = "07:60" }},
		{"policy.quiet_hours.to", func(q *Quiet) { q.To = " 7:00" }},
		{"policy.quiet_hours.to", func(q *Quiet) { q.To = "7:00 " }},
		{"policy.quiet_hours.time_zone", func(q *Quiet) { q.Zone = "" }},
		{"policy.quiet_hours.time_zone", func(q *Quiet) { q.Zone = "Local" }},
		{"policy.quiet_hours.time_zone", func(q *Quiet) { q.Zone = "Mars/Olympus" }},
		{"policy.quiet_hours.time_zone", func(q *Quiet) { q.Zone = "../UTC" }},
	} {
		q := good
		c.change(&q)
		p := DefaultPolicy()
		p.QuietHours = &q
		wantWrong(t, p.Check(), c.field)
	}
}

func TestZoneThatTheMachineHasLostIsNeverQuiet(t *testing.T) {
	q := &Quiet{From: "00:00", To: "23:59", Zone: "Mars/Olympus"}
	if q.At(noon) || !q.End(noon).Equal(noon.Add(time.Minute)) {
		t.Errorf("quiet is %v, until %v", q.At(noon), q.End(noon))
	}
}

func BenchmarkEndOfANight(b *testing.B) {
	q := &Quiet{From: "22:00", To: "07:00", Zone: "America/New_York"}
	at := time.Date(2026, time.March, 3, 3, 0, 0, 0, time.UTC)
	for b.Loop() {
		q.End(at)
	}
}
