package sim

import (
	"context"
	"encoding/json"
	"time"

	"github.com/coder/websocket"
)

// frameLog keeps frames, all or the newest, and knows the items it has seen.
type frameLog struct {
	keep    int
	frames  []Frame
	dropped int // frames before frames[0]
	seen    map[string]bool
	order   []string // of seen, oldest first, kept only where keep bounds it
	doubles int
}

func newFrameLog(keep int) frameLog {
	return frameLog{keep: keep, seen: map[string]bool{}}
}

func (l *frameLog) add(f *Frame) {
	if f.Item != nil {
		f.Item.At = f.At
		f.Double = l.double(f.Item.ID)
	}
	l.frames = append(l.frames, *f)
	// Cut at twice the bound, so that a frame costs no copy of the rest.
	if l.keep > 0 && len(l.frames) >= 2*l.keep {
		n := len(l.frames) - l.keep
		l.frames = append([]Frame(nil), l.frames[n:]...)
		l.dropped += n
	}
}

// seenBound is how many item ids a bounded fan remembers: more than a replay has.
const seenBound = 1000

func (l *frameLog) double(id string) bool {
	if l.seen[id] {
		l.doubles++
		return true
	}
	l.seen[id] = true
	if l.keep == 0 {
		return false
	}
	if l.order = append(l.order, id); len(l.order) > seenBound {
		delete(l.seen, l.order[0])
		l.order = l.order[1:]
	}
	return false
}

// newest are the frames to show: never more than keep.
func (l *frameLog) newest() []Frame {
	if l.keep > 0 && len(l.frames) > l.keep {
		return l.frames[len(l.frames)-l.keep:]
	}
	return l.frames
}

// Frames are the frames kept, in the order they came, doubles and all.
func (f *Fan) Frames() []Frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Frame(nil), f.log.newest()...)
}

// Items are the items among the frames kept, each once.
func (f *Fan) Items() []Item {
	var items []Item
	for _, frame := range f.Frames() {
		if frame.Item != nil && !frame.Double {
			items = append(items, *frame.Item)
		}
	}
	return items
}

// Doubles is how often an item came that the fan already had.
func (f *Fan) Doubles() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.doubles
}

// WaitFrame returns the first frame kept that matches, waiting for it where none
// does yet. When the fan ends first, the error is that of Err.
func (f *Fan) WaitFrame(ctx context.Context, match func(Frame) bool) (Frame, error) {
	next := 0 // the number of the frame to look at
	for {
		fresh, from, changed := f.since(next)
		for _, frame := range fresh {
			if match(frame) {
				return frame, nil
			}
		}
		if next = from + len(fresh); len(fresh) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Frame{}, ctx.Err()
		case <-f.done:
			if rest, _, _ := f.since(next); len(rest) == 0 {
				return Frame{}, f.Err()
			}
		}
	}
}

func (f *Fan) since(next int) (fresh []Frame, from int, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from = max(next, f.log.dropped)
	fresh = append(fresh, f.log.frames[from-f.log.dropped:]...)
	return fresh, from, f.changed
}

// WaitItem returns the first item kept that matches, waiting for it.
func (f *Fan) WaitItem(ctx context.Context, match func(Item) bool) (Item, error) {
	frame, err := f.WaitFrame(ctx, func(fr Frame) bool { return fr.Item != nil && match(*fr.Item) })
	if err != nil {
		return Item{}, err
	}
	return *frame.Item, nil
}

// WaitUpdate returns the first update of an item to a state, waiting for it. An
// empty state is any.
func (f *Fan) WaitUpdate(ctx context.Context, id, state string) (Frame, error) {
	return f.WaitFrame(ctx, func(fr Frame) bool {
		return fr.Type == "update" && fr.ID == id && (state == "" || fr.State == state)
	})
}

// Ping asks the server for a pong frame, which comes among the frames.
func (f *Fan) Ping(ctx context.Context) error {
	return f.Send(ctx, map[string]string{"type": "ping"})
}

// Ack says that items were seen on screen.
func (f *Fan) Ack(ctx context.Context, ids ...string) error {
	return f.Send(ctx, map[string]any{"type": "ack", "ids": ids})
}

// Read says that items were read.
func (f *Fan) Read(ctx context.Context, ids ...string) error {
	return f.Send(ctx, map[string]any{"type": "read", "ids": ids})
}

// Renew gives the server a new token in place, which also serves later
// connections; REST calls keep the first.
func (f *Fan) Renew(ctx context.Context, token string) error {
	f.mu.Lock()
	f.token = token
	f.mu.Unlock()
	return f.Send(ctx, map[string]string{"type": "token", "token": token})
}

// Send writes any frame as JSON; a json.RawMessage or []byte goes as it is, so
// that bad frames can be sent too.
func (f *Fan) Send(ctx context.Context, frame any) error {
	raw, err := rawFrame(frame)
	if err != nil {
		return err
	}
	conn, _ := f.current()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	f.writing.Lock()
	defer f.writing.Unlock()
	return conn.Write(ctx, websocket.MessageText, raw)
}

func rawFrame(frame any) ([]byte, error) {
	switch raw := frame.(type) {
	case []byte:
		return raw, nil
	case json.RawMessage:
		return raw, nil
	}
	return json.Marshal(frame)
}
