package delivery

import (
	"time"

	"fanline/notifier"
)

// LaterPlan has messages of a lane planned again at their next step, from 1, at a
// moment.
type LaterPlan struct {
	At       time.Time
	Step     int
	Lane     notifier.Lane
	Messages []int64
}

// laterSteps are when messages are planned again, counted from their moment, from
// step 2 on.
var laterSteps = []time.Duration{notifier.PushAfter, notifier.SMSAfter, notifier.EmailAfter}

// AddLater adds a message to the plans of a step, if there is one: each at its own
// time, no later than latest, so that one with a short life has nobody else's step come
// early.
func AddLater(list []LaterPlan, l notifier.Lane, step int, message int64, moment, latest time.Time) []LaterPlan {
	if step < 2 || step-2 >= len(laterSteps) {
		return list
	}
	at := moment.Add(laterSteps[step-2])
	if latest.Before(at) {
		at = latest
	}
	for i := range list {
		if p := &list[i]; p.At.Equal(at) && p.Step == step && p.Lane == l && len(p.Messages) < notifier.SendMost {
			p.Messages = append(p.Messages, message)
			return list
		}
	}
	return append(list, LaterPlan{At: at, Step: step, Lane: l, Messages: []int64{message}})
}
