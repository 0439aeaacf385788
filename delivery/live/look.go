package live

import (
	"context"
	"time"

	"fanline/notifier"
)

// lookGap is the least time between two looks: wakes that come in it are one.
const lookGap = 5 * time.Millisecond

// lookLoop reads the Feed at each wake, and without one after LookEvery.
func (h *Hub) lookLoop(ctx context.Context) {
	fault := notifier.Faults{Log: h.cfg.Log}
	tick := time.NewTicker(h.cfg.LookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		case <-tick.C:
		}
		err := h.look(ctx)
		if err != nil {
			h.lookErrors.Add(1)
		}
		fault.Note(ctx, "look at the feed", err)
		if !notifier.Pause(ctx, lookGap) {
			return
		}
	}
}

// look hands out what is new. After an error the next one begins at the same place.
func (h *Hub) look(ctx context.Context) error {
	h.looks.Add(1)
	ctx, cancel := context.WithTimeout(ctx, 2*h.cfg.CallTimeout)
	defer cancel()
	news, err := h.cfg.Feed.News(ctx, h.cur, h.fans)
	if err != nil {
		return err
	}
	now, t := h.cfg.Clock.Now(), told{}
	for i := range news.Notices {
		h.dispatch(&news.Notices[i], now, t)
	}
	for i := range news.Shared {
		h.share(&news.Shared[i], t)
	}
	for _, out := range news.SignedOut {
		h.signOut(out)
	}
	h.cur = news.Next
	h.arrive(news.Moment)
	h.giveCursors(t)
	h.giveCursors(h.debts.take())
	return nil
}

// dispatch pushes a notice whose time has come, and schedules another.
func (h *Hub) dispatch(n *Notice, now time.Time, t told) {
	if n.Item != nil {
		h.dispatchMessage(n, h.itemMessage(n), now, t)
	}
	if n.Update != nil {
		h.dispatchMessage(n, h.updateMessage(n.Update.ID, n.Update.State), now, t)
	}
}

func (h *Hub) dispatchMessage(n *Notice, m *message, now time.Time, t told) {
	e := pushEntry(n, m)
	switch {
	case n.At.After(now), !m.turn && h.sched.holds(n.FanNo, n.At):
		// In its time, and behind what was scheduled before it: the clock is an estimate,
		// by which what a look finds may be a moment early.
		h.fans.schedule(e)
	case h.sched.knows(e):
		// It comes again just when it is asked how the turn stands.
	default:
		h.send(n.FanNo, m, t)
		if watched(m, now) {
			h.fans.schedule(watchEntry(n, m))
		}
	}
}

// share pushes an item to all of its fans, who share its bytes.
func (h *Hub) share(s *Shared, t told) {
	m := h.itemMessage(&Notice{At: s.At, Item: s.Item})
	for _, fanNo := range s.Fans {
		h.send(fanNo, m, t)
	}
}

// send offers a message to each connection of a fan.
func (h *Hub) send(fanNo int64, m *message, t told) {
	for _, c := range h.fans.of(fanNo) {
		if c.offer(m) {
			t[c] = struct{}{}
		}
	}
}
