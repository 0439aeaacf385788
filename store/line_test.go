package store_test

import (
	"testing"

	"fanline/notifier"
	"fanline/waitlist"
)

func TestAFreedSeatReachesTheFirstInLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada", "ben", "cyd")
	b.free("s", "o1", 1)
	if w := b.decide(); len(w) != 1 || len(w[0].Fans) != 1 {
		t.Fatalf("waves %+v", w)
	}
	b.wantReason("s", "o1", "ada", waitlist.TurnOpen)
	b.wantReason("s", "o1", "ben", waitlist.Behind)
	items, unread, err := b.store.Items(t.Context(), "ada", notifier.InboxQuery{Limit: 50})
	if err != nil || unread != 1 || len(items) != 1 || items[0].ID != "turn:s:o1" {
		t.Fatalf("items %+v, unread %d, %v", items, unread, err)
	}
	ref := waitlist.OpeningRef{ShowID: "s", OpeningID: "o1"}
	if err := b.Decline(t.Context(), ref, "ada"); err != nil {
		t.Fatal(err)
	}
	b.decide()
	b.wantReason("s", "o1", "ada", waitlist.TurnDeclined)
	b.opened("s", "o1", "ben")
	if _, _, err := b.Claim(t.Context(), ref, "cyd"); waitlist.CodeOf(err) != waitlist.NotYourTurn {
		t.Errorf("a claim out of turn: %v", err)
	}
	c, created, err := b.Claim(t.Context(), ref, "ben")
	if err != nil || !created {
		t.Fatal(err)
	}
	b.wantReason("s", "o1", "ben", waitlist.IsClaimed)
	if _, err := b.Confirm(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	b.decide()
	b.wantReason("s", "o1", "ben", waitlist.IsConfirmed)
	b.wantReason("s", "o1", "cyd", waitlist.EndFilled)
	o, err := b.Opening(t.Context(), ref)
	if err != nil || o.State != waitlist.OpeningFilled || o.Told != 2 {
		t.Errorf("opening %+v, %v", o, err)
	}
	if items, _, err := b.store.Items(t.Context(), "ben", notifier.InboxQuery{Limit: 50}); err != nil || len(items) != 2 ||
		items[0].ID != "result:s:o1" || items[1].State != notifier.StateClaimed {
		t.Errorf("items %+v, %v", items, err)
	}
}
