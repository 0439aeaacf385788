package admin

import (
	"context"
	"fmt"
	"time"

	"fanline/delivery"
	"fanline/delivery/live"
	"fanline/notifier"
)

// Engine is what runs beside the line; nil in a Config: nothing is known of it.
type Engine interface {
	// Providers are those of all channels but live, also of those that are off.
	Providers(ctx context.Context) []Provider
	// Instances are the processes that serve now, as far as they are known where
	// there is an error.
	Instances(ctx context.Context) ([]live.InstanceFigures, error)
}

// Provider is the state of a channel's provider in this process.
type Provider struct {
	Channel notifier.Channel
	// On: its settings are there. Without, Setting is the first variable to set.
	On      bool
	Setting string
	Limit   delivery.LimitState
	Breaker delivery.BreakerState
}

// channelNames are the channels as people call them.
var channelNames = map[notifier.Channel]string{
	notifier.Live: "live sockets", notifier.APNs: "Apple push", notifier.FCM: "Google push", notifier.WebPush: "Web Push",
	notifier.SMS: "text messages", notifier.Email: "mail",
}

type providerRow struct {
	Provider
	notifier.SendRate
	Name, Shows, State string
	Used, InForce      int // widths, in hundredths of what is configured
	LimitWords         string
	Alt                string
}

func providerRows(providers []Provider, rates []notifier.SendRate) []providerRow {
	byChannel := map[notifier.Channel]notifier.SendRate{}
	for _, r := range rates {
		byChannel[r.Channel] = r
	}
	var rows []providerRow
	for _, p := range providers {
		row := providerRow{Provider: p, SendRate: byChannel[p.Channel], Name: channelNames[p.Channel]}
		row.Shows, row.State = providerState(&p)
		l := p.Limit
		row.LimitWords = "no limit set"
		if l.Limited || l.InForce.N < l.Configured.N {
			per := " a " + spanName(l.Configured.Per)
			row.Used, row.InForce = share(l.Used, l.Configured.N), share(l.InForce.N, l.Configured.N)
			row.LimitWords = count(l.Used) + " of " + count(l.InForce.N) + per
			row.Alt = fmt.Sprintf("%s of %s permits used in the last %s; %s are configured.",
				count(l.Used), count(l.InForce.N), spanName(l.Configured.Per), count(l.Configured.N))
			if l.InForce.N < l.Configured.N {
				row.LimitWords += ", " + count(l.Configured.N) + per + " when all is quiet"
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// providerState is a provider's state: its colour's name and a sentence.
func providerState(p *Provider) (shows, words string) {
	l := p.Limit
	switch {
	case !p.On:
		return "gone", "off"
	case p.Breaker.Misconfigured:
		return "missed", "refuses our settings"
	case p.Breaker.State == "open":
		return "missed", "fails; resting"
	case p.Breaker.State == "half-open":
		return "missed", "failed; being tried"
	case l.Pause > 0:
		return "missed", "asked us to wait " + briefly(l.Pause)
	case l.InForce.N < l.Configured.N:
		return "upcoming", "asked for less"
	}
	return "bought", "working"
}

func spanName(d time.Duration) string {
	switch d {
	case time.Minute:
		return "minute"
	case time.Hour:
		return "hour"
	}
	return "second"
}

type instanceRow struct {
	live.InstanceFigures
	Width int
}

func (b *board) instanceRows(list []live.InstanceFigures) {
	most := 1
	for _, i := range list {
		most = max(most, i.Sockets)
		b.Fans, b.Sockets = b.Fans+i.Fans, b.Sockets+i.Sockets
	}
	for _, i := range list {
		b.Instances = append(b.Instances, instanceRow{i, share(i.Sockets, most)})
	}
}
