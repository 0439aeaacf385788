package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"fanline/sim"
)

// line is a show and the fans in it, in the order in which they joined.
type line struct {
	w    *world
	t    *testing.T
	show string
	fans []string
	on   map[string]*sim.Fan // those with a socket
}

// newLine makes a show and has n fans join, one after the other, over all
// instances in turn.
func (w *world) newLine(t *testing.T, n int, policy sim.Policy) *line {
	t.Helper()
	w.shows++
	l := &line{w: w, t: t, show: fmt.Sprintf("show-%d", w.shows), on: map[string]*sim.Fan{}}
	_, err := w.app.PutShow(w.ctx, l.show, sim.PutShow{
		Name: "Tuesday night", Venue: "The Locksmith", StartsAt: time.Now().AddDate(0, 1, 0), Policy: &policy,
	})
	check(t, err)
	for i := range n {
		fan := fmt.Sprintf("%s-fan-%03d", l.show, i+1)
		e := must(w.app.Join(w.ctx, l.show, sim.Join{FanID: fan}))(t)
		if e.Position != i+1 {
			t.Fatalf("fan %d joined at position %d", i+1, e.Position)
		}
		l.fans = append(l.fans, fan)
	}
	return l
}

// connect gives fans sockets that do not come back, in turn on the instances given.
func (l *line) connect(fans []string, at ...*instance) {
	l.t.Helper()
	for i, fan := range fans {
		l.connectWith(fan, sim.FanConfig{BaseURLs: []string{at[i%len(at)].base}})
	}
}

// connectWith gives a fan a socket of a kind.
func (l *line) connectWith(fan string, cfg sim.FanConfig) *sim.Fan {
	l.t.Helper()
	cfg.Token = sim.Token(jwtSecret, fan, time.Hour)
	cfg.Options = append(cfg.Options, sim.WithHTTPClient(l.w.http))
	f := must(sim.Connect(l.w.ctx, cfg))(l.t)
	l.t.Cleanup(f.Close)
	// What is committed after this frame reaches this socket.
	must(f.WaitFrame(l.w.ctx, ofType("cursor")))(l.t)
	l.on[fan] = f
	return f
}

// connectHalves connects everybody: the first, third ... to A, the others to B.
func (l *line) connectHalves() {
	l.t.Helper()
	l.connect(l.fans, l.w.in[0], l.w.in[1])
}

func ofType(typ string) func(sim.Frame) bool {
	return func(f sim.Frame) bool { return f.Type == typ }
}

func isTurnOf(opening string) func(sim.Item) bool {
	return func(i sim.Item) bool { return i.Kind == "turn" && i.OpeningID == opening }
}

// fan is the socket of the n-th fan, counted from 1.
func (l *line) fan(n int) *sim.Fan {
	l.t.Helper()
	f := l.on[l.fans[n-1]]
	if f == nil {
		l.t.Fatalf("fan %d has no socket", n)
	}
	return f
}

// me is a fan's REST side.
func (l *line) me(fan string, opts ...sim.Option) *sim.Me {
	return sim.NewMe(l.w.app.BaseURLs(), sim.Token(jwtSecret, fan, time.Hour), append(opts, sim.WithHTTPClient(l.w.http))...)
}

// free reports n seats to one instance, and wants a 201.
func (l *line) free(at int, opening string, n int, policy ...sim.Policy) sim.Opening {
	l.t.Helper()
	free := sim.Free{Quantity: n, Reason: "card_declined"}
	for i := range policy {
		free.Policy = &policy[i]
	}
	o := must(l.w.app.At(at).Free(l.w.ctx, l.show, opening, free))(l.t)
	if !o.Created {
		l.t.Fatalf("opening %s was there already", opening)
	}
	return o
}

// turn waits until the n-th fan hears of a turn on the socket.
func (l *line) turn(n int, opening string, patience time.Duration) sim.Item {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.w.ctx, patience)
	defer cancel()
	item, err := l.fan(n).WaitItem(ctx, isTurnOf(opening))
	if err != nil {
		l.t.Fatalf("fan %d did not hear of %s within %v: %v", n, opening, patience, err)
	}
	return item
}

