package store

import (
	"testing"
	"time"

	"fanline/notifier"
)

// TestAHeadTellsWhatTimeAloneChanges looks at one head at several moments: a turn
// comes when it opens, unread, and is over when it closes.
func TestAHeadTellsWhatTimeAloneChanges(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 5, 6, 20, 0, 0, 0, time.UTC)
	closes := at.Add(1500 * time.Millisecond)
	turn := notifier.Item{ID: "turn", Kind: notifier.KindTurn, State: notifier.StateOpen}
	h := &inboxHead{At: at, All: true, Unread: 1, Items: []headItem{
		{Item: turn, Exact: at.Add(time.Second), Closes: &closes},
		{Item: notifier.Item{ID: "old"}, Exact: at.Add(-time.Hour)},
	}}
	for _, c := range []struct {
		after  time.Duration
		items  int
		unread int
		state  notifier.TurnState
	}{
		{-time.Second, 1, 1, ""}, // a clock a little behind
		{0, 1, 1, ""},
		{time.Second - 1, 1, 1, ""},
		{time.Second, 2, 2, notifier.StateOpen},
		{1500*time.Millisecond - 1, 2, 2, notifier.StateOpen},
		{1500 * time.Millisecond, 2, 2, notifier.StateOver},
	} {
		items, unread, ok := h.page(at.Add(c.after), 20)
		if !ok || len(items) != c.items || unread != c.unread || items[0].State != c.state {
			t.Errorf("after %v: %d items, %d unread, %v, first %+v", c.after, len(items), unread, ok, items[0])
		}
	}
}

func TestAHeadServesOnlyWhatItHolds(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 5, 6, 20, 0, 0, 0, time.UTC)
	h := &inboxHead{At: at, Items: []headItem{{Exact: at.Add(time.Second)}, {Exact: at}, {Exact: at}}}
	if _, _, ok := h.page(at, 2); !ok {
		t.Error("two items are there")
	}
	if _, _, ok := h.page(at, 3); ok {
		t.Error("a third may lie behind what the head holds")
	}
	h.News = make([]showNews, headShows+1)
	if _, _, ok := h.page(at, 1); ok {
		t.Error("a head of too many shows was not read")
	}
}
