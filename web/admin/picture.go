package admin

import (
	"fmt"
	"strings"

	"fanline/waitlist"
)

// picture is a line as it is drawn.
type picture struct {
	waitlist.Picture
	Cells   []cell
	Legend  []legend
	Columns []column
	Width   int64 // of the drawing of the whole line
	Reach   int64 // how far of it the decisions came; 0: not known
	Shown   span  // what of it the cells show
	Alt     string
	First   int64 // position of the first cell that has one
	Last    int64
	Whole   bool  // the cells are all of the line
	Few     bool  // cells, so that they may be larger
	Place   int64 // how far the open openings came
	Waves   []landing
}

// landing is where a wave of an open opening came to in the whole line.
type landing struct {
	X     int64
	Title string
}

type cell struct {
	Shows waitlist.SpotState
	Title string
	Link  string
}

type legend struct {
	Shows waitlist.SpotState
	Name  string
	N     int
}

// column is a stretch of the whole line: its height is the share that waits.
type column struct{ X, Y, W, H int64 }

type span struct{ X, W int64 }

const (
	drawWidth  = 1000
	drawHeight = 30
	fewCells   = 100
)

type spotNameOf struct {
	shows waitlist.SpotState
	name  string
}

var spotNames = []spotNameOf{
	{waitlist.SpotBought, "bought"},
	{waitlist.SpotHolding, "seats held"},
	{waitlist.SpotOpen, "turn open"},
	{waitlist.SpotUpcoming, "turn coming"},
	{waitlist.SpotMissed, "missed or declined"},
	{waitlist.SpotSkipped, "skipped, place kept"},
	{waitlist.SpotDormant, "dormant"},
	{waitlist.SpotWaiting, "waiting"},
	{waitlist.SpotGone, "left or removed"},
}

func spotName(s waitlist.SpotState) string {
	for _, n := range spotNames {
		if n.shows == s {
			return n.name
		}
	}
	return string(s)
}

// draw makes the drawing of a show's line.
func draw(show *waitlist.Show, p *waitlist.Picture) picture {
	d := picture{Picture: *p, Width: drawWidth, Few: len(p.Front) <= fewCells}
	counts := map[waitlist.SpotState]int{}
	for i := range p.Front {
		s := &p.Front[i]
		counts[s.Shows]++
		title := fmt.Sprintf("%s, %s", s.FanID, spotName(s.Shows))
		if s.Position > 0 {
			title = fmt.Sprintf("position %s: %s", count(s.Position), title)
			if d.First == 0 {
				d.First = s.Position
			}
			d.Last = s.Position
		}
		d.Cells = append(d.Cells, cell{s.Shows, title, link("shows", show.ID, "fans", s.FanID)})
	}
	var words []string
	for _, n := range spotNames {
		if c := counts[n.shows]; c > 0 {
			d.Legend = append(d.Legend, legend{n.shows, n.name, c})
			words = append(words, count(c)+" "+n.name)
		}
	}
	d.Alt = "The front of the line: " + strings.Join(words, ", ") + "."
	if len(p.Front) > 0 && len(p.Line) > 0 {
		d.Whole = p.Front[0].Place <= firstPlace(p) && p.Front[len(p.Front)-1].Place >= p.Line[len(p.Line)-1].To
		d.drawLine(p)
	}
	return d
}

// landWaves marks where the newest waves of the open openings ended.
func (d *picture) landWaves(t *waitlist.Timeline) {
	if len(d.Picture.Line) == 0 {
		return
	}
	first, last := firstPlace(&d.Picture), d.Picture.Line[len(d.Picture.Line)-1].To
	for i := range t.Openings {
		o := &t.Openings[i]
		if o.State != waitlist.OpeningOpen {
			continue
		}
		for j := range o.Waves {
			w := &o.Waves[j]
			if w.WalkedTo >= first && w.WalkedTo <= last {
				x := (w.WalkedTo - first) * drawWidth / (last + 1 - first)
				d.Waves = append(d.Waves, landing{x, fmt.Sprintf("wave %d of %s: %s, up to place %s", w.N, o.ID, plural(w.Size, "fan", "fans"), count(w.WalkedTo))})
			}
		}
	}
}

func firstPlace(p *waitlist.Picture) int64 { return p.Line[0].From }

// drawLine draws the whole line to scale.
func (d *picture) drawLine(p *waitlist.Picture) {
	first, last := firstPlace(p), p.Line[len(p.Line)-1].To
	x := func(place int64) int64 {
		place = min(max(place, first), last+1)
		return (place - first) * drawWidth / (last + 1 - first)
	}
	for _, s := range p.Line {
		places := s.To - s.From + 1
		h := min(drawHeight, s.Waiting*drawHeight/places)
		if h == 0 && s.Waiting > 0 {
			h = 1
		}
		if c := (column{x(s.From), drawHeight - h, x(s.To+1) - x(s.From), h}); c.W > 0 && h > 0 {
			d.Columns = append(d.Columns, c)
		}
	}
	from := x(p.Front[0].Place)
	d.Shown = span{from, max(2, x(p.Front[len(p.Front)-1].Place+1)-from)}
	if p.Reached != nil {
		d.Reach, d.Place = max(3, x(*p.Reached+1)), *p.Reached
	}
}
