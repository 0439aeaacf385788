package notifier

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestAStampIsUTCWithMilliseconds(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 2*3600)
	for at, want := range map[time.Time]string{
		time.Date(2026, 5, 6, 21, 0, 0, 0, zone):           `"2026-05-06T19:00:00.000Z"`,
		time.Date(2026, 5, 6, 21, 0, 0, 123_999_000, zone): `"2026-05-06T19:00:00.123Z"`,
	} {
		b, err := json.Marshal(Stamp(at))
		if err != nil || string(b) != want {
			t.Errorf("%v is written %s, want %s (%v)", at, b, want, err)
		}
		var back Stamp
		if err := json.Unmarshal(b, &back); err != nil || !time.Time(back).Equal(at.Truncate(time.Millisecond)) {
			t.Errorf("%s is read %v (%v)", b, back, err)
		}
	}
}

func TestATextIsFilledOnceAndNeverReadsWhatWasFilledIn(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	got := Text{"{show}", "{seats}, {minutes}, until {closes_at} at {venue} {url} {unknown}"}.Fill(Vars{
		Show: "{venue}", Venue: "The {seats}", Seats: 2, Window: 10 * time.Minute,
		ClosesAt: time.Date(2026, 7, 1, 23, 30, 0, 0, time.UTC), Zone: zone, URL: "https://t.example/{show}",
	})
	want := Text{"{venue}", "2 seats, 10 minutes, until 19:30 EDT at The {seats} https://t.example/{show} {unknown}"}
	if got != want {
		t.Errorf("filled %+v, want %+v", got, want)
	}
}

func TestEveryKindHasABuiltInText(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"turn", "result.filled", "result.cancelled", "result.confirmed", "result.lapsed"} {
		text := TextFor(name).Fill(Vars{Show: "S", Venue: "V", Seats: 1, Window: time.Second})
		if text.Title == "" || text.Body == "" || strings.ContainsAny(text.Title+text.Body, "{}") {
			t.Errorf("%s: %+v", name, text)
		}
	}
}
