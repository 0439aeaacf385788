package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fanline/sim"
)

func TestAFanWhoComesBackAnywhereHearsWhatWasMissedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	for _, strategy := range []string{"write", "read"} {
		t.Run(strategy, func(t *testing.T) {
			// Everybody is told of everything, so that one fan has several items.
			l := w.newLine(t, 2, sim.Policy{Mode: new("everyone"), Strategy: &strategy, ReleasePerS: new(1000.0)})
			var seen []string
			cursor := ""
			// visit connects to an instance until the fan has heard of want more.
			visit := func(at, want int) {
				t.Helper()
				f := l.connectWith(l.fans[0], sim.FanConfig{BaseURLs: []string{w.in[at].base}, After: cursor})
				var got []string
				// The newest cursor follows what it covers.
				_, err := f.WaitFrame(w.ctx, func(frame sim.Frame) bool {
					if frame.Item != nil {
						got = append(got, frame.Item.OpeningID)
					}
					return frame.Type == "cursor" && len(got) >= want
				})
				check(t, err)
				if len(got) != want || f.Doubles() != 0 {
					t.Errorf("heard of %v, want %d", got, want)
				}
				for _, opening := range got {
					if slices.Contains(seen, opening) {
						t.Errorf("heard of %s again", opening)
					}
				}
				seen = append(seen, got...)
				cursor = f.Cursor()
				f.Kill()
			}
			freed := 0
			freeSome := func(n int) {
				t.Helper()
				for range n {
					freed++
					o := l.free(freed%2, openingOf(freed), 1)
					l.wantTold(o.ID, 2)
				}
			}
			freeSome(3)
			visit(0, 3) // a first socket: all that is unread
			freeSome(2)
			visit(1, 2)
			for i := range 5 { // flapping brings nothing twice
				visit(i%2, 0)
			}
			freeSome(1)
			visit(0, 1)
			visit(1, 0)
			for i, opening := range seen {
				if want := openingOf(i + 1); opening != want {
					t.Errorf("the %d. that was heard of is %s, want %s", i+1, opening, want)
				}
			}
			if len(seen) != freed {
				t.Errorf("heard of %d openings, want %d", len(seen), freed)
			}
		})
	}
}

// wantTold waits until n turns of an opening have opened.
func (l *line) wantTold(opening string, n int) {
	l.t.Helper()
	l.w.until(5*time.Second, fmt.Sprintf("%d are told of %s", n, opening), func() bool {
		return must(l.w.app.Opening(l.w.ctx, l.show, opening))(l.t).Told == n
	})
}

func TestTheGapBeforeALiveItemIsFilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	l := w.newLine(t, 1, sim.Policy{Mode: new("everyone"), ReleasePerS: new(1000.0)})
	f := l.connectWith(l.fans[0], sim.FanConfig{
		BaseURLs: []string{w.in[0].base, w.in[1].base}, Reconnect: true, Backoff: sim.Backoff{Base: time.Millisecond},
	})
	const openings = 30
	for n := 1; n <= openings; n++ {
		l.free(n%2, openingOf(n), 1)
		if n%5 == 0 {
			f.Cut() // while the next ones are on their way
		}
	}
	ctx, cancel := context.WithTimeout(w.ctx, 5*byLook)
	defer cancel()
	for n := 1; n <= openings; n++ {
		if _, err := f.WaitItem(ctx, isTurnOf(openingOf(n))); err != nil {
			t.Fatalf("never heard of %s: %v; this is what came:\n%s", openingOf(n), err, shown(f))
		}
	}
	items := f.Items()
	if !slices.IsSortedFunc(items, func(a, b sim.Item) int { return a.OpensAt.Compare(b.OpensAt) }) {
		t.Errorf("the turns did not come in the order in which they opened:\n%s", shown(f))
	}
	l.onceASocket()
	t.Logf("%d items came again after a cut, on %d sockets", f.Doubles(), f.Connects())
}

// shown is what came over a fan's sockets, a line a frame.
func shown(f *sim.Fan) string {
	var b strings.Builder
	for _, frame := range f.Frames() {
		fmt.Fprintf(&b, "%s %s %s%s%s", frame.At.Format("05.000"), frame.Type, frame.ID, frame.State, frame.Cursor)
		if frame.Item != nil {
			fmt.Fprintf(&b, "%s opens %s", frame.Item.ID, frame.Item.OpensAt.Format("05.000"))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestAnOldSocketsEndDoesNotCutOffTheNewOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	l := w.newLine(t, 1, sim.Policy{Mode: new("everyone"), ReleasePerS: new(1000.0)})
	on := func(at int) *sim.Fan {
		return l.connectWith(l.fans[0], sim.FanConfig{BaseURLs: []string{w.in[at].base}})
	}
	for n, c := range []struct{ first, second int }{{0, 1}, {1, 1}, {1, 0}} {
		old, fresh := on(c.first), on(c.second)
		old.Close()
		opening := fmt.Sprintf("after-%d", n+1)
		l.free(2, opening, 1) // the instance that decides has neither
		answered := time.Now()
		item := must(fresh.WaitItem(w.ctx, isTurnOf(opening)))(t)
		if late := item.At.Sub(answered); late > byLook {
			t.Errorf("the new socket heard %v after the answer", late)
		}
		fresh.Close()
	}

	// Two tabs both hear, each once.
	a, b := on(0), on(1)
	l.free(2, "both", 1)
	for _, tab := range []*sim.Fan{a, b} {
		must(tab.WaitItem(w.ctx, isTurnOf("both")))(t)
		if tab.Doubles() != 0 {
			t.Error("a tab heard twice")
		}
	}
	// What is done in one tab is known in the other.
	must(a.Claim(w.ctx, l.show, "both"))(t)
	must(b.WaitUpdate(w.ctx, "turn:"+l.show+":both", "claimed"))(t)
}

func TestABadTokenIsRefusedBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	for name, token := range map[string]string{
		"none": "", "nonsense": "nonsense", "of another secret": sim.Token("another", "ada", time.Hour),
		"ended": sim.Token(jwtSecret, "ada", -time.Hour), "an API key": apiSecret,
	} {
		for _, browser := range []bool{false, true} {
			_, err := sim.Connect(w.ctx, sim.FanConfig{
				BaseURLs: w.app.BaseURLs(), Token: token, Browser: browser, Options: []sim.Option{sim.WithHTTPClient(w.http)},
			})
			if p := wantProblem(t, err, http.StatusUnauthorized, "unauthenticated"); p.Detail == "" {
				t.Errorf("a token that is %s is refused without a word", name)
			}
		}
	}
}
