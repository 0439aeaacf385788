package live

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// shards is how many parts the map of fans has, each with its lock.
const shards = 64

// fans finds the connections of a fan.
type fans struct {
	perFan   int
	presence Presence
	sched    *schedule
	count    atomic.Int64
	shards   [shards]shard
}

type shard struct {
	mu sync.RWMutex
	// conns of a fan, oldest first. A slice is replaced, never changed, so that it may be read without the lock.
	conns map[int64][]*conn
}

func newFans(perFan int, p Presence, s *schedule) *fans {
	f := &fans{perFan: perFan, presence: p, sched: s}
	for i := range f.shards {
		f.shards[i].conns = map[int64][]*conn{}
	}
	return f
}

func (f *fans) shard(fanNo int64) *shard {
	return &f.shards[uint64(fanNo)*0x9e3779b97f4a7c15>>58]
}

// enter makes c one of its fan's connections, and returns the oldest when there are too many: the caller closes it. A
// connection that was closed meanwhile stays out.
func (f *fans) enter(c *conn, fanNo int64) (oldest *conn) {
	s := f.shard(fanNo)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.setFan(fanNo) {
		return nil
	}
	old := s.conns[fanNo]
	if len(old) == 0 {
		f.count.Add(1)
	}
	s.conns[fanNo] = append(slices.Clone(old), c)
	f.presence.Connect(fanNo, c.session)
	if len(old) >= f.perFan {
		return old[0]
	}
	return nil
}

// leave takes c out. With its fan's last connection goes what was scheduled for the fan: a connection that enters later
// reads it in its backlog.
func (f *fans) leave(c *conn, fanNo int64) {
	s := f.shard(fanNo)
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.conns[fanNo]
	i := slices.Index(old, c)
	if i < 0 {
		return
	}
	f.presence.Disconnect(fanNo, c.session)
	if len(old) > 1 {
		s.conns[fanNo] = slices.Concat(old[:i], old[i+1:])
		return
	}
	delete(s.conns, fanNo)
	f.count.Add(-1)
	f.sched.forget(fanNo)
}

// of returns the fan's connections, oldest first. The slice must not be changed.
func (f *fans) of(fanNo int64) []*conn {
	s := f.shard(fanNo)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.conns[fanNo]
}

// Has says whether the fan has a connection.
func (f *fans) Has(fanNo int64) bool { return len(f.of(fanNo)) > 0 }

// All returns the fans who have one.
func (f *fans) All() []int64 {
	all := make([]int64, 0, f.count.Load())
	for i := range f.shards {
		s := &f.shards[i]
		s.mu.RLock()
		all = slices.AppendSeq(all, maps.Keys(s.conns))
		s.mu.RUnlock()
	}
	return all
}

// schedule adds e unless its fan has left, so that nothing stays behind.
func (f *fans) schedule(e *entry) {
	s := f.shard(e.fanNo)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.conns[e.fanNo]) > 0 {
		f.sched.add(e)
	}
}
