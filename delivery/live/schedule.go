package live

import (
	"container/heap"
	"sync"
	"time"

	"fanline/notifier"
)

// scheduledMost is how much may be scheduled for one fan; more is left to the inbox.
const scheduledMost = 256

// entry is something for a fan at a moment: a message to push, or a turn to look at when it closes.
type entry struct {
	at    time.Time
	fanNo int64
	key   string // names it among the fan's, so that a notice that comes twice is one
	m     *message
	turn  TurnKey
	watch bool // look at the turn, push nothing
	tries int
	index int   // in the heap; -1 while it is acted on
	seq   int64 // in which order entries of one moment came
}

func pushEntry(n *Notice, m *message) *entry {
	key := "push " + m.id
	if m.item == nil {
		key += " " + string(m.state)
	}
	return &entry{at: n.At, fanNo: n.FanNo, key: key, m: m, turn: n.Turn}
}

func watchEntry(n *Notice, m *message) *entry {
	return &entry{at: m.closes, fanNo: n.FanNo, key: "watch " + m.id, m: m, turn: n.Turn, watch: true}
}

// watched says that the item's turn will close, or has just closed by this instance's clock.
func watched(m *message, now time.Time) bool {
	return m.turn && m.state == notifier.StateOpen && m.closes.After(now.Add(-skew))
}

// asks says that Standing is asked before e is acted on.
func (e *entry) asks() bool { return e.watch || e.m.turn }

// moment is when what e is about becomes visible: e.at may be a later try.
func (e *entry) moment() time.Time {
	if e.watch {
		return e.m.closes
	}
	return e.m.at
}

// schedule keeps entries by time and by fan.
type schedule struct {
	ring chan struct{} // one slot: the first entry changed

	mu    sync.Mutex
	heap  entries
	seq   int64
	byFan map[int64]map[string]*entry
	// left is the earliest of what was left to the inbox, of fans for whom there was too much.
	left map[int64]time.Time
}

func newSchedule() *schedule {
	return &schedule{ring: make(chan struct{}, 1), byFan: map[int64]map[string]*entry{}, left: map[int64]time.Time{}}
}

// add schedules e unless its like is scheduled already. A watch whose turn closes
// earlier than was known, as sales close, takes the place of the other.
func (s *schedule) add(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.byFan[e.fanNo]
	if was := mine[e.key]; was != nil {
		if e.watch && was.index >= 0 && e.at.Before(was.at) {
			was.at, was.m = e.at, e.m
			heap.Fix(&s.heap, was.index)
			if was.index == 0 {
				poke(s.ring)
			}
		}
		return
	}
	if len(mine) >= scheduledMost {
		if was, ok := s.left[e.fanNo]; !ok || e.moment().Before(was) {
			s.left[e.fanNo] = e.moment()
		}
		return
	}
	if mine == nil {
		mine = map[string]*entry{}
		s.byFan[e.fanNo] = mine
	}
	mine[e.key] = e
	s.seq++
	e.seq = s.seq
	heap.Push(&s.heap, e)
	if e.index == 0 {
		poke(s.ring)
	}
}

// forget drops what is scheduled for a fan.
func (s *schedule) forget(fanNo int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.byFan[fanNo] {
		if e.index >= 0 {
			heap.Remove(&s.heap, e.index)
		}
	}
	delete(s.byFan, fanNo)
	delete(s.left, fanNo)
}

// cap returns at, or the earliest moment before it at which something is due to the fan that nobody was sent yet.
func (s *schedule) cap(fanNo int64, at time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left, ok := s.left[fanNo]; ok {
		at = earliest(at, left)
	}
	for _, e := range s.byFan[fanNo] {
		at = earliest(at, e.moment())
	}
	return at
}

// knows says that the like of e is scheduled or being acted on.
func (s *schedule) knows(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byFan[e.fanNo][e.key] != nil
}

// holds says that a push to the fan which needs no asking and is no later than at was
// not made yet.
func (s *schedule) holds(fanNo int64, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.byFan[fanNo] {
		if !e.asks() && !e.at.After(at) {
			return true
		}
	}
	return false
}

// due takes all whose time has come off the heap, in order of time. They stay known until done or again.
func (s *schedule) due(now time.Time) []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []*entry
	for len(s.heap) > 0 && !s.heap[0].at.After(now) {
		due = append(due, heap.Pop(&s.heap).(*entry))
	}
	return due
}

// again schedules an entry of due for another time, unless its fan was forgotten meanwhile.
func (s *schedule) again(e *entry, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byFan[e.fanNo][e.key] == e {
		e.at = at
		heap.Push(&s.heap, e)
	}
}

// done ends an entry of due.
func (s *schedule) done(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.byFan[e.fanNo]
	if mine[e.key] != e {
		return
	}
	delete(mine, e.key)
	if len(mine) == 0 {
		delete(s.byFan, e.fanNo)
	}
}

// wait is how long until the first entry's time, at most a second: the clock's offset may change.
func (s *schedule) wait(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.heap) == 0 {
		return time.Second
	}
	return min(max(s.heap[0].at.Sub(now), 0), time.Second)
}

func (s *schedule) len() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.heap))
}

// entries are a heap by time.
type entries []*entry

func (h entries) Len() int { return len(h) }

func (h entries) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].seq < h[j].seq
	}
	return h[i].at.Before(h[j].at)
}

func (h entries) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *entries) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *entries) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1], e.index = nil, -1
	*h = old[:len(old)-1]
	return e
}
