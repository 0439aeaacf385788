package live

import (
	"fmt"
	"testing"

	"fanline/notifier"
)

// share has the feed return an item that is the same for many.
func (f *fakeFeed) share(id string, fans ...int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := now()
	f.shared = append(f.shared, Shared{At: t, Fans: fans, Item: &notifier.Item{
		ID: id, Kind: notifier.KindAnnouncement, Lane: notifier.Bulk, CreatedAt: notifier.Stamp(t),
	}})
}

func TestASharedItemReachesEachOfItsFansOnceWithACursor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a, twin, b, other := w.join(1), w.join(1), w.join(2), w.join(3)
	for _, c := range []*client{a, twin, b, other} {
		c.cursor()
	}
	w.feed.share("ann:s:a", 1, 2, 99)
	w.hub.Wake()
	for _, c := range []*client{a, twin, b} {
		c.wantItems("ann:s:a")
		c.cursor()
	}
	w.feed.share("ann:s:b", 1, 2, 3) // and the first comes again
	w.hub.Wake()
	for _, c := range []*client{a, twin, b, other} {
		c.wantItems("ann:s:b")
	}
	if n := w.hub.Stats().Pushes; n != 7 {
		t.Errorf("%d pushes, want 7", n)
	}
}

func TestASharedItemOfABacklogIsNotPushedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.feed.share("ann:s:a", 1)
	n := messageFor(1, "x")
	n.Item.ID = "ann:s:a"
	w.feed.backlog[1] = []Notice{n}
	c := w.connect("fan=fan-1")
	c.next("hello")
	c.wantItems("ann:s:a")
	w.hub.Wake()
	w.feed.add(messageFor(1, "later"))
	w.hub.Wake()
	c.wantItems("msg:later")
}

func TestAllWhoAreHereAreListedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	want := map[int64]bool{}
	for i := 1; i <= 70; i++ {
		w.join(i)
		want[int64(i)] = true
	}
	w.join(3)
	all := w.hub.fans.All()
	for _, no := range all {
		if !want[no] || !w.hub.fans.Has(no) {
			t.Errorf("fan %d is listed twice, or is not here", no)
		}
		delete(want, no)
	}
	if len(want) > 0 {
		t.Error(fmt.Sprint("not listed: ", want))
	}
}
