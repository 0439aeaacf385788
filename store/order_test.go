package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fanline/waitlist"
)

// replayed replays an opening from its first wave to its last.
func (b *bench) replayed(show, opening string) (wrong *waitlist.WrongOrder, told int) {
	b.t.Helper()
	for from := 0; ; {
		r, err := b.Order(b.t.Context(), at(show, opening), from)
		must(b.t, err)
		told += r.Told
		if r.Partly {
			b.t.Error("not everybody was looked at")
		}
		if r.Wrong != nil || r.More == 0 {
			return r.Wrong, told
		}
		from = r.More
	}
}

func (b *bench) wantHeld(show, opening string) {
	b.t.Helper()
	if wrong, _ := b.replayed(show, opening); wrong != nil {
		b.t.Errorf("%s: %s", opening, wrong.Sentence())
	}
}

// busyShow has an opening that told a and b, then c; a declined.
func busyShow(t *testing.T) *bench {
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{ReleasePerS: waitlist.Some(waitlist.Milli(10_000_000))})
	b.join("s", "a", "b", "c", "d", "e", "f")
	b.free("s", "o", 2)
	b.decide()
	b.pass(time.Second)
	must(t, b.Decline(t.Context(), at("s", "o"), "a"))
	b.pass(time.Second)
	b.wantTold("s", "o", "a", "b", "c")
	return b
}

func TestTheReplayFindsNothingWrongWithWhatWasDecided(t *testing.T) {
	t.Parallel()
	b := busyShow(t)
	if _, _, err := b.Join(t.Context(), "s", waitlist.Join{FanID: "four", Party: 4}); err != nil {
		t.Fatal(err)
	}
	must(t, b.move("s", "four", waitlist.MoveFront)) // too large for the next
	must(t, b.move("s", "f", waitlist.MoveFront))
	b.free("s", "o2", 1)
	b.decide()
	b.wantTold("s", "o2", "f")
	must(t, b.GiveTurn(t.Context(), at("s", "o2"), "e", "kept for them"))
	b.pass(time.Second)
	must(t, b.Decline(t.Context(), at("s", "o2"), "f"))
	b.pass(time.Second)
	b.wantTold("s", "o2", "f", "e") // out of line order, with a reason
	must(t, b.Leave(t.Context(), "s", "d"))
	must(t, b.Remove(t.Context(), "s", "a", "asked"))
	b.join("s", "d")
	must(t, b.move("s", "d", waitlist.MoveFront)) // before all who were told
	b.wantHeld("s", "o")
	b.wantHeld("s", "o2")
	if _, told := b.replayed("s", "o"); told != 3 {
		t.Errorf("%d were replayed, want 3", told)
	}
}

func TestTheReplayFindsWhatWasTamperedWith(t *testing.T) {
	t.Parallel()
	const of = ` WHERE opening_no = (SELECT opening_no FROM openings WHERE opening_id = 'o')`
	for name, c := range map[string]struct {
		sql  string
		kind waitlist.WrongKind
		says string
	}{
		"an untold fan stood before": {
			`UPDATE entries SET place = -7 WHERE eno = 6`, waitlist.WrongPassed,
			"Wave 1 told a at place 1, though f stood before them at place -7, had not been told and could have used it (a party of 1).",
		},
		"a fan further back was told instead": {
			`UPDATE wave_members SET enos = '{1,4}', fans = '{1,4}', places = '{1,4}'` + of + ` AND n = 1`, waitlist.WrongPassed,
			"Wave 1 told d at place 4, though b stood before them at place 2",
		},
		"told by a later wave, though first for an earlier one": {
			`UPDATE entries SET place = 0 WHERE eno = 3`, waitlist.WrongPassed,
			"Wave 1 told a at place 1, though c stood before them at place 0",
		},
		"a change of the log is gone": {
			`WITH moved AS (UPDATE entries SET place = -9 WHERE eno = 5) DELETE FROM entry_log WHERE eno = 5`, waitlist.WrongPassed,
			"though e stood before them at place -9",
		},
		"told twice": {
			`UPDATE wave_members SET enos = '{1}', fans = '{1}', places = '{1}'` + of + ` AND n = 2`, waitlist.WrongTwice,
			"a was told twice: by wave 1 and again by wave 2.",
		},
		"a member is missing": {
			`UPDATE wave_members SET enos = '{1}', fans = '{1}', ks = '{0}', parties = '{1}', places = '{1}', given = '{f}'` + of + ` AND n = 1`,
			waitlist.WrongRow, "The members of wave 1 are not whole.",
		},
		"the turns are exchanged": {
			`UPDATE wave_members SET ks = '{1,0}'` + of + ` AND n = 1`, waitlist.WrongRow, "not in line order (at a)",
		},
		"a dormant fan was told": {
			`INSERT INTO entry_log (show_no, eno, decision, at, what, place, tier, party, state, dormant)
			SELECT show_no, eno, 1000, clock_timestamp(), 'woke', place, tier, party, state, true FROM entries WHERE eno = 2`,
			waitlist.WrongTaken, "Wave 1 told b, who could not use it then (dormant).",
		},
		"the party is another": {`UPDATE entries SET party = 2 WHERE eno = 2`, waitlist.WrongPlace, "not the place or party"},
		"an entry is gone":     {`DELETE FROM entries WHERE eno = 2`, waitlist.WrongRow, "entry 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := busyShow(t)
			b.wantHeld("s", "o")
			b.exec(c.sql)
			wrong, _ := b.replayed("s", "o")
			if wrong == nil || wrong.Kind != c.kind || !strings.Contains(wrong.Sentence(), c.says) {
				t.Errorf("found %+v", wrong)
				if wrong != nil {
					t.Log(wrong.Sentence())
				}
			}
		})
	}
}

func TestTheReplayGoesThroughALongOpeningByPages(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{ReleasePerS: waitlist.Some(waitlist.Milli(1000)), ClaimWindowS: waitlist.Some(3600)})
	var fans []string
	for i := range 420 {
		fans = append(fans, fmt.Sprintf("fan%03d", i))
	}
	b.join("s", fans...)
	b.free("s", "o", 410)
	b.decide()
	for range 205 {
		b.pass(2 * time.Second)
	}
	r, err := b.Order(t.Context(), at("s", "o"), 0)
	must(t, err)
	if r.More == 0 || len(r.Waves) != 200 {
		t.Fatalf("%d waves, then %d", len(r.Waves), r.More)
	}
	if wrong, told := b.replayed("s", "o"); wrong != nil || told != 410 {
		t.Errorf("%d replayed, found %+v", told, wrong)
	}
	b.exec(`UPDATE entries SET place = -1 WHERE eno = 415`)
	if r, err = b.Order(t.Context(), at("s", "o"), r.More); err != nil || r.Wrong == nil || r.Wrong.N <= 200 {
		t.Errorf("the second page found %+v, %v", r.Wrong, err)
	}
}
