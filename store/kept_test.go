package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

const (
	day = 24 * time.Hour
	// kept is how long items and traces are kept.
	kept = 90 * day
)

// removeOld removes until nothing is left to be removed.
func (b *bench) removeOld() {
	b.t.Helper()
	for range 20 {
		must(b.t, b.store.RemoveOld(b.t.Context()))
	}
}

func TestItemsAreKept90DaysUnderBothStrategies(t *testing.T) {
	t.Parallel()
	for _, strategy := range []waitlist.Strategy{waitlist.Write, waitlist.Read} {
		b := newStopped(t)
		b.starts = morning.Add(2 * kept) // the line stays
		b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(strategy), ClaimWindowS: waitlist.Some(600)})
		b.join("s", "ada", "ben")
		b.announce("s", "a")
		b.free("s", "o", 1)
		b.decide()
		b.pass(time.Second)
		b.buy("s", "o", "ada")
		b.decide()
		_, err := b.store.MarkRead(t.Context(), "ada", []string{"turn:s:o", "ann:s:a"})
		must(t, err)
		want := b.inbox("ada")
		if len(want) != 3 {
			t.Fatalf("%s: inbox %v, want a turn, a result and an announcement", strategy, want)
		}
		b.at(morning.Add(kept - ms))
		b.removeOld()
		b.wantInbox("ada", want...)
		b.at(morning.Add(kept))
		b.wantInbox("ada", want[0]) // the result is a second younger
		b.at(morning.Add(kept + time.Second))
		b.wantInbox("ada") // before anything is removed
		b.removeOld()
		b.wantInbox("ada")
		for _, table := range []string{"inbox", "inbox_reads", "announcements"} {
			if n := b.rowsIn(table); n != 0 {
				t.Errorf("%s: %d rows are left in %s", strategy, n, table)
			}
		}
		b.wantReason("s", "o", "ada", waitlist.IsConfirmed)
		b.wantReason("s", "o", "ben", waitlist.EndFilled)
	}
}

// sold makes a show of which everything is over: ada bought, ben left, and cyd waited
// in vain. It returns the moment of its end, which it is then.
func (b *bench) sold(show string) time.Time {
	b.t.Helper()
	b.show(show, waitlist.PolicyChange{})
	b.join(show, "ada", "ben", "cyd")
	b.report(show, waitlist.NewOpening{ID: "o", Seats: []string{"A1", "A2"}})
	b.decide()
	b.pass(time.Second)
	b.buy(show, "o", "ada")
	must(b.t, b.Leave(b.t.Context(), show, "ben"))
	b.decide()
	b.pass(time.Hour)
	b.pass(b.starts.Sub(b.time()))
	b.wantOpening(show, "o", waitlist.OpeningExhausted, 1, 0, 1)
	return b.starts
}

// lineOf counts the rows that are left of a show's line, by table.
func (b *bench) lineOf(show string) map[string]int {
	b.t.Helper()
	rows := map[string]int{}
	for _, table := range []string{"entries", "entry_log", "wave_members", "line_blocks", "line_deltas", "line_sums", "due"} {
		rows[table] = b.rowsIn(table + ` JOIN shows USING (show_no) WHERE show_id = '` + show + `'`)
	}
	for _, table := range []string{"turns", "claims", "seats", "marks", "waves", "unreached"} {
		rows[table] = b.rowsIn(table + ` JOIN openings USING (opening_no) JOIN shows s ON s.show_no = openings.show_no WHERE show_id = '` + show + `'`)
	}
	for table, n := range rows {
		if n == 0 {
			delete(rows, table)
		}
	}
	return rows
}

func (b *bench) wantLineLeft(show string, there bool) {
	b.t.Helper()
	if rows := b.lineOf(show); (len(rows) > 0) != there {
		b.t.Errorf("of the line of %s is left %v, want any: %v", show, rows, there)
	}
}

