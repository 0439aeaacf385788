package sim

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// screen writes whole lines, and below them, on a terminal, one line of status
// that is written over.
type screen struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	status   string
}

const (
	eraseLine = "\r\x1b[K"
	// A status that went on in a second line could not be written over: the terminal
	// cuts it instead.
	wrapOff, wrapOn = "\x1b[?7l", "\x1b[?7h"
)

// print writes text, and a line break, above the status.
func (s *screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	erase := ""
	if s.status != "" {
		erase = eraseLine
	}
	io.WriteString(s.out, erase+text+"\n"+s.status)
}

// show sets the status; "" removes it.
func (s *screen) show(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if status != "" {
		status = wrapOff + status + wrapOn
	}
	if status == s.status {
		return
	}
	io.WriteString(s.out, eraseLine+status)
	s.status = status
}

// progress shows how far a long task is: on a terminal a bar that is drawn over,
// elsewhere a line at each tenth.
type progress struct {
	label string
	total int
	scr   *screen
	now   func() time.Time
	start time.Time

	mu    sync.Mutex
	drawn time.Time
	tenth int
}

// newProgress starts the clock. The total must be above 0.
func newProgress(scr *screen, label string, total int, now func() time.Time) *progress {
	return &progress{label: label, total: total, scr: scr, now: now, start: now()}
}

// Set says how much is done.
func (p *progress) Set(done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.scr.terminal {
		if now.Sub(p.drawn) >= 100*time.Millisecond {
			p.drawn = now
			p.scr.show(p.line(done, now))
		}
		return
	}
	if tenth := 10 * done / p.total; tenth > p.tenth && tenth < 10 {
		p.tenth = tenth
		p.scr.print(p.line(done, now))
	}
}

// Stop removes the bar.
func (p *progress) Stop() {
	if p.scr.terminal {
		p.scr.show("")
	}
}

// Done removes the bar and prints a closing line with the rate over all.
func (p *progress) Done(done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Stop()
	took := p.now().Sub(p.start)
	p.scr.print(fmt.Sprintf("  %s  %s in %s, %s/s", p.label, count(done), span(took), count(rate(done, took))))
}

// barWidth leaves a line with millions in it within 80 columns.
const barWidth = 12

func (p *progress) line(done int, now time.Time) string {
	took := now.Sub(p.start)
	perSecond := rate(done, took)
	left := ""
	if perSecond > 0 && done < p.total {
		seconds := (p.total - done + perSecond - 1) / perSecond
		left = "  " + span(time.Duration(seconds)*time.Second) + " left"
	}
	full := min(barWidth, barWidth*done/p.total)
	bar := strings.Repeat("#", full) + strings.Repeat("-", barWidth-full)
	return fmt.Sprintf("  %s [%s] %3d%%  %s of %s  %s/s%s", p.label, bar, 100*done/p.total,
		count(done), count(p.total), count(perSecond), left)
}

func rate(done int, took time.Duration) int {
	if took <= 0 {
		return 0
	}
	return int(float64(done) / took.Seconds())
}

// span is a duration for people: "0.8 ms", "12 ms", "1.2 s", "8 s", "45 s", "3 min".
func span(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 ms"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min", int(d.Minutes()))
}

// count is a number with thousands apart: "200,000".
func count(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
