package delivery

import (
	"time"

	"fanline/notifier"
)

// LaterPlan has messages of a lane planned again at a moment, at their next step or,
// where that is 0, between two.
type LaterPlan struct {
	At       time.Time
	Step     int
	Lane     notifier.Lane
	Messages []int64
}

// laterSteps are when messages are planned again, counted from their moment, from
// step 2 on.
var laterSteps = []time.Duration{notifier.PushAfter, notifier.SMSAfter, notifier.EmailAfter}

// lookAfter is when urgent messages are looked at for what the process lost that had
// them first.
const lookAfter = 3 * time.Second

// AddLook adds a message to the plans that look for what was lost of urgent ones.
func AddLook(list []LaterPlan, l notifier.Lane, message int64, moment, latest time.Time) []LaterPlan {
	return addPlan(list, LaterPlan{At: moment.Add(lookAfter), Lane: l}, latest, message)
}

// AddLater adds a message to the plans of a step, if there is one: each at its own
// time, no later than latest, so that one with a short life has nobody else's step come
// early.
func AddLater(list []LaterPlan, l notifier.Lane, step int, message int64, moment, latest time.Time) []LaterPlan {
	if step < 2 || step-2 >= len(laterSteps) {
		return list
	}
	return addPlan(list, LaterPlan{At: moment.Add(laterSteps[step-2]), Step: step, Lane: l}, latest, message)
}

// addPlan adds a message to a plan like p that has room, or else p with it.
func addPlan(list []LaterPlan, p LaterPlan, latest time.Time, message int64) []LaterPlan {
	if latest.Before(p.At) {
		p.At = latest
	}
	for i := range list {
		if x := &list[i]; x.At.Equal(p.At) && x.Step == p.Step && x.Lane == p.Lane && len(x.Messages) < notifier.SendMost {
			x.Messages = append(x.Messages, message)
			return list
		}
	}
	p.Messages = []int64{message}
	return append(list, p)
}
