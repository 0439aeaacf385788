package store_test

import (
	"fmt"
	"testing"

	"fanline/waitlist"
)

func TestFoldingLeavesNoChangeBehindAndPositionsAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	for i := range 5 {
		b.join("s", fmt.Sprintf("fan-%d", i))
	}
	if err := b.Leave(t.Context(), "s", "fan-1"); err != nil {
		t.Fatal(err)
	}
	before := positionOf(t, b, "fan-4")
	for range 2 { // the second has nothing to fold
		if err := b.store.FoldPositions(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// The line's only block holds four, and no change is left to be added up.
	if err := b.store.Exec(t.Context(), `
		DO $$ BEGIN
			ASSERT (SELECT array_agg(active) FROM line_blocks) = '{4}', 'blocks';
			ASSERT (SELECT count(*) FROM line_deltas) = 0, 'deltas';
		END $$`); err != nil {
		t.Fatal(err)
	}
	if after := positionOf(t, b, "fan-4"); before != 4 || after != 4 {
		t.Errorf("the last of four is at %d before folding and %d after", before, after)
	}
}

func positionOf(t *testing.T, b *bench, fan string) int64 {
	t.Helper()
	e, err := b.Entry(t.Context(), "s", fan)
	if err != nil {
		t.Fatal(err)
	}
	return e.Position
}
