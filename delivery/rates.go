package delivery

import (
	"context"

	"fanline/notifier"
)

// What mail services bear, of what they told of in a day. Above, they begin to
// refuse all of a sender's mail, login codes too.
const (
	mostBounces    = 0.05
	mostComplaints = 0.001
	// ratesLeast is how many deliveries a rate is worth something from.
	ratesLeast = 100
)

// Rates are shares of the deliveries that a service told the end of in the last
// day.
type Rates struct {
	Bounces, Complaints float64
	// Of is how many deliveries that were.
	Of int64
}

func (n *ReportCounts) rates() Rates {
	r := Rates{Of: n.Delivered + n.Failed + n.Bounced}
	if r.Of > 0 {
		r.Bounces = float64(n.Bounced) / float64(r.Of)
		r.Complaints = float64(n.Complained) / float64(r.Of)
	}
	return r
}

// Rates are those of a channel, a minute old at most; the same on every instance.
func (f *Feedback) Rates(c notifier.Channel) Rates {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rates[c]
}

// watch counts, and logs an alarm when mail comes above what services bear.
func (f *Feedback) watch(ctx context.Context) error {
	counts, err := f.cfg.Store.ReportCounts(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.rates)
	for c, n := range counts {
		f.rates[c] = n.rates()
	}
	mail := f.rates[notifier.Email]
	f.alarmAt("bounces", mail.Bounces, mostBounces, mail.Of)
	f.alarmAt("complaints", mail.Complaints, mostComplaints, mail.Of)
	return nil
}

// alarmAt logs when a rate passes what is borne, and when that is over. mu is held.
func (f *Feedback) alarmAt(what string, rate, most float64, of int64) {
	above := of >= ratesLeast && rate > most
	if above == f.alarm[what] {
		return
	}
	f.alarm[what] = above
	if above {
		f.cfg.Log.Error("mail services will soon refuse our mail: too many "+what, "rate", rate, "bearable", most, "of", of)
		return
	}
	f.cfg.Log.Info("mail has few "+what+" again", "rate", rate, "bearable", most, "of", of)
}
