package live

import (
	"context"
	"slices"
)

// deep is the position from which on a hundredth is more than a block: there, what happens within a block is no news.
const deep = 100 * LineBlockPlaces

// activeAtOnce bounds one statement, in blocks.
const activeAtOnce = 64

// tell works out the positions in the shows that changed, and sends those that are news.
func (l *lines) tell(ctx context.Context) error {
	var blocks []LineBlock
	for no := range l.changed {
		if show := l.shows[no]; show != nil {
			for block := range show.blocks {
				blocks = append(blocks, LineBlock{no, block})
			}
		}
	}
	if len(blocks) > 0 {
		before, err := l.src.Before(ctx, blocks)
		if err != nil {
			return err
		}
		for _, at := range blocks {
			l.block(at).before = before[at]
		}
		if err := l.rank(ctx, blocks); err != nil {
			return err
		}
		for _, at := range blocks {
			b := l.block(at)
			for _, e := range b.entries {
				if !b.stale || !deepIn(b, e) {
					l.send(e, e.position(b))
				}
			}
		}
	}
	clear(l.changed)
	return nil
}

func (l *lines) block(at LineBlock) *lineBlock { return l.shows[at.ShowNo].blocks[at.Block] }

func (e *lineEntry) position(b *lineBlock) int64 { return 1 + b.before + e.rank }

// deepIn says that what happens within e's block is no news to it.
func deepIn(b *lineBlock, e *lineEntry) bool { return b.before >= deep && e.ranked }

// rank reads the blocks within which something changed that is news to one of their entries.
func (l *lines) rank(ctx context.Context, blocks []LineBlock) error {
	var read []LineBlock
	for _, at := range blocks {
		if b := l.block(at); l.wantsRanks(b) {
			read = append(read, at)
		}
	}
	for len(read) > 0 {
		some := read[:min(len(read), activeAtOnce)]
		read = read[len(some):]
		active, err := l.src.Active(ctx, some)
		if err != nil {
			return err
		}
		for _, at := range some {
			b := l.block(at)
			b.stale = false
			for _, e := range b.entries {
				e.rank, e.ranked = rankOf(active[at], e.Place), true
			}
		}
	}
	return nil
}

// wantsRanks: ranks are read for those who have none, and where they changed, unless all are deep in the line and none
// of them is to be told anything.
func (l *lines) wantsRanks(b *lineBlock) bool {
	for _, e := range b.entries {
		if !e.ranked || b.stale && (!deepIn(b, e) || l.isNews(e, e.position(b))) {
			return true
		}
	}
	return false
}

// send tells a fan's connections of a position that is news to them; 0 is none.
func (l *lines) send(e *lineEntry, position int64) {
	for _, c := range l.hub.fans.of(e.FanNo) {
		c.offerLine(e, position)
	}
}

func (l *lines) isNews(e *lineEntry, position int64) bool {
	for _, c := range l.hub.fans.of(e.FanNo) {
		if c.knowsLine(e, position) {
			continue
		}
		return true
	}
	return false
}

// rankOf is how many of the places, which are in order, are below place.
func rankOf(places []int64, place int64) int64 {
	i, _ := slices.BinarySearch(places, place)
	return int64(i)
}
