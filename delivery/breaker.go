package delivery

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"fanline/notifier"
)

const (
	// breakerWindow is how far back failures count.
	breakerWindow = 10 * time.Second
	// breakerLeast is how many calls there must be before a share of them says
	// anything.
	breakerLeast = 10
	// breakerRest is how long nothing is sent, before a few calls try again.
	breakerRest   = 5 * time.Second
	breakerProbes = 3
)

// errFailing is a call that says the provider is not well; errMisconfigured one
// that says we are not. errNotMade is none.
var (
	errFailing       = errors.New("the provider fails")
	errMisconfigured = errors.New("the provider does not accept our settings")
	errNotMade       = errors.New("no call was made")
)

// Breakers keep calls from providers that fail: one each, of this process alone.
// Their methods may be called concurrently.
type Breakers struct {
	of map[notifier.Channel]*breaker
}

type breaker struct {
	*gobreaker.TwoStepCircuitBreaker[struct{}]
	// alarm: the newest call says that our settings are wrong.
	alarm atomic.Bool
}

// NewBreakers returns closed breakers for all channels.
func NewBreakers(log *slog.Logger) *Breakers {
	b := &Breakers{of: map[notifier.Channel]*breaker{}}
	for _, c := range notifier.Channels {
		br := &breaker{}
		br.TwoStepCircuitBreaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
			Name: string(c), MaxRequests: breakerProbes, Interval: breakerWindow, BucketPeriod: time.Second, Timeout: breakerRest,
			ReadyToTrip: func(n gobreaker.Counts) bool {
				return br.alarm.Load() || n.Requests >= breakerLeast && 2*n.TotalFailures >= n.Requests
			},
			IsExcluded: func(err error) bool { return errors.Is(err, errNotMade) },
			OnStateChange: func(channel string, from, to gobreaker.State) {
				log.Warn("breaker", "channel", channel, "from", from.String(), "to", to.String(), "misconfigured", br.alarm.Load())
			},
		})
		b.of[c] = br
	}
	return b
}

// Allow asks whether a provider may be called. If so, done must be called with the
// outcome; if not it is nil, and the work waits.
func (b *Breakers) Allow(c notifier.Channel) (done func(Outcome), wait time.Duration) {
	br := b.of[c]
	report, err := br.Allow()
	if err != nil {
		return nil, breakerRest / breakerProbes
	}
	return func(o Outcome) {
		if o != NotMade {
			br.alarm.Store(o == Misconfigured)
		}
		report(failing(o))
	}, 0
}

// failing says whether an outcome is about the provider's health. That one asks for
// less is not: the limit answers that.
func failing(o Outcome) error {
	switch o {
	case Retry, Unsure:
		return errFailing
	case Misconfigured:
		return errMisconfigured
	case NotMade:
		return errNotMade
	}
	return nil
}

// BreakerState is a breaker, for people.
type BreakerState struct {
	// State is closed, half-open or open.
	State string
	// Misconfigured: the provider does not accept our settings.
	Misconfigured bool
}

// State returns the breaker of a channel as it is now.
func (b *Breakers) State(c notifier.Channel) BreakerState {
	br := b.of[c]
	return BreakerState{br.TwoStepCircuitBreaker.State().String(), br.alarm.Load()}
}
