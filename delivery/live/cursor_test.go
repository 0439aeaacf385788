package live

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var someMoment = Moment{Database: 0xfeed, Timeline: 3, At: time.Date(2031, 5, 6, 7, 8, 9, 123456000, time.UTC)}

func TestACursorComesBackAsItWas(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 250, cursorMost} {
		c := fanCursor{moment: someMoment}
		for i := range n {
			c.hashes = append(c.hashes, hash(fmt.Sprint("msg:", i), ""))
		}
		got, err := parseCursor(c.encode())
		if err != nil || got.moment != c.moment || !slices.Equal(got.hashes, c.hashes) {
			t.Errorf("%d hashes: %+v, %v", n, got.moment, err)
		}
		if size := len(c.encode()); size > 7000 {
			t.Errorf("%d hashes make %d characters", n, size)
		}
	}
}

func TestHashesAreTheSameOnEveryInstanceForEver(t *testing.T) {
	t.Parallel()
	if hash("turn:s:o1", "") != 0x7a50325dd802e6ed || hash("turn:s:o1", "over") == hash("turn:s:o1", "") {
		t.Errorf("%#x", hash("turn:s:o1", ""))
	}
}

func TestACursorThatWasTamperedWithIsNone(t *testing.T) {
	t.Parallel()
	c := fanCursor{moment: someMoment, hashes: []uint64{1, 2, 3}}
	whole := c.encode()
	raw, err := base64.RawURLEncoding.DecodeString(whole)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		bad := slices.Clone(raw)
		bad[i] ^= 0x10
		if _, err := parseCursor(base64.RawURLEncoding.EncodeToString(bad)); err == nil {
			t.Errorf("byte %d changed, and nobody noticed", i)
		}
	}
	for i := range whole {
		if _, err := parseCursor(whole[:i]); err == nil {
			t.Errorf("cut to %d characters, and nobody noticed", i)
		}
	}
	many := fanCursor{moment: someMoment, hashes: make([]uint64, cursorMost+1)}
	for name, s := range map[string]string{
		"padded": whole + "=", "with a line break": whole + "\n", "twice": whole + whole, "none": "", "text": "yesterday",
		"too many": many.encode(), "huge": strings.Repeat("A", 1<<20), "standard alphabet": "+/" + whole[2:],
	} {
		if _, err := parseCursor(s); err == nil {
			t.Errorf("%s is a cursor", name)
		}
	}
}

func TestFromWhenACursorReads(t *testing.T) {
	t.Parallel()
	now := someMoment.At.Add(10 * time.Second)
	at := func(change func(m *Moment)) Moment {
		m := someMoment
		change(&m)
		return m
	}
	for name, c := range map[string]struct {
		cursor Moment
		since  time.Duration // before the cursor's moment
		next   bool          // the next cursor may begin there
		ok     bool
	}{
		"as written":            {someMoment, time.Second, true, true},
		"another database":      {at(func(m *Moment) { m.Database++ }), 0, false, false},
		"an earlier timeline":   {at(func(m *Moment) { m.Timeline-- }), time.Minute, false, true},
		"a timeline to come":    {at(func(m *Moment) { m.Timeline++ }), 0, false, false},
		"kept just long enough": {at(func(m *Moment) { m.At = now.Add(time.Second - keptFor) }), time.Second, true, true},
		"too old":               {at(func(m *Moment) { m.At = now.Add(-keptFor) }), 0, false, false},
		"ahead by a bit":        {at(func(m *Moment) { m.At = now.Add(skew) }), time.Second, true, true},
		"a time to come":        {at(func(m *Moment) { m.At = now.Add(skew + time.Microsecond) }), 0, false, false},
		"no time at all":        {at(func(m *Moment) { m.At = time.UnixMicro(-1 << 63) }), 0, false, false},
	} {
		cursor := fanCursor{moment: c.cursor}
		since, next, ok := cursor.since(someMoment, now)
		if ok != c.ok || ok && (!since.Equal(c.cursor.At.Add(-c.since)) || next.IsZero() == c.next) {
			t.Errorf("%s: since %v, next %v, %t", name, since, next, ok)
		}
	}
	old := fanCursor{moment: at(func(m *Moment) { m.Timeline--; m.At = now.Add(time.Hour) })}
	if since, _, ok := old.since(someMoment, now); !ok || !since.Equal(now.Add(-time.Minute)) {
		t.Errorf("an earlier timeline whose clock was ahead: since %v, %t", since, ok)
	}
}

func TestWhatWasSentIsForgottenOnceTheMomentPassed(t *testing.T) {
	t.Parallel()
	var s sent
	start := someMoment.At
	for i := range 10 {
		s.add(uint64(i), start.Add(time.Duration(i)*time.Second))
	}
	if hashes, ok := s.after(start.Add(6 * time.Second)); !ok || !slices.Equal(hashes, []uint64{7, 8, 9}) {
		t.Errorf("hashes %v, %t", hashes, ok)
	}
	for i := range 3 * sentMost {
		s.add(uint64(i), start.Add(time.Minute+time.Duration(i)*time.Millisecond))
	}
	if len(s.things) > sentMost {
		t.Errorf("%d things", len(s.things))
	}
	if _, ok := s.after(start.Add(time.Minute)); ok {
		t.Error("too much was not noticed")
	}
	last := start.Add(time.Minute + (3*sentMost-1)*time.Millisecond)
	if hashes, ok := s.after(last.Add(-100 * time.Millisecond)); !ok || len(hashes) != 100 {
		t.Errorf("%d hashes, %t", len(hashes), ok)
	}
	if _, ok := s.after(last); !ok || s.things != nil {
		t.Error("something is left")
	}
}

func FuzzParseCursor(f *testing.F) {
	c := fanCursor{moment: someMoment, hashes: []uint64{1, 2}}
	f.Add(c.encode())
	f.Add("")
	f.Add(strings.Repeat("A", 44))
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseCursor(s)
		if err != nil {
			return
		}
		if c.encode() != s {
			t.Errorf("%q is read as %+v, which is %q", s, c, c.encode())
		}
		if len(c.hashes) > cursorMost {
			t.Errorf("%d hashes", len(c.hashes))
		}
		_, _, _ = c.since(someMoment, someMoment.At)
	})
}