// firstTurn waits for the first turn of an opening on any of the sockets, and says
// whose it is.
func (l *line) firstTurn(opening string, patience time.Duration) (string, sim.Item) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.w.ctx, patience)
	defer cancel()
	type heard struct {
		fan  string
		item sim.Item
	}
	first := make(chan heard, len(l.on))
	for fan, f := range l.on {
		go func() {
			if item, err := f.WaitItem(ctx, isTurnOf(opening)); err == nil {
				first <- heard{fan, item}
			}
		}()
	}
	select {
	case h := <-first:
		return h.fan, h.item
	case <-ctx.Done():
		l.t.Fatalf("nobody heard of %s within %v", opening, patience)
		return "", sim.Item{}
	}
}

// buy claims for a fan and confirms.
func (l *line) buy(fan, opening string) sim.Claim {
	l.t.Helper()
	claim := must(l.me(fan).Claim(l.w.ctx, l.show, opening))(l.t)
	claim = must(l.w.app.Confirm(l.w.ctx, claim.ID))(l.t)
	if claim.State != "confirmed" {
		l.t.Fatalf("the claim of %s is %s after its confirm", fan, claim.State)
	}
	return claim
}

// told are the fans who had a turn at an opening, by their inboxes, in line order.
// A fan with a socket must have heard of it there too, and once.
func (l *line) told(opening string) []string {
	l.t.Helper()
	var told []string
	for _, fan := range l.fans {
		has := slices.ContainsFunc(l.inbox(fan), isTurnOf(opening))
		if has {
			told = append(told, fan)
		}
		f := l.on[fan]
		if f == nil {
			continue
		}
		times := 0
		for _, frame := range f.Frames() {
			if frame.Item != nil && isTurnOf(opening)(*frame.Item) {
				times++
			}
		}
		if want := map[bool]int{true: 1}[has]; times != want {
			l.t.Errorf("%s heard of %s %d times on the socket, want %d", fan, opening, times, want)
		}
	}
	return told
}

// inbox is all that a fan can pick up.
func (l *line) inbox(fan string) []sim.Item {
	l.t.Helper()
	me := l.me(fan, patience)
	var items []sim.Item
	for item, err := range me.Inbox(l.w.ctx, sim.InboxFilter{}) {
		check(l.t, err)
		items = append(items, item)
	}
	return items
}

// verdicts are the reasons of everybody in line, by fan.
func (l *line) verdicts(opening string) map[string]sim.Verdict {
	l.t.Helper()
	all := map[string]sim.Verdict{}
	for _, fan := range l.fans {
		all[fan] = must(l.w.patient.Verdict(l.w.ctx, l.show, opening, fan))(l.t)
	}
	return all
}

// wantVerdict checks one fan's.
func wantVerdict(t testing.TB, v sim.Verdict, state, reason string) {
	t.Helper()
	if v.State != state || v.Reason != reason {
		t.Errorf("the verdict of %s on %s is %s, %s; want %s, %s", v.FanID, v.OpeningID, v.State, v.Reason, state, reason)
	}
}

// wantState waits until an opening is in a state.
func (l *line) wantState(opening, state string, patience time.Duration) sim.Opening {
	l.t.Helper()
	var o sim.Opening
	l.w.until(patience, opening+" is "+state, func() bool {
		o = must(l.w.patient.Opening(l.w.ctx, l.show, opening))(l.t)
		return o.State == state
	})
	return o
}

// onceASocket checks that no socket brought an item twice; a fan who came back may
// hear again of what came just before the cut.
func (l *line) onceASocket() {
	l.t.Helper()
	for fan, f := range l.on {
		seen := map[string]bool{}
		opens := map[string]time.Time{}
		for _, frame := range f.Frames() {
			if frame.Type == "hello" {
				clear(seen)
			}
			if frame.Item == nil {
				continue
			}
			id := frame.Item.ID
			if seen[id] {
				l.t.Errorf("%s got %s twice on one socket", fan, id)
			}
			if at, ok := opens[id]; ok && !at.Equal(frame.Item.OpensAt) {
				l.t.Errorf("%s got %s with two times: %v and %v", fan, id, at, frame.Item.OpensAt)
			}
			seen[id], opens[id] = true, frame.Item.OpensAt
		}
	}
}
