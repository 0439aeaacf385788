package admin

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fanline/waitlist"
)

// timeline is a show's newest openings as they are drawn: a track each, all over the
// same stretch of time.
type timeline struct {
	Tracks []track
	Ticks  []tick
	Now    string // where now is, in percent
	Legend []legend
}

type track struct {
	openingRow
	Bars   []bar
	Height int
	Words  string // how it stands
	Alt    string // the bars in words
}

// bar is turns of one kind, from when the first opened to when the last ended. X and
// W are percent of the width.
type bar struct {
	X, W  string
	Y     int
	Shows waitlist.SpotState
	Title string
}

type tick struct {
	X, Text string
	Opt     bool // left out where there is little room
}

const (
	trackMost  = 8 // tracks
	laneHeight = 9
	barHeight  = 7
	lanesMost  = 6
	// eachMost is the largest wave of which every turn is a bar of its own.
	eachMost = 3
	// spanMost is how far back a timeline looks.
	spanMost  = 2 * time.Hour
	spanLeast = 5 * time.Minute
)

// spotTold is of turns that were not looked at one by one.
const spotTold waitlist.SpotState = "told"

// stint is a bar before it is drawn.
type stint struct {
	from, to time.Time
	shows    waitlist.SpotState
	n        int
}

// drawTimeline makes the drawing of a timeline, or nil where there is no opening.
func drawTimeline(t *waitlist.Timeline, zone *time.Location) *timeline {
	if len(t.Openings) == 0 {
		return nil
	}
	s := scaleOf(t)
	d := &timeline{Now: s.x(t.Now), Ticks: s.ticks(zone)}
	counts := map[waitlist.SpotState]int{}
	for i := range t.Openings {
		o := &t.Openings[i]
		d.Tracks = append(d.Tracks, s.track(o, stintsOf(o), zone, counts))
	}
	for _, n := range append(spotNames, spotNameOf{spotTold, "told, not told apart"}) {
		if c := counts[n.shows]; c > 0 {
			d.Legend = append(d.Legend, legend{n.shows, n.name, c})
		}
	}
	return d
}

// stintsOf puts turns of one kind that follow one another closely together.
func stintsOf(o *waitlist.TimedOpening) []stint {
	var all []stint
	for i := range o.Waves {
		w := &o.Waves[i]
		if w.Turns == nil {
			all = append(all, stint{w.OpensAt, w.LastCloses(), spotTold, w.Size})
			continue
		}
		for _, t := range w.Turns {
			all = append(all, stint{t.Opens, t.Ends, t.Shows, 1})
		}
	}
	if len(all) <= eachMost*len(o.Waves) && len(all) <= lanesMost {
		return all
	}
	return joined(all)
}

