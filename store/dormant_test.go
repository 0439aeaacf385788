package store_test

import (
	"testing"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

// misses lets a fan, alone in line, miss n turns in a row.
func (b *bench) misses(show, fan string, n int, name string) {
	b.t.Helper()
	for i := range n {
		o := name + string(rune('a'+i))
		b.free(show, o, 1)
		b.decide()
		b.pass(time.Second)
		b.wantReason(show, o, fan, waitlist.TurnOpen)
		b.pass(10 * time.Minute)
	}
}

func TestWhoMissesTooManyTurnsIsDormantUntilTheyAct(t *testing.T) {
	t.Parallel()
	acts := map[string]func(b *bench) error{
		"a look": func(b *bench) error { return b.Wake(b.t.Context(), "ada") },
		"a join": func(b *bench) error {
			_, isNew, err := b.Join(b.t.Context(), "s", waitlist.Join{FanID: "ada", Party: 1})
			if isNew {
				b.t.Error("the entry stands, yet a new one was made")
			}
			return err
		},
	}
	for name, act := range acts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newStopped(t)
			b.show("s", waitlist.PolicyChange{MaxMissed: waitlist.Some(2)})
			b.join("s", "ada")
			b.misses("s", "ada", 2, "o")
			if e := b.entry("s", "ada"); !e.Dormant || e.Missed != 2 || e.Position != 0 {
				t.Fatalf("entry %+v", e)
			}
			if got := b.events("s", notifier.EntryDormant); len(got) != 1 {
				t.Errorf("dormant %v", got)
			}
			b.join("s", "ben")
			b.free("s", "next", 1)
			b.decide()
			b.wantTold("s", "next", "ben")
			b.wantReason("s", "next", "ada", waitlist.IsDormant)
			must(t, act(b))
			if e := b.entry("s", "ada"); e.Dormant || e.Missed != 0 || e.Position != 1 {
				t.Errorf("awake: %+v", e)
			}
			b.wantLine("s", "ada", "ben")
			b.pass(10 * time.Minute)
			b.wantTold("s", "next", "ben", "ada") // considered again
		})
	}
}

func TestAnActSetsTheCountTo0AndALookDoesNot(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{MaxMissed: waitlist.Some(3), HoldS: waitlist.Some(60)})
	b.join("s", "ada")
	missed := func(want int) {
		t.Helper()
		if e := b.entry("s", "ada"); e.Missed != want {
			t.Errorf("missed %d, want %d", e.Missed, want)
		}
	}
	b.misses("s", "ada", 2, "a")
	must(t, b.Wake(t.Context(), "ada"))
	missed(2)
	b.free("s", "declined", 1)
	b.decide()
	b.pass(time.Second)
	must(t, b.Decline(t.Context(), at("s", "declined"), "ada"))
	missed(0)
	b.misses("s", "ada", 1, "b")
	b.free("s", "claimed", 1)
	b.decide()
	b.pass(time.Second)
	b.claim("s", "claimed", "ada")
	missed(0)
	b.pass(time.Minute)
	missed(1) // a lapsed hold is a miss
	b.misses("s", "ada", 2, "c")
	if e := b.entry("s", "ada"); !e.Dormant {
		t.Errorf("three in a row: %+v", e)
	}
}

func TestATurnCutShortIsNoMiss(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{MaxMissed: waitlist.Some(1)})
	b.join("s", "ada", "ben")
	b.free("s", "o", 1)
	b.free("s", "lapsed", 1)
	b.decide()
	b.pass(time.Minute)
	must(t, b.CancelOpening(t.Context(), at("s", "o")))
	b.exec(`UPDATE stopped.clock SET at = at + interval '9 minutes 1 second'`)
	must(t, b.CancelOpening(t.Context(), at("s", "lapsed"))) // just too late
	b.decide()
	if e := b.entry("s", "ada"); e.Dormant || e.Missed != 0 {
		t.Errorf("cut short: %+v", e)
	}
	if e := b.entry("s", "ben"); !e.Dormant {
		t.Errorf("lapsed before the end: %+v", e)
	}
}

func TestWithoutALimitNobodyIsDormant(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{MaxMissed: waitlist.Some(0)})
	b.join("s", "ada")
	b.misses("s", "ada", 4, "o")
	if e := b.entry("s", "ada"); e.Dormant || e.Missed != 4 {
		t.Errorf("entry %+v", e)
	}
}