func TestTheLineOfAShowGoes90DaysAfterIt(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	last := b.sold("s")
	must(t, b.store.FoldPositions(t.Context()))
	b.exec(`INSERT INTO unreached SELECT opening_no, 3 FROM openings`)
	b.at(last.Add(kept - ms))
	b.removeOld()
	b.join("s", "late") // it is still a show
	b.at(last.Add(kept))
	b.removeOld()
	_, _, err := b.Join(t.Context(), "s", waitlist.Join{FanID: "eve", Party: 1})
	refused(t, "join", err, waitlist.Closed)
	_, _, err = b.Record(t.Context(), "s", waitlist.NewOpening{ID: "p", Quantity: 1, Reason: "returned"})
	refused(t, "opening", err, waitlist.Closed)
	_, _, err = b.PutShow(t.Context(), "s", waitlist.ShowChange{StartsAt: waitlist.Some(b.time().Add(day))})
	refused(t, "change", err, waitlist.Closed)
	_, _, err = b.store.Announce(t.Context(), "s", waitlist.NewAnnouncement{ID: "a", Title: "T", Body: "B"})
	refused(t, "announcement", err, waitlist.Closed)
	b.wantReason("s", "o", "ada", waitlist.IsConfirmed) // until its rows go
	b.wantLineLeft("s", true)
	b.at(last.Add(kept + time.Minute))
	b.removeOld()
	b.wantLineLeft("s", false)
	for _, fan := range []string{"ada", "ben", "cyd", "late", "nobody"} {
		b.wantReason("s", "o", fan, waitlist.NotOnList)
		tr, err := b.Trace(t.Context(), "s", fan, 0, 10)
		if err != nil || tr.Entry != nil || len(tr.Log) != 0 || len(tr.Items) != 1 || tr.Items[0].Reason != waitlist.NotOnList {
			t.Errorf("trace of %s: %+v, %v", fan, tr, err)
		}
	}
	_, err = b.Entry(t.Context(), "s", "ada")
	refused(t, "entry", err, waitlist.NotFound)
	b.wantOpening("s", "o", waitlist.OpeningExhausted, 1, 0, 1)
	if s, err := b.Show(t.Context(), "s"); err != nil || s.Waiting != 0 {
		t.Errorf("the show has %d waiting, %v", s.Waiting, err)
	}
	if w, err := b.WaveReports(t.Context(), at("s", "o"), 0, 10); err != nil || len(w) != 0 {
		t.Errorf("waves %+v, %v", w, err)
	}
}

func TestALineInUseIsKept(t *testing.T) {
	t.Parallel()
	for what, hold := range map[string]func(b *bench){
		"an opening is open":        func(b *bench) { b.exec(`UPDATE openings SET state = 'open', final_at = NULL`) },
		"seats are not handed back": func(b *bench) { b.exec(`UPDATE openings SET handed_back = false`) },
		"a claim is held":           func(b *bench) { b.exec(`UPDATE claims SET state = 'held'`) },
		"it was decided since": func(b *bench) {
			b.exec(`UPDATE lines SET last_decided_at = (SELECT starts_at FROM shows) + interval '1 minute'`)
		},
		"it was moved":               func(b *bench) { b.exec(`UPDATE shows SET starts_at = starts_at + interval '1 minute'`) },
		"it was made after its time": func(b *bench) { b.exec(`UPDATE shows SET made_at = starts_at + interval '1 minute'`) },
	} {
		b := newStopped(t)
		last := b.sold("s")
		b.at(last.Add(kept))
		hold(b)
		b.removeOld()
		if n := b.rowsIn("shows WHERE dropping_at IS NOT NULL"); n != 0 {
			t.Errorf("a line goes although %s", what)
		}
	}
}

