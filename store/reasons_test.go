package store_test

import (
	"fmt"
	"testing"

	"fanline/waitlist"
)

// Why a seat is free makes no difference: each report, and each hold given back,
// goes down the same line, and the claim is for the right fan alone.
func TestEveryWayASeatFreesUpFeedsTheSameLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	fans := []string{"a", "b", "c", "d", "e"}
	b.join("s", fans...)
	var claim waitlist.Claim
	for i, reason := range waitlist.Reasons {
		o := fmt.Sprint("o", i)
		if _, _, err := b.Record(t.Context(), "s", waitlist.NewOpening{ID: o, Quantity: 1, Reason: reason}); err != nil {
			t.Fatal(err)
		}
		b.decide()
		b.opened("s", o, fans[i])
		ref := waitlist.OpeningRef{ShowID: "s", OpeningID: o}
		if _, _, err := b.Claim(t.Context(), ref, fans[i+1]); waitlist.CodeOf(err) != waitlist.NotYourTurn {
			t.Errorf("%s: a claim by the next fan: %v", reason, err)
		}
		var err error
		if claim, _, err = b.Claim(t.Context(), ref, fans[i]); err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
	}
	if _, err := b.Release(t.Context(), claim.ID, "changed their mind"); err != nil {
		t.Fatal(err)
	}
	b.decide()
	b.opened("s", claim.OpeningID, fans[len(fans)-1])
}
