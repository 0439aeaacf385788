package admin

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fanline/waitlist"
)

// plot is the claims of the last minutes against the pace.
type plot struct {
	Turns []column
	Line  string // the claims, as an SVG path
	Area  string
	Pace  int // where its line is drawn
	Above bool
	Rate  string // the pace
	From  string
	Now   string // how many claims a second came last
	Alt   string
	Empty bool
	Data  string // the same for the page's script, as JSON
}

const (
	plotStep   = 10 * time.Second
	plotSteps  = 60
	plotWidth  = 600
	plotHeight = 110
)

// drawPlot makes the plot. Where the pace is far above all that happened it is drawn
// at the top, and said to be off the scale.
func drawPlot(r *waitlist.Rush, rate waitlist.Milli, zone *time.Location) plot {
	most, turns, claims, peak := 1, 0, 0, 0
	for i := range r.Turns {
		turns, claims = turns+r.Turns[i], claims+r.Claims[i]
		most = max(most, r.Turns[i], r.Claims[i])
		if r.Claims[i] > r.Claims[peak] {
			peak = i
		}
	}
	pace := rate.Float() * r.Step.Seconds()
	top := float64(most) * 1.15
	p := plot{Rate: milli(rate), From: lasting(r.Step * time.Duration(len(r.Turns))), Empty: turns+claims == 0}
	if p.Above = pace > 4*top; !p.Above {
		top = max(top, pace*1.1)
	}
	y := func(v float64) int { return plotHeight - int(min(1, v/top)*(plotHeight-8)) }
	p.Pace = y(pace)
	width := int64(plotWidth / len(r.Turns))
	points := make([]string, len(r.Claims))
	for i := range r.Turns {
		if h := int64(plotHeight - y(float64(r.Turns[i]))); h > 0 {
			p.Turns = append(p.Turns, column{int64(i) * width, plotHeight - h, width - 1, h})
		}
		points[i] = fmt.Sprintf("%d %d", i*int(width)+int(width)/2, y(float64(r.Claims[i])))
	}
	p.Line = "M" + strings.Join(points, " L")
	p.Area = fmt.Sprintf("%s L%d %d L%d %d Z", p.Line, plotWidth-int(width)/2, plotHeight, int(width)/2, plotHeight)
	p.Now = stepRate(r.Claims[max(0, len(r.Claims)-2)], r.Step) // the last step is not over
	p.Data = plotData(r, pace, zone)
	p.Alt = p.words(r, turns, claims, peak, zone)
	return p
}

// plotData is the plot's figures by steps; from and step are in seconds.
func plotData(r *waitlist.Rush, pace float64, zone *time.Location) string {
	b, _ := json.Marshal(map[string]any{ // never fails
		"from": r.From.Unix(), "step": int64(r.Step / time.Second), "turns": r.Turns, "claims": r.Claims, "pace": pace, "zone": zone.String(),
	})
	return string(b)
}

func (p *plot) words(r *waitlist.Rush, turns, claims, peak int, zone *time.Location) string {
	s := fmt.Sprintf("In the last %s %s opened and %s came; the pace allows %s turns a second.",
		p.From, plural(turns, "turn", "turns"), plural(claims, "claim", "claims"), p.Rate)
	if claims > 0 {
		s += fmt.Sprintf(" At most %s claims a second, at %s.", stepRate(r.Claims[peak], r.Step),
			r.From.Add(r.Step*time.Duration(peak)).In(zone).Format("15:04:05"))
	}
	if r.Partly {
		s += " There was more than is counted here."
	}
	return s
}

// stepRate writes n in a step as a rate.
func stepRate(n int, step time.Duration) string {
	return milli(waitlist.Milli(int64(n) * 1000 / int64(step/time.Second)))
}
