package e2e_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"fanline/sim"
)

func TestASocketCutAtAnyMomentMissesNothingAndRepeatsNothingNamed(t *testing.T) {
	t.Parallel()
	const cuts = 100
	w := newWorld(t, 2)
	r := random(t)
	for _, strategy := range []string{"write", "read"} {
		l := w.newLine(t, 1, sim.Policy{Mode: new("everyone"), Strategy: &strategy, ReleasePerS: new(10_000.0)})
		f := l.connectWith(l.fans[0], sim.FanConfig{
			BaseURLs: []string{w.in[0].base, w.in[1].base}, Reconnect: true,
			Backoff: sim.Backoff{Base: time.Millisecond, Cap: 10 * time.Millisecond},
		})
		stop := make(chan struct{})
		var freed []string
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("o-%04d", len(freed))
				if _, err := w.patient.Free(w.ctx, l.show, id, sim.Free{Quantity: 1, Reason: "returned"}); err != nil {
					t.Errorf("free %s: %v", id, err)
					return
				}
				freed = append(freed, id)
			}
		})
		tick := time.NewTimer(0)
		for range cuts {
			tick.Reset(time.Duration(r.IntN(int(50 * time.Millisecond))))
			<-tick.C
			f.Cut()
		}
		close(stop)
		wg.Wait()
		w.until(20*time.Second, "all items came", func() bool { return len(f.Items()) >= len(freed) })
		if f.Connects() < cuts/2 {
			t.Errorf("%d connections after %d cuts", f.Connects(), cuts)
		}
		wantInOrder(t, f, freed, l)
		t.Logf("%s: %d items over %d connections, %d came again that no cursor had named", strategy, len(freed), f.Connects(), f.Doubles())
	}
}

// wantInOrder checks that each opening's turn came, in the order of the inbox, and
// that none came again that a cursor had named when the connection began.
func wantInOrder(t *testing.T, f *sim.Fan, freed []string, l *line) {
	t.Helper()
	var want []string
	for _, item := range l.inbox(l.fans[0]) {
		want = append(want, item.ID)
	}
	slices.Reverse(want)
	var got []string
	named, sent := map[string]bool{}, []string{}
	for _, frame := range f.Frames() {
		switch {
		case frame.Type == "hello":
			if frame.Reset {
				t.Error("a reset")
			}
			sent = nil
		case frame.Type == "cursor":
			for _, id := range sent {
				named[id] = true
			}
			sent = nil
		case frame.Item != nil:
			if named[frame.Item.ID] {
				t.Errorf("%s came again after a cursor had named it", frame.Item.ID)
			}
			sent = append(sent, frame.Item.ID)
			if !frame.Double {
				got = append(got, frame.Item.ID)
			}
		}
	}
	if len(want) != len(freed) || !slices.Equal(got, want) {
		i := 0
		for i < min(len(got), len(want)) && got[i] == want[i] {
			i++
		}
		t.Errorf("%d freed, %d in the inbox, %d on the socket, which differs from the %d. on: %v, want %v",
			len(freed), len(want), len(got), i+1, got[i:min(i+3, len(got))], want[i:min(i+3, len(want))])
	}
}

func TestAJoinOverRESTMovesTheLineOnTheSocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	l := w.newLine(t, 3, sim.Policy{})
	f := l.connectWith(l.fans[2], sim.FanConfig{BaseURLs: []string{w.in[1].base}})
	at := func(show string, position int) {
		t.Helper()
		if _, err := f.WaitFrame(w.ctx, func(fr sim.Frame) bool {
			return fr.Type == "line" && fr.ShowID == show && fr.Position == position
		}); err != nil {
			t.Fatalf("position %d of %s: %v", position, show, err)
		}
	}
	at(l.show, 3)
	check(t, l.me(l.fans[0]).Leave(w.ctx, l.show))
	at(l.show, 2)
	other := w.newLine(t, 1, sim.Policy{})
	must(w.app.At(0).Join(w.ctx, other.show, sim.Join{FanID: l.fans[2]}))(t)
	at(other.show, 2)
}

func TestTheNinthSocketOfAFanEndsTheOldestWhereverItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	l := w.newLine(t, 1, sim.Policy{})
	var sockets []*sim.Fan
	for i := range 9 {
		sockets = append(sockets, l.connectWith(l.fans[0], sim.FanConfig{BaseURLs: []string{w.in[i%2].base}}))
	}
	select {
	case <-sockets[0].Done():
	case <-w.ctx.Done():
	}
	if code := sim.CloseCode(sockets[0].Err()); code != 4009 {
		t.Errorf("the oldest ended with %d: %v", code, sockets[0].Err())
	}
	l.free(0, "seat", 1)
	for i, f := range sockets[1:] {
		if _, err := f.WaitItem(w.ctx, isTurnOf("seat")); err != nil {
			t.Errorf("socket %d: %v", i+1, err)
		}
	}
}
