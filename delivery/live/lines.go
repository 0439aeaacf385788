package live

import (
	"context"
	"sync"

	"fanline/notifier"
)

// Lines is where the hub reads the places in line of connected fans. store implements it. Its methods are called from one
// goroutine.
type Lines interface {
	// Changes returns what was committed since the call before; it may return a change twice, never leave one out. anew
	// forgets what was before: all that the caller knew.
	Changes(ctx context.Context, anew bool) (LineChanges, error)
	// Entries returns all entries in line of these fans.
	Entries(ctx context.Context, fans []int64) ([]LineEntry, error)
	// Before returns for each block how many are active in the blocks before it; a block that nobody was ever active in
	// may be left out.
	Before(ctx context.Context, blocks []LineBlock) (map[LineBlock]int64, error)
	// Active returns for each block the places of those active in it, in order.
	Active(ctx context.Context, blocks []LineBlock) (map[LineBlock][]int64, error)
}

// LineBlock is a stretch of LineBlockPlaces places of a show's line.
type LineBlock struct {
	ShowNo int32
	Block  int64
}

// LineBlockPlaces is how many places a block has.
const LineBlockPlaces = 1024

// LineEntry is an entry in line. Active ones have a position.
type LineEntry struct {
	FanNo, EntryNo, Place int64
	Block                 LineBlock
	ShowID                string
	Active                bool
}

// LineChanges are what happened in all lines.
type LineChanges struct {
	Joined  []int64 // fans, each at the end of a line
	Changed []LineChange
}

// LineChange is a change of an entry, which stood in Block before. Moved: perhaps in another one since.
type LineChange struct {
	EntryNo int64
	Block   LineBlock
	Moved   bool
}

// entriesAtOnce bounds one statement, in fans.
const entriesAtOnce = 5000

// lines tells connected fans of their positions. All but touched is the loop's alone.
type lines struct {
	hub *Hub
	src Lines

	mu      sync.Mutex
	touched map[int64]struct{} // fans who have a new connection, or lost their last

	idle  bool // nobody was connected
	shows map[int32]*lineShow
	fans  map[int64][]*lineEntry
	// What is known to have changed and was not acted on yet.
	reload  map[int64]struct{} // fans
	changed map[int32]struct{} // shows
}

// lineShow is a line in which connected fans stand.
type lineShow struct {
	blocks  map[int64]*lineBlock
	entries map[int64]*lineEntry
}

// lineBlock is a block in which connected fans stand.
type lineBlock struct {
	entries map[int64]*lineEntry
	before  int64
	stale   bool // the ranks of its entries may have changed
}

// lineEntry is a connected fan's entry. rank is how many are active before it in its block.
type lineEntry struct {
	LineEntry
	rank   int64
	ranked bool
}

func newLines(h *Hub) *lines {
	return &lines{
		hub: h, src: h.cfg.Lines, idle: true, touched: map[int64]struct{}{}, shows: map[int32]*lineShow{},
		fans: map[int64][]*lineEntry{}, reload: map[int64]struct{}{}, changed: map[int32]struct{}{},
	}
}

// touch has a fan looked at, who has a new connection or lost the last one.
func (l *lines) touch(fanNo int64) {
	if l.src == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.touched[fanNo] = struct{}{}
}

// loop looks once each LookEvery, and never sooner after the look before.
func (l *lines) loop(ctx context.Context) {
	fault := notifier.Faults{Log: l.hub.cfg.Log}
	for notifier.Pause(ctx, l.hub.cfg.LookEvery) {
		fault.Note(ctx, "look at the lines", l.look(ctx))
	}
}

// look tells connected fans of what changed. What it could not do is done by the next one.
func (l *lines) look(ctx context.Context) error {
	l.takeTouched()
	if len(l.reload) == 0 && l.hub.fans.count.Load() == 0 {
		l.idle = true
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*l.hub.cfg.CallTimeout)
	defer cancel()
	changes, err := l.src.Changes(ctx, l.idle)
	if err != nil {
		return err
	}
	l.idle = false
	l.note(changes)
	if err := l.reloadFans(ctx); err != nil {
		return err
	}
	return l.tell(ctx)
}

func (l *lines) takeTouched() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for fan := range l.touched {
		l.reload[fan] = struct{}{}
	}
	clear(l.touched)
}

// note marks what changes concern.
func (l *lines) note(changes LineChanges) {
	for _, fan := range changes.Joined {
		if l.hub.fans.Has(fan) {
			l.reload[fan] = struct{}{}
		}
	}
	for _, c := range changes.Changed {
		show := l.shows[c.Block.ShowNo]
		if show == nil {
			continue
		}
		l.changed[c.Block.ShowNo] = struct{}{}
		if e := show.entries[c.EntryNo]; e != nil {
			l.reload[e.FanNo] = struct{}{}
		}
		for no, b := range show.blocks {
			if c.Moved || no == c.Block.Block {
				b.stale = true
			}
		}
	}
}

// reloadFans reads the entries of the fans who are to be reloaded. Those who left go.
func (l *lines) reloadFans(ctx context.Context) error {
	for len(l.reload) > 0 {
		var some []int64
		for fan := range l.reload {
			if !l.hub.fans.Has(fan) {
				l.replace(fan, nil)
				delete(l.reload, fan)
			} else if some = append(some, fan); len(some) == entriesAtOnce {
				break
			}
		}
		if len(some) == 0 {
			return nil
		}
		entries, err := l.src.Entries(ctx, some)
		if err != nil {
			return err
		}
		mine := map[int64][]LineEntry{}
		for _, e := range entries {
			mine[e.FanNo] = append(mine[e.FanNo], e)
		}
		for _, fan := range some {
			l.replace(fan, mine[fan])
			delete(l.reload, fan)
		}
	}
	return nil
}

// replace makes these a fan's entries, in place of those before.
func (l *lines) replace(fan int64, entries []LineEntry) {
	was := l.fans[fan]
	for _, e := range was {
		l.remove(e)
	}
	delete(l.fans, fan)
	inLine := map[int32]bool{}
	for _, e := range entries {
		inLine[e.Block.ShowNo] = true
		l.add(&lineEntry{LineEntry: e})
	}
	for _, e := range was {
		if !inLine[e.Block.ShowNo] {
			l.send(e, 0)
		}
	}
}

func (l *lines) add(e *lineEntry) {
	no := e.Block.ShowNo
	l.fans[e.FanNo] = append(l.fans[e.FanNo], e)
	show := l.shows[no]
	if show == nil {
		show = &lineShow{blocks: map[int64]*lineBlock{}, entries: map[int64]*lineEntry{}}
		l.shows[no] = show
	}
	show.entries[e.EntryNo] = e
	if !e.Active {
		l.send(e, 0)
		return
	}
	b := show.blocks[e.Block.Block]
	if b == nil {
		b = &lineBlock{entries: map[int64]*lineEntry{}}
		show.blocks[e.Block.Block] = b
	}
	b.entries[e.EntryNo] = e
	l.changed[no] = struct{}{}
}

func (l *lines) remove(e *lineEntry) {
	show := l.shows[e.Block.ShowNo]
	delete(show.entries, e.EntryNo)
	if b := show.blocks[e.Block.Block]; b != nil {
		delete(b.entries, e.EntryNo)
		if len(b.entries) == 0 {
			delete(show.blocks, e.Block.Block)
		}
	}
	if len(show.entries) == 0 {
		delete(l.shows, e.Block.ShowNo)
	}
}
