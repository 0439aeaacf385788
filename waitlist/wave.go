package waitlist

import "time"

// Wave is one decision of an opening: the entries that get a turn, in line order.
type Wave struct {
	OpeningNo int64
	N         int // 1-based within the opening
	// Decision is the show's decision that made it.
	Decision  int64
	DecidedAt time.Time
	OpensAt   time.Time // when turn 0 opens
	Rate      Milli     // turns a second
	Window    time.Duration
	CloseCap  time.Time // no turn is open from here on
	Size      int
	// Free and Demand are what the opening had left when the walk began.
	Free   int
	Demand int
	// WalkedTo is the last place that the walk went past; NoWalk when it
	// served only entries that staff chose.
	WalkedTo int64
	// MissesDone is how many turns, in order, were looked at for misses.
	MissesDone int
}

// WaveRef names a wave.
type WaveRef struct {
	OpeningNo int64
	N         int
}

// Ref is the wave's name.
func (w *Wave) Ref() WaveRef { return WaveRef{w.OpeningNo, w.N} }

// NoWalk is the WalkedTo of a decision that walked past nobody.
const NoWalk = -1 << 62

// Opens is when turn k opens: floor(1000 k / rate) ms after the first. The same
// integers give the same instant in Go and in SQL.
func (w *Wave) Opens(k int) time.Time {
	return w.OpensAt.Add(offset(k, w.Rate))
}

// Closes is when turn k closes: a window later, or at the cap.
func (w *Wave) Closes(k int) time.Time {
	c := w.Opens(k).Add(w.Window)
	if w.CloseCap.Before(c) {
		return w.CloseCap
	}
	return c
}

// offset is floor(1000 k / rate) ms for a rate of thousandths a second.
func offset(k int, rate Milli) time.Duration {
	return time.Duration(int64(k)*1_000_000/int64(rate)) * time.Millisecond
}

// Closed is how many turns, from the first on, have closed by now.
func (w *Wave) Closed(now time.Time) int {
	return w.firstK(func(k int) bool { return w.Closes(k).After(now) })
}

// Opened is how many turns, from the first on, have opened by now.
func (w *Wave) Opened(now time.Time) int {
	return w.firstK(func(k int) bool { return w.Opens(k).After(now) })
}

// firstK is the first k for which ok holds, or Size. Times grow with k, so that a
// binary search will do.
func (w *Wave) firstK(ok func(k int) bool) int {
	lo, hi := 0, w.Size
	for lo < hi {
		if mid := (lo + hi) / 2; ok(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// LastCloses is when the last turn closes; zero for a wave of nobody.
func (w *Wave) LastCloses() time.Time {
	if w.Size == 0 {
		return time.Time{}
	}
	return w.Closes(w.Size - 1)
}

// Repace moves the moment at which the pace has room again from one rate to
// another: the next turn opens one turn's time, at the new rate, after the last.
func Repace(paceAt time.Time, from, to Milli) time.Time {
	return paceAfter(paceAt.Add(-paceAfter(paceAt, 1, from).Sub(paceAt)), 1, to)
}

// paceAfter is when the pace has room again after n turns from t, in whole
// microseconds, rounded up.
func paceAfter(t time.Time, n int, rate Milli) time.Time {
	us := (int64(n)*1_000_000_000 + int64(rate) - 1) / int64(rate)
	return t.Add(time.Duration(us) * time.Microsecond)
}

// ceilMilli is the first whole millisecond that is not before t.
func ceilMilli(t time.Time) time.Time {
	if c := t.Truncate(time.Millisecond); c.Equal(t) {
		return c
	}
	return t.Truncate(time.Millisecond).Add(time.Millisecond)
}
