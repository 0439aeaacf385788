package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"fanline/sim"
	"fanline/waitlist"
)

// standsAt waits until the last position that the fan's socket was told is that of
// the entry; 0 is none.
func (b *bench) standsAt(f *sim.Fan, show string, want int64) {
	b.t.Helper()
	last := int64(-1)
	if _, err := f.WaitFrame(b.t.Context(), func(fr sim.Frame) bool {
		if fr.Type == "line" && fr.ShowID == show {
			last = int64(fr.Position)
		}
		return last == want
	}); err != nil {
		b.t.Fatalf("position %d, want %d: %v", last, want, err)
	}
}

func (b *bench) position(show, fan string) int64 {
	b.t.Helper()
	e, err := b.Entry(b.t.Context(), show, fan)
	if err != nil {
		b.t.Fatal(err)
	}
	return e.Position
}

func TestConnectedFansKnowTheirPositionsWhateverHappensToTheLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{MaxMissed: waitlist.Some(0)})
	const fans = 40
	name := func(i int) string { return fmt.Sprintf("fan-%02d", i) }
	for i := range fans {
		b.join("s", name(i))
	}
	s := b.stream()
	var on []*sim.Fan
	for i := range 12 { // every third, and one who is not in line
		on = append(on, s.fan(name(3*i+4), ""))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for step := range 30 {
		fan := name(r.IntN(fans))
		var err error
		switch r.IntN(5) {
		case 0:
			err = b.Leave(t.Context(), "s", fan)
		case 1:
			b.join("s", fan)
		case 2:
			_, err = b.ChangeEntry(t.Context(), "s", fan, waitlist.EntryChange{Move: waitlist.MoveFront, Reason: "test"})
		case 3:
			_, err = b.ChangeEntry(t.Context(), "s", fan, waitlist.EntryChange{Move: waitlist.MoveRestore, Reason: "test"})
		case 4:
			b.exec(`UPDATE entries SET dormant = true FROM fans f WHERE f.fan_no = entries.fan_no AND f.fan_id = $1 AND state = 'waiting'`, fan)
			b.exec(`INSERT INTO entry_log (show_no, eno, decision, at, what, place, tier, party, state, dormant)
				SELECT show_no, eno, 0, now(), 'dormant', place, tier, party, state, false FROM entries JOIN fans USING (fan_no) WHERE fan_id = $1`, fan)
		}
		if err != nil && waitlist.CodeOf(err) != waitlist.Conflict {
			t.Fatal(err)
		}
		if step%3 == 0 {
			if err := b.store.FoldPositions(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if step%5 != 4 {
			continue // several changes may fall into one look
		}
		for i, f := range on {
			if want := b.position("s", name(3*i+4)); want > 0 || step > 0 {
				b.standsAt(f, "s", want)
			}
		}
	}
}

func TestAFanWhoJoinsWhileConnectedIsToldThePosition(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	b.show("z", waitlist.PolicyChange{})
	s := b.stream()
	f := s.fan("ada", "")
	b.join("s", "ben", "ada")
	b.standsAt(f, "s", 2)
	b.join("z", "ada")
	b.standsAt(f, "z", 1)
	if err := b.Leave(t.Context(), "s", "ben"); err != nil {
		t.Fatal(err)
	}
	b.standsAt(f, "s", 1)
	if err := b.Leave(t.Context(), "s", "ada"); err != nil {
		t.Fatal(err)
	}
	b.standsAt(f, "s", 0)
}

func TestALateCommitToALineIsNotPassedBy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	b.show("z", waitlist.PolicyChange{})
	b.join("s", "ada", "ben", "cyd")
	lines := b.store.Lines()
	if _, err := lines.Changes(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	late := b.begin()
	if _, err := late.Exec(t.Context(), `
		INSERT INTO entry_log (show_no, eno, decision, at, what, place, tier, party, state, dormant)
		SELECT show_no, eno, 0, now(), 'left', place, tier, party, state, false FROM entries WHERE eno = 2`); err != nil {
		t.Fatal(err)
	}
	var seen []int64
	look := func() {
		c, err := lines.Changes(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range c.Changed {
			seen = append(seen, x.EntryNo)
		}
	}
	for _, fan := range []string{"ada", "cyd"} {
		if err := b.Leave(t.Context(), "s", fan); err != nil {
			t.Fatal(err)
		}
		look()
	}
	b.commit(late)
	look()
	look()
	if fmt.Sprint(seen) != "[1 3 2]" {
		t.Errorf("saw the changes of %v", seen)
	}
}

func TestPositionsOfALongLineAreCountedByBlocks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	b.exec(`INSERT INTO fans (fan_id) SELECT 'fan-' || i FROM generate_series(1, 5000) i ORDER BY i`)
	b.exec(`INSERT INTO entries (show_no, eno, fan_no, place, tier, party, joined_at, joined_decision)
		SELECT s.show_no, f.fan_no, f.fan_no, f.fan_no, '', 1, now(), 0 FROM fans f, shows s ORDER BY f.fan_no`)
	b.exec(`UPDATE lines SET next_eno = 5001, next_place = 5001`)
	s := b.stream()
	f := s.fan("fan-4500", "")
	b.standsAt(f, "s", 4500)
	b.exec(`WITH gone AS (UPDATE entries SET state = 'left' WHERE eno BETWEEN 3 AND 62 RETURNING *)
		INSERT INTO entry_log (show_no, eno, decision, at, what, place, tier, party, state, dormant)
		SELECT show_no, eno, 0, now(), 'left', place, tier, party, 'waiting', false FROM gone`)
	b.standsAt(f, "s", 4440)
	near := s.fan("fan-70", "")
	b.standsAt(near, "s", 10)
}
