package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

// page reads the next n of a line.
func (b *bench) page(show string, after *int64, n int) []waitlist.Entry {
	b.t.Helper()
	list, err := b.Entries(b.t.Context(), show, waitlist.EntryFilter{AfterPlace: after, Limit: n})
	must(b.t, err)
	return list
}

func TestPagesOfTheLineNeverSkipOrRepeat(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	var stay []string
	for i := range 40 {
		stay = append(stay, fmt.Sprintf("stay%02d", i))
		b.join("s", stay[i], fmt.Sprintf("go%02d", i))
	}
	var got []string
	var after *int64
	for n := 0; ; n++ {
		list := b.page("s", after, 7)
		for _, e := range list {
			if e.FanID[:4] == "stay" {
				got = append(got, e.FanID)
			}
		}
		if len(list) == 0 {
			break
		}
		after = &list[len(list)-1].Place
		if n < 10 { // meanwhile the line changes around the page
			must(t, b.Leave(t.Context(), "s", fmt.Sprintf("go%02d", n)))
			must(t, b.move("s", fmt.Sprintf("go%02d", 39-n), waitlist.MoveFront))
			b.join("s", fmt.Sprintf("go%02d", n))
		}
	}
	if !slices.Equal(got, stay) {
		t.Errorf("read %v", got)
	}
}

func TestPositionsInAPageAreThoseOfTheEntries(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	for i := range 30 {
		b.join("s", fmt.Sprintf("f%02d", i))
	}
	for i := 0; i < 30; i += 4 {
		must(t, b.Leave(t.Context(), "s", fmt.Sprintf("f%02d", i)))
	}
	must(t, b.move("s", "f29", waitlist.MoveFront))
	check := func() {
		t.Helper()
		for _, state := range []waitlist.State{"", waitlist.Waiting, waitlist.Left} {
			list, err := b.Entries(t.Context(), "s", waitlist.EntryFilter{State: state, AfterPlace: ptr(int64(3)), Limit: 20})
			must(t, err)
			for _, e := range list {
				if one := b.entry("s", e.FanID); one.Position != e.Position || (e.State == waitlist.Left) != (e.Position == 0) {
					t.Errorf("%s %s at %d, alone at %d", e.FanID, e.State, e.Position, one.Position)
				}
			}
		}
	}
	check()
	must(t, b.store.FoldPositions(t.Context()))
	check()
	if s, err := b.Show(t.Context(), "s"); err != nil || s.Waiting != 22 {
		t.Errorf("%d waiting, %v", s.Waiting, err)
	}
}

