package waitlist

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the moment at which most tests begin.
var noon = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func ptr[T any](v T) *T { return &v }

// testShow is a show with the default policy that starts in ten days.
func testShow() Show {
	return Show{
		No: 1, ID: "locksmith", Name: "Tuesday", Venue: "The Locksmith",
		StartsAt: noon.Add(240 * time.Hour), TimeZone: "UTC", Policy: DefaultPolicy(),
	}
}

// wantWrong fails unless err names field as the wrong input; field "" wants nil.
func wantWrong(t *testing.T, err error, field string) {
	t.Helper()
	if field == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	var e *Error
	if !errors.As(err, &e) || e.Code != Invalid || e.Field != field {
		t.Errorf("got %v (field %q), want %s to be named", err, fieldOf(err), field)
	}
}

func fieldOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Field
	}
	return ""
}
