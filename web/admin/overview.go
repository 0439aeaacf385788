package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

// overviewShows is how many shows stand on the overview.
const overviewShows = 12

// board is the overview. A part that could not be read has a sentence in place of
// its rows, so that what works is seen while something does not.
type board struct {
	Shows                                        []showCard
	Lanes                                        []laneRows
	Providers                                    []providerRow
	Instances                                    []instanceRow
	Fans, Sockets                                int
	Known                                        bool // there is an Engine
	ShowsGone, LanesGone, RatesGone, CensusGone  bool
	ShowsWaiting, OpeningsOpen, ToldDay, Claimed int64
}

// boardParts are the parts by their templates; each stands on the page under its
// own id.
var boardParts = []string{"shows", "lanes", "providers", "instances"}

// overview is the first page.
func (a *Admin) overview(w http.ResponseWriter, r *http.Request) error {
	b, err := a.readBoard(r.Context())
	if err != nil {
		return err
	}
	return a.render(w, r, "overview", &view{Title: "Overview", Nav: "overview", Live: link("live"), Body: b})
}

// readBoard fails only when nothing can be known any more in time.
func (a *Admin) readBoard(ctx context.Context) (*board, error) {
	b := &board{Known: a.engine != nil}
	shows, err := a.records.Liveliest(ctx, overviewShows)
	b.ShowsGone = a.missed(ctx, "shows", err)
	b.showRows(shows)
	loads, err := a.records.QueueLoads(ctx)
	b.LanesGone = a.missed(ctx, "lanes", err)
	b.Lanes = laneTable(loads)
	rates, err := a.records.SendRates(ctx)
	b.RatesGone = a.missed(ctx, "rates", err)
	if a.engine != nil {
		b.Providers = providerRows(a.engine.Providers(ctx), rates)
		instances, err := a.engine.Instances(ctx)
		b.CensusGone = a.missed(ctx, "instances", err)
		b.instanceRows(instances)
	}
	return b, ctx.Err()
}

func (a *Admin) missed(ctx context.Context, what string, err error) bool {
	if err != nil && ctx.Err() == nil {
		a.log.Warn("the overview misses a part", "part", what, "err", err)
	}
	return err != nil
}

// boardHTML is the overview's parts for the streams.
func (a *Admin) boardHTML(ctx context.Context) (parts, error) {
	b, err := a.readBoard(ctx)
	if err != nil {
		return nil, err
	}
	return a.renderParts("overview", boardParts, &view{Body: b})
}

type showCard struct {
	waitlist.ShowFigures
	Starts, Status string
	Auto           bool // the strategy goes by the number waiting
	More           bool // claimed is more than is counted
	Pulse          bars
}

func (b *board) showRows(shows []waitlist.ShowFigures) {
	for i := range shows {
		s := &shows[i]
		b.Shows = append(b.Shows, showCard{
			ShowFigures: *s, Starts: day(s.StartsAt, zoneOf(s.TimeZone)), Status: statusOf(&s.Show),
			Auto: s.Policy.Strategy == waitlist.Auto, More: s.Claimed >= waitlist.DayMost, Pulse: pulseBars(&s.Pulse),
		})
		b.ShowsWaiting += s.Waiting
		b.OpeningsOpen += int64(s.OpeningsOpen)
		b.ToldDay += s.Told
		b.Claimed += s.Claimed
	}
}

// bars are a small picture of two counts over time, one drawn in front of the other.
type bars struct {
	Told, Claimed []column
	Alt           string
	Empty         bool
}

const (
	pulseWidth  = waitlist.PulseSteps * pulseStep
	pulseStep   = 8
	pulseHeight = 32
)

