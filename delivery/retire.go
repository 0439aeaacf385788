package delivery

import (
	"log/slog"
	"sync"
	"time"

	"fanline/notifier"
)

// What makes a rise of dead addresses too sudden to be true: a wrong environment,
// topic or project looks like that.
const (
	retireStep   = 10 * time.Second
	retireWindow = 5 * time.Minute
	retireLeast  = 20 // that many a window are believed in any case
	retireShare  = 20 // beyond, one in so many
)

// RetireGuard stands before Recipients.RetireAddress and UnuseDevice: it counts what
// a channel's provider says about addresses, and when suddenly too many of them are
// called dead, none is retired until that is over. One that is dead indeed is called
// so again by the next send. Each process judges what it sent itself. Its methods may
// be called concurrently.
type RetireGuard struct {
	log *slog.Logger

	mu       sync.Mutex
	channels map[notifier.Channel]*deaths
}

// NewRetireGuard returns a guard that logs its alarms.
func NewRetireGuard(log *slog.Logger) *RetireGuard {
	return &RetireGuard{log: log, channels: map[notifier.Channel]*deaths{}}
}

// deaths are a channel's verdicts of the last minutes, by steps of time.
type deaths struct {
	steps [retireWindow / retireStep]deathStep
	alarm bool
}

type deathStep struct {
	no          int64 // which step of time it is
	heard, dead int
}

// Note counts a verdict. Every verdict is to be noted, also the good ones: those are
// what the bad ones are measured by. What says nothing about an address is left out.
func (g *RetireGuard) Note(c notifier.Channel, o Outcome) {
	dead := o == AddressDead || o == OtherEnvironment || o == OtherProject
	if !dead && o != Accepted && o != Refused && o != OptedOut {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.channels[c]
	if d == nil {
		d = &deaths{}
		g.channels[c] = d
	}
	heard, died := d.note(time.Now(), dead)
	g.judge(c, d, heard, died)
}

// May says whether addresses of the channel may be retired now.
func (g *RetireGuard) May(c notifier.Channel) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.channels[c]
	if d == nil {
		return true
	}
	heard, died := d.count(time.Now().UnixNano() / int64(retireStep))
	g.judge(c, d, heard, died)
	return !d.alarm
}

// Alarms is how many channels there are of which nothing is retired now.
func (g *RetireGuard) Alarms() (n int) {
	for _, c := range notifier.Channels {
		if !g.May(c) {
			n++
		}
	}
	return n
}

// note counts one and returns how many there were in the window.
func (d *deaths) note(now time.Time, dead bool) (heard, died int) {
	no := now.UnixNano() / int64(retireStep)
	at := &d.steps[no%int64(len(d.steps))]
	if at.no != no {
		*at = deathStep{no: no}
	}
	at.heard++
	if dead {
		at.dead++
	}
	return d.count(no)
}

func (d *deaths) count(no int64) (heard, died int) {
	for _, s := range d.steps {
		if no-s.no < int64(len(d.steps)) {
			heard, died = heard+s.heard, died+s.dead
		}
	}
	return heard, died
}

// judge raises the alarm or ends it. mu is held.
func (g *RetireGuard) judge(c notifier.Channel, d *deaths, heard, died int) {
	many := died > max(retireLeast, heard/retireShare)
	switch {
	case many && !d.alarm:
		g.log.Error("a channel's provider calls suddenly many addresses dead: none is retired until that is over; look at the channel's environment, topic, project and credentials",
			"channel", c, "dead", died, "of", heard)
	case !many && d.alarm:
		g.log.Info("addresses that their provider calls dead are retired again", "channel", c)
	}
	d.alarm = many
}
