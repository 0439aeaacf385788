package live

import (
	"context"
	"fmt"
	"time"

	"fanline/notifier"
)

const (
	// The clock is an estimate: what Standing does not show yet at the very moment, it shows a little later.
	againSoon  = 50 * time.Millisecond
	pushTries  = 4
	closeTries = 20
	// againLater is for a feed that does not answer.
	againLater = 250 * time.Millisecond
)

// scheduleLoop acts on entries when their time comes.
func (h *Hub) scheduleLoop(ctx context.Context) {
	fault := notifier.Faults{Log: h.cfg.Log}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(h.sched.wait(h.cfg.Clock.Now()))
		select {
		case <-ctx.Done():
			return
		case <-h.sched.ring:
			continue
		case <-timer.C:
		}
		if due := h.sched.due(h.cfg.Clock.Now()); len(due) > 0 {
			fault.Note(ctx, "ask how turns stand", h.fire(ctx, due))
		}
	}
}

// fire acts on a batch: what needs no asking at once, turns after one call for all of them.
func (h *Hub) fire(ctx context.Context, due []*entry) error {
	t := told{}
	defer func() { h.giveCursors(t) }()
	var asking []*entry
	var keys []TurnKey
	for _, e := range due {
		if e.asks() {
			asking, keys = append(asking, e), append(keys, e.turn)
			continue
		}
		h.send(e.fanNo, e.m, t)
		h.sched.done(e)
	}
	if len(asking) == 0 {
		return nil
	}
	states, err := h.standing(ctx, keys)
	if err != nil {
		for _, e := range asking {
			h.later(e, againLater)
		}
		return err
	}
	for i, e := range asking {
		h.settle(e, states[i], t)
	}
	return nil
}

func (h *Hub) standing(ctx context.Context, keys []TurnKey) ([]notifier.TurnState, error) {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.CallTimeout)
	defer cancel()
	states, err := h.cfg.Feed.Standing(ctx, keys)
	if err == nil && len(states) != len(keys) {
		err = fmt.Errorf("asked for %d turns, got %d", len(keys), len(states))
	}
	return states, err
}

func (h *Hub) settle(e *entry, state notifier.TurnState, t told) {
	settled := h.settlePush
	if e.watch {
		settled = h.settleClose
	}
	if settled(e, state, t) {
		h.sched.done(e)
	} else {
		h.later(e, againSoon)
	}
}

// settlePush pushes a turn that opened; false: it is to be asked for again.
func (h *Hub) settlePush(e *entry, state notifier.TurnState, t told) bool {
	now := h.cfg.Clock.Now()
	switch {
	case state == notifier.StateOpen:
		h.send(e.fanNo, e.m, t)
		if watched(e.m, now) {
			h.fans.schedule(&entry{
				at: e.m.closes, fanNo: e.fanNo, key: "watch " + e.m.id, m: e.m, turn: e.turn, watch: true,
			})
		}
	case state == "" && e.tries < pushTries && e.m.closes.After(now):
		return false
	default:
		// A notice of it that comes again is not to be taken for one whose time had come.
		for _, c := range h.fans.of(e.fanNo) {
			c.withhold(e.m)
		}
	}
	return true
}

// settleClose tells a fan what became of a turn that closed; false: it is to be asked for again.
func (h *Hub) settleClose(e *entry, state notifier.TurnState, t told) bool {
	if state == notifier.StateOpen && e.tries < closeTries {
		return false
	}
	if state == "" || state == notifier.StateOpen {
		state = notifier.StateOver
	}
	h.send(e.fanNo, h.updateMessage(e.m.id, state), t)
	return true
}

// later schedules e again.
func (h *Hub) later(e *entry, d time.Duration) {
	e.tries++
	h.sched.again(e, h.cfg.Clock.Now().Add(d))
}