// pulseBars draws the last hour of a show.
func pulseBars(p *[waitlist.PulseSteps]waitlist.PulseStep) bars {
	var most, told, claimed int64
	for _, s := range p {
		most, told, claimed = max(most, s.Told, s.Claimed), told+s.Told, claimed+s.Claimed
	}
	b := bars{Empty: most == 0, Alt: fmt.Sprintf("In the last hour %s told and %s; at most %s in two minutes.",
		plural(told, "fan was", "fans were"), plural(claimed, "claim was made", "claims were made"), count(most))}
	if b.Empty {
		b.Alt = "Nobody was told in the last hour."
		return b
	}
	bar := func(i int, n int64) column {
		h := n * pulseHeight / most
		if n > 0 {
			h = max(h, 2)
		}
		return column{int64(i) * pulseStep, pulseHeight - h, pulseStep - 2, h}
	}
	for i, s := range p {
		if s.Told > 0 {
			b.Told = append(b.Told, bar(i, s.Told))
		}
		if s.Claimed > 0 {
			b.Claimed = append(b.Claimed, bar(i, s.Claimed))
		}
	}
	return b
}

// laneRows are the queues of a lane.
type laneRows struct {
	Lane, For string
	Rows      []queueRow
	Idle      string // the names of those with nothing to do
}

type queueRow struct {
	notifier.QueueLoad
	Name, Shows, State, Age string
	Width                   int // of the bar, in hundredths
}

// lanePatience is how long the oldest job of a lane may wait before the lane is
// called behind.
var lanePatience = map[notifier.Lane]time.Duration{
	notifier.Transactional: 2 * time.Second, notifier.Turns: 5 * time.Second, notifier.Bulk: 2 * time.Minute,
}

var lanePurpose = map[notifier.Lane]string{
	notifier.Transactional: "login codes, payment confirmations: within 5 s", notifier.Turns: "turns and what became of them",
	notifier.Bulk: "announcements and the rest; always advances",
}

func laneTable(loads []notifier.QueueLoad) []laneRows {
	byName := map[string]notifier.QueueLoad{}
	for _, l := range loads {
		byName[l.Queue] = l
	}
	var table []laneRows
	for _, l := range notifier.Lanes {
		rows := laneRows{Lane: string(l), For: lanePurpose[l]}
		var idle []string
		add := func(queue, name string) {
			load, ok := byName[queue]
			switch {
			case !ok:
			case load.Waiting+load.Later+load.Running == 0 && load.PerSecond == 0 && !load.Paused:
				idle = append(idle, name)
			default:
				rows.Rows = append(rows.Rows, queueRowOf(load, name, lanePatience[l]))
			}
		}
		add(notifier.Queue(l), "deciding whom to tell")
		for _, c := range notifier.Channels {
			add(notifier.ChannelQueue(l, c), channelNames[c])
		}
		rows.Idle = strings.Join(idle, ", ")
		table = append(table, rows)
	}
	return table
}

func queueRowOf(load notifier.QueueLoad, name string, patience time.Duration) queueRow {
	row := queueRow{QueueLoad: load, Name: name, Shows: "bought", State: "flowing", Age: "–", Width: share(load.Waiting, notifier.QueueLoadMost)}
	if load.Waiting > 0 {
		row.Age = briefly(load.Oldest)
	}
	switch {
	case load.Paused:
		row.Shows, row.State = "missed", "paused"
	case load.Unserved():
		row.Shows, row.State = "missed", "no process serves it: see FANLINE_LANES"
	case load.Oldest > patience:
		row.Shows, row.State = "missed", "behind"
	case load.Waiting+load.Running == 0 && load.Later > 0:
		row.Shows, row.State = "upcoming", "put off"
	}
	return row
}

// share is n of all in hundredths, at least one where there is anything.
func share(n, all int) int {
	if n <= 0 || all <= 0 {
		return 0
	}
	return min(max(n*100/all, 1), 100)
}

// briefly writes a length of time for a look: 0.4 s, 12 s, 3 min.
func briefly(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return count(int(d.Hours())) + " h"
}

// perSecond writes a rate.
func perSecond(r float64) string {
	switch {
	case r == 0:
		return "0"
	case r < 10:
		return fmt.Sprintf("%.1f", r)
	}
	return count(int(r + 0.5))
}