func TestPagesOfTheInboxNeverSkipOrRepeat(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	var stay []string
	for i := range 12 {
		show := fmt.Sprintf("s%02d", i)
		strategy := []waitlist.Strategy{waitlist.Write, waitlist.Read}[i%2]
		b.show(show, waitlist.PolicyChange{Strategy: waitlist.Some(strategy)})
		b.join(show, "ada")
		b.free(show, "o", 1)
		b.decide()
		if i%3 == 0 {
			b.pass(time.Second) // some stand at one moment
		}
		stay = append(stay, notifier.TurnID(show, "o"))
	}
	var got []string
	var after *notifier.InboxKey
	for n := 0; ; n++ {
		items, _, err := b.store.Items(t.Context(), "ada", notifier.InboxQuery{After: after, Limit: 5})
		must(t, err)
		if len(items) == 0 {
			break
		}
		for i := range items {
			if items[i].Kind == notifier.KindTurn {
				got = append(got, items[i].ID)
			}
		}
		last := items[len(items)-1]
		after = &notifier.InboxKey{At: time.Time(last.CreatedAt), ID: last.ID}
		if n == 0 { // a newer item comes
			b.pass(time.Second)
			b.buy("s11", "o", "ada")
			b.decide()
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, stay) {
		t.Errorf("read %v", got)
	}
	if first := b.inbox("ada")[0]; first != "result:s11:o confirmed*" {
		t.Errorf("newest is %s", first)
	}
}

func TestReadMarks(t *testing.T) {
	t.Parallel()
	for _, strategy := range []waitlist.Strategy{waitlist.Write, waitlist.Read} {
		b := newStopped(t)
		b.show("s", waitlist.PolicyChange{
			Strategy: waitlist.Some(strategy), Mode: waitlist.Some(waitlist.ModeEveryone), ReleasePerS: waitlist.Some(waitlist.Milli(1000)),
		})
		b.join("s", "ada")
		for _, o := range []string{"o1", "o2", "o3"} {
			b.free("s", o, 1)
		}
		b.decide()
		b.pass(time.Second) // o2's opens now, o3's later
		unread := func(what string, got int, err error, want int) {
			t.Helper()
			if err != nil || got != want {
				t.Errorf("%s: %d unread, %v, want %d", what, got, err, want)
			}
		}
		n, err := b.store.MarkRead(t.Context(), "ada", []string{"turn:s:o1", "turn:s:o3", "turn:s:none", "ann:s:x", ""})
		unread("o1", n, err, 1)
		n, err = b.store.MarkRead(t.Context(), "ada", []string{"turn:s:o1"})
		unread("again", n, err, 1)
		b.wantInbox("ada", "turn:s:o2 open*", "turn:s:o1 open")
		b.pass(time.Second)
		b.pass(2 * time.Second)
		b.wantInbox("ada", "turn:s:o3 open*", "turn:s:o2 open*", "turn:s:o1 open") // not read before it opened
		items, n, err := b.store.Items(t.Context(), "ada", notifier.InboxQuery{Unread: true, Limit: 1})
		unread("a page", n, err, 2)
		if len(items) != 1 || items[0].ID != "turn:s:o3" {
			t.Errorf("unread %+v", items)
		}
		n, err = b.store.MarkAllRead(t.Context(), "ada", time.Time(items[0].CreatedAt))
		unread("before o3", n, err, 1)
		b.free("s", "o4", 1)
		b.free("s", "o5", 1)
		b.decide() // o5's opens in a second
		b.exec(`UPDATE stopped.clock SET at = at + interval '1 millisecond'`)
		n, err = b.store.MarkAllRead(t.Context(), "ada", b.time().Add(time.Hour))
		unread("all", n, err, 0)
		b.pass(10 * time.Second)
		b.wantInbox("ada", "turn:s:o5 open*", "turn:s:o4 open", "turn:s:o3 open", "turn:s:o2 open", "turn:s:o1 open") // what was to come is not read
		n, err = b.store.MarkRead(t.Context(), "nobody", []string{"turn:s:o1"})
		unread("of a stranger", n, err, 0)
	}
}

func TestWavesTellWhomTheySkippedAndWhy(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{MaxMissed: waitlist.Some(1)})
	b.join("s", "dormant", "busy", "gone")
	b.joinAs("s", "balcony", 1, "balcony")
	b.joinAs("s", "big", 3, "")
	b.join("s", "first", "second", "third")
	b.free("s", "other", 1)
	b.decide()
	b.pass(10 * time.Minute)
	b.wantTold("s", "other", "dormant", "busy")
	must(t, b.Leave(t.Context(), "s", "gone"))
	b.report("s", waitlist.NewOpening{ID: "o", Quantity: 2, Tier: "stalls"})
	b.decide()
	b.pass(time.Second)
	b.wantTold("s", "o", "first", "second")
	reports, err := b.WaveReports(t.Context(), at("s", "o"), 0, 10)
	must(t, err)
	if len(reports) != 1 {
		t.Fatalf("reports %+v", reports)
	}
	r := reports[0]
	want := map[waitlist.Reason]int{
		waitlist.IsDormant: 1, waitlist.Busy: 1, waitlist.TierMismatch: 1, waitlist.PartyTooBig: 1,
	}
	if fmt.Sprint(r.Skipped) != fmt.Sprint(want) || r.Size != 2 || r.N != 1 ||
		r.FromPlace != b.entry("s", "first").Place || r.ToPlace != b.entry("s", "second").Place {
		t.Errorf("report %+v", r)
	}
	must(t, b.Wake(t.Context(), "dormant"))
	must(t, b.Leave(t.Context(), "s", "big"))
	again, err := b.WaveReports(t.Context(), at("s", "o"), 0, 10)
	must(t, err)
	if fmt.Sprint(again[0].Skipped) != fmt.Sprint(want) {
		t.Errorf("after the line changed: %v", again[0].Skipped)
	}
	must(t, b.Decline(t.Context(), at("s", "o"), "first"))
	b.pass(time.Second)
	b.wantTold("s", "o", "first", "second", "dormant")
	if older, err := b.WaveReports(t.Context(), at("s", "o"), 2, 10); err != nil || len(older) != 1 || older[0].N != 1 {
		t.Errorf("before the second: %+v, %v", older, err)
	}
}

