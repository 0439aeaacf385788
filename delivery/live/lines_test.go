package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeLines are lines of a hundred thousand and more, as the places of those active; block b begins at place 1024 b.
type fakeLines struct {
	mu      sync.Mutex
	entries map[int64][]LineEntry
	ahead   map[LineBlock]int64
	active  map[LineBlock][]int64
	changes LineChanges
	err     error
	asked   []string
}

func newFakeLines() *fakeLines {
	return &fakeLines{entries: map[int64][]LineEntry{}, ahead: map[LineBlock]int64{}, active: map[LineBlock][]int64{}}
}

func (f *fakeLines) Changes(_ context.Context, anew bool) (c LineChanges, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprint("changes ", anew))
	c, f.changes = f.changes, LineChanges{}
	return c, nil
}

func (f *fakeLines) Entries(_ context.Context, fans []int64) (es []LineEntry, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprint("entries ", len(fans)))
	for _, fan := range fans {
		es = append(es, f.entries[fan]...)
	}
	return es, f.err
}

func (f *fakeLines) Before(_ context.Context, blocks []LineBlock) (map[LineBlock]int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprint("before ", len(blocks)))
	before := map[LineBlock]int64{}
	for _, b := range blocks {
		before[b] = f.ahead[b]
	}
	return before, f.err
}

func (f *fakeLines) Active(_ context.Context, blocks []LineBlock) (map[LineBlock][]int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprint("active ", len(blocks)))
	active := map[LineBlock][]int64{}
	for _, b := range blocks {
		active[b] = f.active[b]
	}
	return active, f.err
}

// put gives a fan an entry in show 1 at a place with so many in the blocks before it.
func (f *fakeLines) put(fan, place, ahead int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := LineBlock{1, place / LineBlockPlaces}
	f.entries[fan] = []LineEntry{{FanNo: fan, EntryNo: fan, Place: place, Block: b, ShowID: "s", Active: true}}
	f.ahead[b] = ahead
	f.active[b] = append(f.active[b], place)
	slices.Sort(f.active[b])
}

// change is that somebody at a place changed, and so many are in the blocks before block.
func (f *fakeLines) change(place int64, ahead map[int64]int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for block, n := range ahead {
		f.ahead[LineBlock{1, block}] = n
	}
	f.changes.Changed = append(f.changes.Changed, LineChange{EntryNo: -1, Block: LineBlock{1, place / LineBlockPlaces}})
}

// ask returns what was asked for since the last time.
func (f *fakeLines) ask() (asked []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked, f.asked = f.asked, nil
	return asked
}

// lineBubble is a world with lines, in a bubble.
func lineBubble(t *testing.T) (*world, *fakeLines) {
	f := newFakeLines()
	return newBubble(t, func(c *HubConfig) { c.Lines = f }), f
}

// positions are the positions that came, 0 for none.
func (c *client) positions() (got []int64) {
	for {
		select {
		case f := <-c.lines:
			if f.Position == nil {
				got = append(got, 0)
			} else {
				got = append(got, *f.Position)
			}
		default:
			return got
		}
	}
}

func wantPositions(t *testing.T, c *client, want ...int64) {
	t.Helper()
	if got := c.positions(); !slices.Equal(got, want) {
		t.Errorf("positions %v, want %v", got, want)
	}
}

func TestEachConnectionIsToldItsPositionAndItsChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, f := lineBubble(t)
		f.put(1, 5, 0)
		f.put(2, 7, 0)
		a, b := w.join(1), w.join(2)
		pass(1500 * time.Millisecond)
		wantPositions(t, a, 1)
		wantPositions(t, b, 2)
		f.put(9, 6, 0) // between them, nobody knows how
		f.change(6, nil)
		pass(time.Second)
		wantPositions(t, a)
		wantPositions(t, b, 3)
		tab := w.join(2)
		pass(time.Second)
		wantPositions(t, b)
		wantPositions(t, tab, 3)
		if fr := f.ask(); slices.Contains(fr, "entries 0") {
			t.Errorf("asked %v", fr)
		}
	})
}

func TestPositionsAreToldOnceASecondAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, f := lineBubble(t)
		f.put(1, 2000, 50)
		c := w.join(1)
		pass(1500 * time.Millisecond)
		wantPositions(t, c, 51)
		for i := range 100 { // in five seconds
			f.change(1, map[int64]int64{1: int64(49 - i%7)})
			pass(50 * time.Millisecond)
		}
		if got := c.positions(); len(got) > 5 || len(got) == 0 {
			t.Errorf("positions %v in five seconds", got)
		}
	})
}

