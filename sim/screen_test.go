package sim

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clock is a time that a test moves by hand.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 6, 20, 14, 3, 0, time.UTC)} }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

func TestProgressOffATerminalPrintsEachTenth(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	p := newProgress(&screen{out: &out}, "vance line", 200_000, c.now)
	for done := 0; done <= 200_000; done += 5000 {
		p.Set(done)
		c.advance(250 * time.Millisecond)
	}
	p.Done(200_000)
	want := `  vance line [#-----------]  10%  20,000 of 200,000  20,000/s  9 s left
  vance line [##----------]  20%  40,000 of 200,000  20,000/s  8 s left
  vance line [###---------]  30%  60,000 of 200,000  20,000/s  7 s left
  vance line [####--------]  40%  80,000 of 200,000  20,000/s  6 s left
  vance line [######------]  50%  100,000 of 200,000  20,000/s  5 s left
  vance line [#######-----]  60%  120,000 of 200,000  20,000/s  4 s left
  vance line [########----]  70%  140,000 of 200,000  20,000/s  3 s left
  vance line [#########---]  80%  160,000 of 200,000  20,000/s  2 s left
  vance line [##########--]  90%  180,000 of 200,000  20,000/s  1 s left
  vance line  200,000 in 10 s, 19,512/s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestProgressOnATerminalIsDrawnOverAtMostTenTimesASecond(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	scr := &screen{out: &out, terminal: true}
	p := newProgress(scr, "line", 100, c.now)
	c.advance(time.Second)
	p.Set(10)
	c.advance(50 * time.Millisecond)
	p.Set(15)
	scr.print("a line in between")
	c.advance(950 * time.Millisecond)
	p.Set(50)
	p.Done(50)
	first, last := "  line [#-----------]  10%  10 of 100  10/s  9 s left", "  line [######------]  50%  50 of 100  25/s  2 s left"
	want := "\r\x1b[K\x1b[?7l" + first + "\x1b[?7h" +
		"\r\x1b[Ka line in between\n\x1b[?7l" + first + "\x1b[?7h" +
		"\r\x1b[K\x1b[?7l" + last + "\x1b[?7h" +
		"\r\x1b[K  line  50 in 2 s, 25/s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestAProgressThatIsGivenUpLeavesNoBar(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	scr := &screen{out: &out, terminal: true}
	p := newProgress(scr, "line", 100, c.now)
	p.Set(0)
	p.Stop()
	p.Stop()
	scr.print("stopping")
	if want := "\r\x1b[K\x1b[?7l  line [------------]   0%  0 of 100  0/s\x1b[?7h\r\x1b[Kstopping\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestTheProgressOfMillionsFitsEightyColumns(t *testing.T) {
	c := newClock()
	p := newProgress(&screen{}, "vance line", 2_000_000, c.now)
	c.advance(100 * time.Second)
	if line := p.line(1_999_999, c.now()); len(line) > 80 {
		t.Errorf("%d wide: %s", len(line), line)
	}
	if line := p.line(910_000, c.now()); len(line) > 80 {
		t.Errorf("%d wide: %s", len(line), line)
	}
}

func TestSpansAndCountsAreForPeople(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 ms", 840 * time.Microsecond: "0.8 ms", 14 * time.Millisecond: "14 ms", 1250 * time.Millisecond: "1.2 s", 8 * time.Second: "8 s",
		45*time.Second + 300*time.Millisecond: "45 s", 200 * time.Second: "3 min",
	} {
		if got := span(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 2_000_000: "2,000,000"} {
		if got := count(n); got != want {
			t.Errorf("%d is %q", n, got)
		}
	}
}