// joined makes one of the stints of a kind that overlap.
func joined(all []stint) []stint {
	slices.SortStableFunc(all, func(a, b stint) int {
		return cmp.Or(strings.Compare(string(a.shows), string(b.shows)), a.from.Compare(b.from))
	})
	var out []stint
	for _, s := range all {
		if n := len(out) - 1; n >= 0 && out[n].shows == s.shows && !s.from.After(out[n].to) {
			out[n].n += s.n
			if s.to.After(out[n].to) {
				out[n].to = s.to
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// scale is the stretch of time that a timeline shows.
type scale struct{ from, to, now time.Time }

// scaleOf begins with the oldest opening shown, within reason, and leaves room for
// the turns that are open.
func scaleOf(t *waitlist.Timeline) scale {
	s := scale{from: t.Now, to: t.Now, now: t.Now}
	for i := range t.Openings {
		o := &t.Openings[i]
		if o.State == waitlist.OpeningOpen || o.FinalAt.After(t.Now.Add(-spanMost)) {
			s.from = earlier(s.from, o.RecordedAt)
		}
		for j := range o.Waves {
			if end := o.Waves[j].LastCloses(); o.State == waitlist.OpeningOpen && end.After(s.to) {
				s.to = end
			}
		}
	}
	s.from = later(earlier(s.from, t.Now.Add(-spanLeast)), t.Now.Add(-spanMost))
	past := t.Now.Sub(s.from)
	s.to = earlier(s.to, t.Now.Add(past)).Add(past / 25)
	return s
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (s scale) share(t time.Time) float64 {
	return min(1, max(0, float64(t.Sub(s.from))/float64(s.to.Sub(s.from))))
}

func (s scale) x(t time.Time) string { return percent(s.share(t)) }

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 2, 64) + "%" }

// tickSteps are the distances that ticks may have.
var tickSteps = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
}

func (s scale) ticks(zone *time.Location) []tick {
	step := tickSteps[len(tickSteps)-1]
	for _, d := range tickSteps {
		if s.to.Sub(s.from) <= 7*d {
			step = d
			break
		}
	}
	var ticks []tick
	for t := s.from.Truncate(step).Add(step); t.Before(s.to); t = t.Add(step) {
		// One beside "now" would be printed over it, and one at an edge be cut.
		gap := math.Abs(s.share(t) - s.share(s.now))
		if gap < 0.07 || s.share(t) < 0.05 || s.share(t) > 0.95 {
			continue
		}
		ticks = append(ticks, tick{s.x(t), t.In(zone).Format("15:04"), gap < 0.14 || len(ticks)%2 == 1})
	}
	return ticks
}

// track draws one opening. Bars that overlap lie in lanes.
func (s scale) track(o *waitlist.TimedOpening, stints []stint, zone *time.Location, counts map[waitlist.SpotState]int) track {
	d := track{openingRow: rowOf(o.Opening, zone), Words: trackWords(o, s.now, zone)}
	slices.SortStableFunc(stints, func(a, b stint) int { return a.from.Compare(b.from) })
	var lanes []time.Time // when each is free
	told := map[waitlist.SpotState]int{}
	for _, x := range stints {
		told[x.shows] += x.n
		counts[x.shows] += x.n
		if !x.to.After(s.from) {
			continue
		}
		lane := laneFor(&lanes, x)
		from, to := s.share(x.from), s.share(x.to)
		d.Bars = append(d.Bars, bar{
			X: percent(from), W: percent(max(0.004, to-from)), Y: lane * laneHeight, Shows: x.shows,
			Title: fmt.Sprintf("%s: %s, %s to %s", plural(x.n, "turn", "turns"), spotName(x.shows),
				x.from.In(zone).Format("15:04:05"), x.to.In(zone).Format("15:04:05")),
		})
	}
	d.Height = max(2, len(lanes)) * laneHeight
	var words []string
	for _, n := range append(spotNames, spotNameOf{spotTold, "told"}) {
		if told[n.shows] > 0 {
			words = append(words, count(told[n.shows])+" "+n.name)
		}
	}
	d.Alt = strings.Join(words, ", ")
	if o.More {
		d.Alt += ", and older turns"
	}
	return d
}

func laneFor(lanes *[]time.Time, x stint) int {
	first := 0
	for i, free := range *lanes {
		if !free.After(x.from) {
			(*lanes)[i] = x.to
			return i
		}
		if free.Before((*lanes)[first]) {
			first = i
		}
	}
	if len(*lanes) < lanesMost {
		*lanes = append(*lanes, x.to)
		return len(*lanes) - 1
	}
	(*lanes)[first] = x.to
	return first
}

// trackWords says how an opening stands.
func trackWords(o *waitlist.TimedOpening, now time.Time, zone *time.Location) string {
	if o.State != waitlist.OpeningOpen {
		return string(o.State) + " " + o.FinalAt.In(zone).Format("15:04:05")
	}
	words := []string{}
	if o.Confirmed+o.Held > 0 {
		words = append(words, fmt.Sprintf("%s of %s taken", count(o.Confirmed+o.Held), count(o.Quantity)))
	}
	open, until := 0, now
	for i := range o.Waves {
		for _, t := range o.Waves[i].Turns {
			if t.Shows == waitlist.SpotOpen {
				open, until = open+1, later(until, t.Ends)
			}
		}
	}
	if open > 0 {
		words = append(words, plural(open, "turn", "turns")+" open until "+until.In(zone).Format("15:04:05"))
	} else if o.Opening.Waves == 0 {
		words = append(words, "nothing decided yet")
	}
	if len(words) == 0 {
		return plural(o.Free, "seat", "seats") + " free"
	}
	return strings.Join(words, ", ")
}
