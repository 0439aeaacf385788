package main

import (
	"fmt"
	"os"
	"time"
)

// progress says on stderr which benchmark runs, how far it is and how long it will take. One goroutine uses it.
type progress struct {
	name   string
	start  time.Time // of the step
	said   time.Time
	inLine bool // the terminal's line can be written over
	every  time.Duration
}

func newProgress(name string) *progress {
	p := &progress{name: name, every: 10 * time.Second}
	if fi, err := os.Stderr.Stat(); err == nil && fi.Mode()&os.ModeCharDevice != 0 {
		p.inLine, p.every = true, time.Second/4
	}
	return p
}

// step begins something that is counted from the start.
func (p *progress) step() { p.start, p.said = time.Now(), time.Time{} }

// at says that n of total are done.
func (p *progress) at(what string, n, total int) {
	now := time.Now()
	if now.Sub(p.said) < p.every && n < total {
		return
	}
	p.said = now
	left := ""
	if n > 0 && n < total {
		d := now.Sub(p.start) * time.Duration(total-n) / time.Duration(n)
		left = fmt.Sprintf(", about %s left", d.Round(time.Second))
	}
	end := "\n"
	if p.inLine && n < total {
		end = ""
	}
	clear := ""
	if p.inLine {
		clear = "\r\033[K"
	}
	fmt.Fprintf(os.Stderr, "%s%s: %s %d of %d%s%s", clear, p.name, what, n, total, left, end)
}