// TestALockedShowIsPassedBy: marking tries the lock, and the others go meanwhile.
func TestALockedShowIsPassedBy(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.sold("locked")
	b.starts = b.time()
	b.exec(`INSERT INTO shows (show_id, name, venue, starts_at, time_zone, url, policy) SELECT 'free', name, venue, starts_at, time_zone, url, policy FROM shows`)
	b.exec(`INSERT INTO lines (show_no) SELECT show_no FROM shows WHERE show_id = 'free'`)
	b.at(b.time().Add(kept + day))
	tx, err := b.store.Pool().Begin(t.Context())
	must(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock_shared(1, show_no) FROM shows WHERE show_id = 'locked'`)
	must(t, err)
	must(t, b.store.RemoveOld(t.Context()))
	if got := b.strings(`SELECT show_id FROM shows WHERE dropping_at IS NOT NULL`); !slices.Equal(got, []string{"free"}) {
		t.Errorf("marked are %v, want free alone", got)
	}
	must(t, tx.Rollback(t.Context()))
	must(t, b.store.RemoveOld(t.Context()))
	if n := b.rowsIn("shows WHERE dropping_at IS NOT NULL"); n != 2 {
		t.Errorf("%d shows are marked, want both", n)
	}
}

func TestALongLineGoesInBoundedBatchesThatAnyProcessGoesOnWith(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	last := b.sold("s")
	b.exec(`
		INSERT INTO entries (show_no, eno, fan_no, place, tier, party, joined_at, joined_decision)
		SELECT 1, 100 + i, 100000 + i, 100 + i, '', 1, $1, 0 FROM generate_series(1, 12000) i`, last)
	b.at(last.Add(kept))
	must(t, b.store.RemoveOld(t.Context()))
	b.at(last.Add(kept + time.Minute))
	other := benchOn(t, b.url)
	left := []int{b.rowsIn("entries")}
	for i := range 4 {
		more, err := []*bench{b, other}[i%2].store.DropTraces(t.Context())
		if err != nil || !more {
			t.Fatalf("batch %d: more %v, %v", i, more, err)
		}
		left = append(left, b.rowsIn("entries"))
	}
	if want := []int{12003, 7003, 2003, 0, 0}; !slices.Equal(left, want) {
		t.Errorf("entries left after each batch: %v, want %v", left, want)
	}
	other.removeOld()
	b.wantLineLeft("s", false)
	if more, err := b.store.DropTraces(t.Context()); more || err != nil {
		t.Errorf("more %v, %v", more, err)
	}
}

func TestAFaultOfOneRemovalKeepsNoOther(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.sold("s")
	b.exec(`DROP TABLE acks`)
	b.at(b.time().Add(kept + day))
	if err := b.store.RemoveOld(t.Context()); err == nil || !strings.Contains(err.Error(), "remove old acks") {
		t.Errorf("the fault is %v", err)
	}
	if n := b.rowsIn("inbox"); n != 0 {
		t.Errorf("%d items are left", n)
	}
}

// TestManyRemoveWhileOthersUseALine: keepers of several processes at once, while a
// line lives on and an ended one is asked about.
func TestManyRemoveWhileOthersUseALine(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	last := b.sold("ended")
	b.starts = last.Add(2 * kept)
	b.show("lives", waitlist.PolicyChange{})
	b.join("lives", "ada", "ben")
	b.at(last.Add(kept))
	must(t, b.store.RemoveOld(t.Context()))
	b.at(last.Add(kept + time.Minute))
	b.free("lives", "o", 1)
	b.decide()
	b.pass(time.Second)
	others := []*bench{benchOn(t, b.url), benchOn(t, b.url)}
	var all sync.WaitGroup
	for _, o := range append(others, b) {
		all.Go(func() {
			for range 10 {
				if err := o.store.RemoveOld(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		for i := range 20 {
			if _, _, err := b.Join(t.Context(), "lives", waitlist.Join{FanID: fmt.Sprint("f", i), Party: 1}); err != nil {
				t.Error(err)
			}
			_, _, err := b.Join(t.Context(), "ended", waitlist.Join{FanID: fmt.Sprint("f", i), Party: 1})
			refused(t, "join of what ended", err, waitlist.Closed)
			v, err := b.Verdict(t.Context(), at("ended", "o"), "ada")
			if err != nil || v.Reason != waitlist.IsConfirmed && v.Reason != waitlist.NotOnList {
				t.Errorf("verdict %s, %v", v.Reason, err)
			}
		}
	})
	all.Go(func() {
		if _, err := b.store.EraseFan(t.Context(), "cyd"); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	b.wantLineLeft("ended", false)
	if got := b.line("lives"); len(got) != 22 {
		t.Errorf("%d are in the line that lives on, want 22", len(got))
	}
	b.wantTold("lives", "o", "ada")
	b.buy("lives", "o", "ada")
}

// TestEveryTableOfALineIsDropped keeps a new table from being forgotten: whatever
// names an opening or an entry is dropped with the line or known to stay.
func TestEveryTableOfALineIsDropped(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	rows, err := b.store.Pool().Query(t.Context(), `
		SELECT DISTINCT table_name::text FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name IN ('show_no', 'eno', 'opening_no') AND table_name !~ '_([0-9]{8}|default)$' ORDER BY 1`)
	must(t, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	want := []string{
		"alerts", "announcements", "audit", "claims", "due", "entries", "entry_log", "events", "inbox", "line_blocks", "line_deltas",
		"line_sums", "lines", "marks", "openings", "seats", "shows", "turns", "unreached", "wave_members", "waves",
	}
	if !slices.Equal(got, want) {
		t.Errorf("tables of lines: %v\nwant %v: say in docs/operating.md for how long a new one is kept", got, want)
	}
}