func TestFromAHundredOnOnlyAHundredthIsNews(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		told, position int64
		news           bool
	}{
		{99, 98, true},
		{1, 1, false},
		{100, 99, true},
		{100, 100, false},
		{150, 149, false},
		{150, 148, true},
		{150, 152, true},
		{150, 99, true},
		{99, 150, true},
		{2_000_000, 1_980_001, false},
		{2_000_000, 1_980_000, true},
		{0, 2_000_000, true},
		{2_000_000, 0, true},
		{0, 0, false},
	} {
		if newsworthy(c.told, c.position) != c.news {
			t.Errorf("from %d to %d is news: %t", c.told, c.position, !c.news)
		}
	}
}

func TestDeepInTheLineItsBlockIsReadOnlyToTell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, f := lineBubble(t)
		const block = 1000
		f.put(1, block*LineBlockPlaces+9, 900_000)
		f.put(2, 3*LineBlockPlaces, 3000)
		deep, near := w.join(1), w.join(2)
		pass(1500 * time.Millisecond)
		wantPositions(t, deep, 900_001)
		wantPositions(t, near, 3001)
		f.ask()
		f.change(block*LineBlockPlaces+1, nil)
		f.change(3*LineBlockPlaces+1, nil)
		pass(time.Second)
		if asked := f.ask(); !slices.Equal(asked, []string{"changes false", "before 2", "active 1"}) {
			t.Errorf("asked %v", asked)
		}
		f.change(1, map[int64]int64{block: 890_000})
		f.put(8, block*LineBlockPlaces+2, 890_000)
		pass(time.Second)
		wantPositions(t, deep, 890_002)
		wantPositions(t, near)
		if asked := f.ask(); !slices.Equal(asked, []string{"changes false", "before 2", "active 1"}) {
			t.Errorf("asked %v", asked)
		}
	})
}

func TestLinesAreLookedAtOnlyWhereSomethingChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, f := lineBubble(t)
		pass(5 * time.Second)
		if asked := f.ask(); len(asked) > 0 {
			t.Errorf("with nobody connected, asked %v", asked)
		}
		f.put(1, 5, 0)
		c := w.join(1)
		pass(1500 * time.Millisecond)
		if asked := f.ask(); !slices.Equal(asked, []string{"changes true", "entries 1", "before 1", "active 1"}) {
			t.Errorf("for a new connection, asked %v", asked)
		}
		f.mu.Lock()
		f.changes.Changed = append(f.changes.Changed, LineChange{Block: LineBlock{2, 0}})
		f.changes.Joined = append(f.changes.Joined, 77)
		f.mu.Unlock()
		pass(3 * time.Second)
		if asked := f.ask(); !slices.Equal(asked, []string{"changes false", "changes false", "changes false"}) {
			t.Errorf("with nothing new for who is connected, asked %v", asked)
		}
		_ = c.ws.CloseNow()
		pass(5 * time.Second)
		if asked := f.ask(); len(asked) > 1 {
			t.Errorf("with nobody connected any more, asked %v", asked)
		}
		if len(w.hub.lines.fans)+len(w.hub.lines.shows) > 0 {
			t.Error("entries of who left stay behind")
		}
	})
}

func TestJoiningAndLeavingWhileConnectedIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, f := lineBubble(t)
		c := w.join(1)
		pass(1500 * time.Millisecond)
		wantPositions(t, c)
		f.put(1, 5, 0)
		f.mu.Lock()
		f.changes.Joined = []int64{1}
		f.mu.Unlock()
		pass(time.Second)
		wantPositions(t, c, 1)
		f.mu.Lock()
		f.entries[1][0].Active = false // holding, or dormant
		f.changes.Changed = []LineChange{{EntryNo: 1, Block: LineBlock{1, 0}}}
		f.mu.Unlock()
		pass(time.Second)
		wantPositions(t, c, 0)
		f.mu.Lock()
		f.entries[1][0].Active = true
		f.changes.Changed = []LineChange{{EntryNo: 1, Block: LineBlock{1, 0}}}
		f.mu.Unlock()
		pass(time.Second)
		wantPositions(t, c, 1)
		f.mu.Lock()
		f.entries[1] = nil
		f.changes.Changed = []LineChange{{EntryNo: 1, Block: LineBlock{1, 0}}}
		f.mu.Unlock()
		pass(2 * time.Second)
		wantPositions(t, c, 0)
	})
}

func TestWhatALookAtTheLinesCouldNotDoTheNextDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, f := lineBubble(t)
		f.put(1, 2000, 50)
		c := w.join(1)
		pass(1500 * time.Millisecond)
		wantPositions(t, c, 51)
		f.mu.Lock()
		f.err = errors.New("away")
		f.mu.Unlock()
		f.change(1, map[int64]int64{1: 40}) // is told of once only
		pass(5 * time.Second)
		wantPositions(t, c)
		f.mu.Lock()
		f.err = nil
		f.mu.Unlock()
		pass(time.Second)
		wantPositions(t, c, 41)
	})
}
