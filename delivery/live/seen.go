package live

import (
	"time"

	"fanline/notifier"
)

const (
	rememberFor  = time.Minute
	rememberMost = 16_384
	watchMost    = 256 // turns that a connection remembers
)

// seen remembers hashes for at least rememberFor since they were met last, or the last rememberMost of them when more
// come in that time. It is two sets, of which the older is forgotten as a whole.
type seen struct {
	young, old map[uint64]struct{}
	since      time.Time // young's first
}

// meet says whether x is new, and remembers it anew.
func (s *seen) meet(x uint64, now time.Time) bool {
	s.age(now)
	if len(s.young) >= rememberMost {
		s.turn(now)
	}
	if s.young == nil {
		s.young, s.since = map[uint64]struct{}{}, now
	}
	known := s.has(x)
	s.young[x] = struct{}{}
	return !known
}

// age forgets what is older than need be.
func (s *seen) age(now time.Time) {
	if (s.young != nil || s.old != nil) && now.Sub(s.since) >= rememberFor {
		s.turn(now)
	}
}

func (s *seen) turn(now time.Time) { s.old, s.young, s.since = s.young, nil, now }

func (s *seen) has(x uint64) bool {
	if _, ok := s.young[x]; ok {
		return true
	}
	_, ok := s.old[x]
	return ok
}

// turns are the turns whose items a connection had, with the state it knows: longer than seen, since a turn may change
// days later.
type turns map[string]turnMark

type turnMark struct {
	state  notifier.TurnState
	closes time.Time
}

// mark remembers a turn. When there are too many, one that is over goes, or else the one that closes first.
func (t turns) mark(id string, m turnMark) {
	if _, ok := t[id]; !ok && len(t) >= watchMost {
		delete(t, t.oldest())
	}
	t[id] = m
}

func (t turns) oldest() string {
	var first string
	for id, m := range t {
		if m.state == notifier.StateOver {
			return id
		}
		if first == "" || m.closes.Before(t[first].closes) {
			first = id
		}
	}
	return first
}

// rank orders the states of a turn, which never go back. Others have none.
var rank = map[notifier.TurnState]int{notifier.StateOpen: 1, notifier.StateClaimed: 2, notifier.StateOver: 3}

// stale says that to is no news after from.
func stale(from, to notifier.TurnState) bool {
	return from == to || rank[from] > 0 && rank[to] > 0 && rank[to] < rank[from]
}
