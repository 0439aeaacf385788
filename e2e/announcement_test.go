package e2e_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fanline/sim"
)

func isAnnouncement(id string) func(sim.Item) bool {
	return func(i sim.Item) bool { return i.ID == id }
}

func TestAnAnnouncementComesLiveOnBothInstancesAndIsPickedUpOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	for _, strategy := range []string{"write", "read"} {
		l := w.newLine(t, 5, sim.Policy{Strategy: &strategy})
		t.Run(strategy, func(t *testing.T) {
			l.t = t
			here, offline, gone := l.fans[:3], l.fans[3], l.fans[4]
			l.connect(here, w.in[0], w.in[1])
			check(t, l.me(gone).Leave(w.ctx, l.show))
			stranger := l.connectWith(l.show+"-stranger", sim.FanConfig{BaseURLs: []string{w.in[0].base}})

			a := must(w.app.At(1).Announce(w.ctx, l.show, sim.Announce{ID: "doors", Title: "Doors at eight", Body: "Bring a coat.", Data: map[string]any{"gate": "B"}}))(t)
			if a.ID != "doors" || a.Strategy != strategy || !a.Created {
				t.Errorf("answered %+v", a)
			}
			id := "ann:" + l.show + ":doors"
			var live []sim.Item
			for _, fan := range here {
				live = append(live, must(l.on[fan].WaitItem(w.ctx, isAnnouncement(id)))(t))
			}
			for _, it := range append(live, l.wantOne(offline), l.wantOne(here[1])) {
				if diff := cmp.Diff(live[0], it, cmpopts.IgnoreFields(sim.Item{}, "At")); diff != "" {
					t.Errorf("an item differs from the first fan's (-first +other):\n%s", diff)
				}
			}
			if it := live[0]; it.Kind != "announcement" || it.Lane != "bulk" || it.Title != "Doors at eight" || string(it.Data) != `{"gate":"B"}` {
				t.Errorf("the item is %+v", it)
			}
			if again := must(w.app.At(0).Announce(w.ctx, l.show, sim.Announce{ID: "doors", Title: "Doors at eight", Body: "Bring a coat.", Data: map[string]any{"gate": "B"}}))(t); again.Created {
				t.Error("the same announcement was taken twice")
			}

			// The offline fan connects, goes, misses one, and comes back elsewhere.
			f := l.connectWith(offline, sim.FanConfig{BaseURLs: []string{w.in[0].base}})
			must(f.WaitItem(w.ctx, isAnnouncement(id)))(t)
			after := f.Cursor()
			f.Close()
			second := must(w.app.Announce(w.ctx, l.show, sim.Announce{Title: "Sold out", Body: "All gone."}))(t)
			back := l.connectWith(offline, sim.FanConfig{BaseURLs: []string{w.in[1].base}, After: after})
			next := "ann:" + l.show + ":" + second.ID
			must(back.WaitItem(w.ctx, isAnnouncement(next)))(t)
			for _, fan := range here {
				must(l.on[fan].WaitItem(w.ctx, isAnnouncement(next)))(t)
				wantItems(t, l.on[fan], id, next)
			}
			wantItems(t, back, next)
			wantItems(t, stranger)
			if n := len(l.inbox(gone)); n != 0 {
				t.Errorf("who left before has %d items", n)
			}
		})
	}
}

// wantItems checks what came over a socket, doubles and all.
func wantItems(t *testing.T, f *sim.Fan, want ...string) {
	t.Helper()
	var got []string
	for _, it := range f.Items() {
		got = append(got, it.ID)
	}
	if !slices.Equal(got, want) || f.Doubles() > 0 {
		t.Errorf("came %v, want %v; %d doubles", got, want, f.Doubles())
	}
}

func TestAnnouncementsGoOnUnderAKilledInstance(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	read := "read"
	l := w.newLine(t, 1, sim.Policy{Strategy: &read})
	f := l.connectWith(l.fans[0], sim.FanConfig{
		BaseURLs: []string{w.in[0].base, w.in[1].base}, Reconnect: true, Backoff: sim.Backoff{Base: time.Millisecond, Cap: 10 * time.Millisecond},
	})
	var want []string
	for i := range 20 {
		if i == 7 {
			w.in[0].kill()
		}
		a := must(w.patient.Announce(w.ctx, l.show, sim.Announce{Title: "News", Body: "More."}))(t)
		want = append(want, "ann:"+l.show+":"+a.ID)
	}
	w.until(20*time.Second, "all announcements came", func() bool {
		return slices.ContainsFunc(f.Items(), isAnnouncement(want[len(want)-1]))
	})
	var inbox []string
	for _, it := range l.inbox(l.fans[0]) {
		inbox = append(inbox, it.ID)
	}
	slices.Reverse(inbox)
	if !slices.Equal(inbox, want) {
		t.Errorf("the inbox has %v, want %v", inbox, want)
	}
	var got []string
	for _, fr := range f.Frames() {
		if fr.Item != nil && !fr.Double {
			got = append(got, fr.Item.ID)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("came %v, want %v", got, want)
	}
}
