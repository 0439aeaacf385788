package delivery

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"fanline/notifier"
)

// calls makes n calls and returns how many were allowed.
func calls(b *Breakers, c notifier.Channel, n int, o Outcome) (allowed int) {
	for range n {
		if done, _ := b.Allow(c); done != nil {
			done(o)
			allowed++
		}
	}
	return allowed
}

func TestAProviderThatFailsIsLeftAloneAndTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBreakers(slog.New(slog.DiscardHandler))
		if got := calls(b, notifier.FCM, 100, Unsure); got != breakerLeast {
			t.Errorf("%d calls before it opened, want %d", got, breakerLeast)
		}
		if got := calls(b, notifier.APNs, 100, Accepted); got != 100 {
			t.Errorf("another provider got %d of 100", got)
		}
		time.Sleep(breakerRest + time.Second)
		if got := calls(b, notifier.FCM, 100, Retry); got != 1 {
			t.Errorf("%d calls of a provider that still fails, want a first try", got)
		}
		time.Sleep(breakerRest + time.Second)
		if got := calls(b, notifier.FCM, 100, Accepted); got != 100 {
			t.Errorf("%d of 100 calls after it came back", got)
		}
	})
}

func TestAWrongSettingOpensAtOnceAndSaysSo(t *testing.T) {
	t.Parallel()
	b := NewBreakers(slog.New(slog.DiscardHandler))
	if got := calls(b, notifier.SMS, 10, Misconfigured); got != 1 {
		t.Errorf("%d calls with a wrong key, want 1", got)
	}
	if got := b.State(notifier.SMS); got != (BreakerState{"open", true}) {
		t.Errorf("state %+v", got)
	}
}

func TestAnswersAboutAddressesNeverOpenABreaker(t *testing.T) {
	t.Parallel()
	b := NewBreakers(slog.New(slog.DiscardHandler))
	for _, o := range []Outcome{Throttled, AddressThrottled, Refused, AddressDead, OtherEnvironment, OtherProject, OptedOut} {
		if got := calls(b, notifier.APNs, 50, o); got != 50 {
			t.Errorf("%s: %d of 50 calls", o, got)
		}
	}
}
