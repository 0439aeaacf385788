package sim

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// ImportBar shows how far the import of a file is: on a terminal in a line that is
// drawn over, elsewhere in a line every few seconds. One goroutine uses it.
type ImportBar struct {
	scr   *screen
	size  int64 // of the file in bytes; 0: not known
	start time.Time
	said  time.Time
	every time.Duration
}

// NewImportBar starts the clock. size is that of the file in bytes, or 0.
func NewImportBar(out io.Writer, terminal bool, size int64) *ImportBar {
	b := &ImportBar{scr: &screen{out: out, terminal: terminal}, size: size, start: time.Now(), every: 5 * time.Second}
	if terminal {
		b.every = 0
	}
	b.said = b.start
	return b
}

// Set shows a report.
func (b *ImportBar) Set(r FileReport) {
	now := time.Now()
	if now.Sub(b.said) < b.every {
		return
	}
	b.said = now
	if line := b.line(r, now.Sub(b.start)); b.scr.terminal {
		b.scr.show(line)
	} else {
		b.scr.print(line)
	}
}

// Done removes the bar and says what became of all lines, with the reasons of the first
// that were rejected.
func (b *ImportBar) Done(r FileReport) {
	if b.scr.terminal {
		b.scr.show("")
	}
	took := time.Since(b.start)
	b.scr.print(fmt.Sprintf("%s in %s, %s lines/s", counts(r), span(took), count(rate(r.Lines, took))))
	for _, e := range r.Errors {
		b.scr.print(fmt.Sprintf("line %d: %s", e.Line, e.Detail))
	}
	if more := r.Rejected - len(r.Errors); more > 0 {
		b.scr.print(fmt.Sprintf("and %s more", count(more)))
	}
}

func counts(r FileReport) string {
	return fmt.Sprintf("imported %s, existing %s, rejected %s", count(r.Imported), count(r.Existing), count(r.Rejected))
}

func (b *ImportBar) line(r FileReport, took time.Duration) string {
	s := fmt.Sprintf("%s  %s lines/s", counts(r), count(rate(r.Lines, took)))
	if b.size > 0 && r.Bytes > 0 {
		part := min(1, float64(r.Bytes)/float64(b.size))
		full := int(barWidth * part)
		left := time.Duration(float64(took) * (1 - part) / part)
		s = fmt.Sprintf("[%s%s] %3d%%  %s  %s left", strings.Repeat("#", full), strings.Repeat("-", barWidth-full),
			int(100*part), s, span(left))
	}
	if r.Trouble != nil {
		s += fmt.Sprintf("  trying again: %.120s", r.Trouble.Error())
	}
	return s
}
