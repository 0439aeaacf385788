package sendtest

import (
	"io"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
)

// Envelope is the first attempt to tell an address of a turn that is open for ten
// minutes. A token was registered an hour ago.
func Envelope(to delivery.Address) *delivery.Envelope {
	now := time.Now()
	closes := notifier.Stamp(now.Add(10 * time.Minute))
	to.RegisteredAt = now.Add(-time.Hour)
	return &delivery.Envelope{
		Key: notifier.KeyOf(notifier.ItemRef{Kind: notifier.KindTurn, Ref: 7}, 1, to.Channel, to.To),
		Item: notifier.Item{
			ID: "turn:show:opening", Kind: notifier.KindTurn, Lane: notifier.Turns, ShowID: "show", OpeningID: "opening",
			Title: "Your turn", Body: "2 seats", Seats: 2, CreatedAt: notifier.Stamp(now), ClosesAt: &closes,
		},
		Address: to, Expires: now.Add(10 * time.Minute), URL: "https://t.example/show", Attempt: 1,
	}
}

// Opened returns the provider that a New made, as Opened(New(cfg))(t), and closes it
// with the test.
func Opened[P io.Closer](p P, err error) func(testing.TB) P {
	return func(t testing.TB) P {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
}
