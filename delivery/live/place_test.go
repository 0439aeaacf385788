package live

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fanline/notifier"
)

func TestACursorFollowsTheBacklogAndEachBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.feed.backlog[1] = []Notice{messageFor(1, "a")}
	c := w.join(1)
	c.wantItems("msg:a")
	if got := parsed(t, c.cursor()); !got.has(hash("msg:a", "")) || got.moment.Timeline != 2 {
		t.Errorf("first cursor %+v", got)
	}
	w.feed.add(messageFor(1, "b"), messageFor(1, "c"))
	w.hub.Wake()
	c.wantItems("msg:b", "msg:c")
	if got := parsed(t, c.cursor()); !got.has(hash("msg:b", "")) || !got.has(hash("msg:c", "")) || !got.has(hash("msg:a", "")) {
		t.Errorf("second cursor %+v", got)
	}
	c.wantNothing()
	if len(c.cursors) > 0 {
		t.Error("more cursors than batches")
	}
	none := w.join(2)
	if got := parsed(t, none.cursor()); len(got.hashes) > 0 {
		t.Errorf("a cursor of nothing: %+v", got)
	}
}

func TestTwoTabsAndAPhoneHaveCursorsOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.feed.overlap = 0
	w.feed.missed[1] = []Notice{missedFor(1, "a", time.Minute)}
	tab, _ := w.resume(1, w.cursorAgo(time.Hour))
	other, _ := w.resume(1, w.cursorAgo(time.Second))
	phone := w.join(1)
	tab.wantItems("msg:a")
	other.wantNothing()
	phone.wantNothing()
	for _, c := range []*client{tab, other, phone} {
		c.cursor()
	}
	w.feed.add(messageFor(1, "b"))
	w.hub.Wake()
	var cursors []fanCursor
	for _, c := range []*client{tab, other, phone} {
		c.wantItems("msg:b")
		cursors = append(cursors, parsed(t, c.cursor()))
	}
	for _, c := range cursors {
		if !c.has(hash("msg:b", "")) || c.has(hash("msg:a", "")) {
			t.Errorf("cursor %+v", c)
		}
	}
}

func TestACursorDoesNotPassWhatWaitsForAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		c := w.join(1)
		c.cursor()
		w.feed.add(turnFor(1, 7, time.Second, time.Hour))
		w.hub.Wake()
		opens := now().Add(time.Second)
		pass(500 * time.Millisecond)
		w.feed.fail(errors.New("away")) // it is not told how the turn stands, for a long time
		pass(30 * time.Second)
		w.feed.fail(nil)
		w.feed.add(messageFor(1, "a"))
		w.hub.Wake()
		c.wantItems("msg:a")
		got := parsed(t, c.cursor())
		if got.moment.At.After(opens) || !got.has(hash("msg:a", "")) {
			t.Errorf("cursor %+v passes the turn that opened at %v", got, opens)
		}
		w.feed.stand(TurnKey{7, 1}, notifier.StateOpen)
		c.wantItems(turnID(7))
		pass(2 * time.Second)
		w.feed.add(messageFor(1, "b"))
		w.hub.Wake()
		c.wantItems("msg:b")
		c.cursor()
		if got := parsed(t, c.cursor()); !got.moment.At.After(opens) {
			t.Errorf("cursor %+v stays behind the turn that opened at %v", got, opens)
		}
	})
}

func TestMoreThanACursorCanNameWaitsForTheMomentToPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		c := w.join(1)
		c.cursor()
		w.feed.mu.Lock()
		w.feed.moment.At = now() // a transaction that stays open
		w.feed.mu.Unlock()
		for i := range cursorMost + 1 {
			w.feed.add(messageFor(1, fmt.Sprint(i)))
		}
		w.hub.Wake()
		for i := range cursorMost + 1 {
			c.wantItems(fmt.Sprint("msg:", i))
		}
		pass(3 * time.Second)
		if len(c.cursors) > 0 {
			t.Error("a cursor that does not name what it should")
		}
		w.feed.mu.Lock()
		w.feed.moment.At = time.Time{}
		w.feed.mu.Unlock()
		pass(3 * time.Second)
		if got := parsed(t, c.cursor()); len(got.hashes) > 0 {
			t.Errorf("cursor %+v", got)
		}
	})
}