func TestTheSweepFindsWhatHasNothingPending(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	for _, s := range []string{"open", "cancelled", "held", "idle"} {
		b.show(s, waitlist.PolicyChange{})
		b.join(s, "ada", "ben")
	}
	sweep := func(want int) {
		t.Helper()
		if n, err := b.store.Sweep(t.Context()); err != nil || n != want {
			t.Errorf("swept %d, %v, want %d", n, err, want)
		}
	}
	sweep(0)
	b.free("open", "o", 1)
	for _, s := range []string{"cancelled", "held"} {
		b.free(s, "o", 1)
		b.decide()
		b.pass(time.Second)
	}
	b.claim("held", "o", "ada")
	must(t, b.CancelOpening(t.Context(), at("cancelled", "o")))
	b.exec(`DELETE FROM due`)
	sweep(3)
	sweep(0)
	b.decide()
	b.wantTold("open", "o", "ada")
	if got := b.events("cancelled", notifier.SeatsReturned); len(got) != 1 {
		t.Errorf("returned %v", got)
	}
	b.exec(`DELETE FROM due`)
	b.exec(`UPDATE stopped.clock SET at = at + interval '10 minutes'`)
	sweep(2)
	b.decide()
	b.wantReason("held", "o", "ada", waitlist.HoldLapsed)
	b.wantTold("open", "o", "ada", "ben")
}

func TestWhoJoinedAfterTheEndWasNotOnTheList(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada")
	for _, o := range []string{"filled", "cancelled", "exhausted"} {
		b.free("s", o, 1)
		b.decide()
		b.pass(time.Second)
		switch o {
		case "filled":
			b.buy("s", o, "ada")
			b.decide()
			b.join("s", "ben")
		case "cancelled":
			must(t, b.CancelOpening(t.Context(), at("s", o)))
			b.join("s", "cyd")
		case "exhausted":
			b.pass(10 * time.Minute)
			b.pass(10 * time.Minute)
			b.join("s", "dot")
		}
	}
	b.decide()
	want := map[string]map[string]waitlist.Reason{
		"filled":    {"ada": waitlist.IsConfirmed, "ben": waitlist.NotOnList, "cyd": waitlist.NotOnList, "dot": waitlist.NotOnList, "eve": waitlist.NotOnList},
		"cancelled": {"ada": waitlist.HasLeft, "ben": waitlist.EndCancelled, "cyd": waitlist.NotOnList, "dot": waitlist.NotOnList, "eve": waitlist.NotOnList},
		"exhausted": {"ada": waitlist.HasLeft, "ben": waitlist.TurnLapsed, "cyd": waitlist.TurnLapsed, "dot": waitlist.NotOnList, "eve": waitlist.NotOnList},
	}
	check := func() {
		t.Helper()
		for o, fans := range want {
			for fan, why := range fans {
				b.wantReason("s", o, fan, why)
			}
		}
	}
	check()
	for _, fan := range []string{"ben", "cyd", "dot"} { // later the line is another
		must(t, b.Remove(t.Context(), "s", fan, ""))
	}
	b.join("s", "ada", "eve")
	b.decide()
	check()
}

func TestAFanSeesOwnPlacesInLine(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	for _, s := range []string{"b", "a", "left", "cancelled"} {
		b.show(s, waitlist.PolicyChange{})
		b.join(s, "first", "ada")
	}
	must(t, b.Leave(t.Context(), "left", "ada"))
	must(t, b.CancelShow(t.Context(), "cancelled"))
	list, err := b.FanEntries(t.Context(), "ada")
	must(t, err)
	var got []string
	for _, e := range list {
		got = append(got, fmt.Sprintf("%s %d", e.ShowID, e.Position))
	}
	if !slices.Equal(got, []string{"a 2", "b 2"}) {
		t.Errorf("entries %v", got)
	}
}

func TestAClockThatWasSetBackIsNoticed(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.free("s", "o", 1)
	b.decide()
	for _, step := range []struct{ back, behind time.Duration }{{0, 0}, {time.Minute, time.Minute}, {0, 0}} {
		b.at(morning.Add(-step.back))
		if _, err := b.store.Sweep(t.Context()); err != nil || b.store.ClockBehind() != step.behind {
			t.Errorf("set back by %v: behind by %v, %v", step.back, b.store.ClockBehind(), err)
		}
	}
}
