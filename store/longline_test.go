package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
)

// fillLine puts n fans, named show-1 and so on, in a show's line: every apart-th place is taken.
func (b *bench) fillLine(show string, n, apart int) {
	b.t.Helper()
	b.exec(`INSERT INTO fans (fan_id) SELECT $1 || '-' || i FROM generate_series(1, $2::int) i ORDER BY i`, show, n)
	b.exec(`INSERT INTO entries (show_no, eno, fan_no, place, tier, party, joined_at, joined_decision)
		SELECT s.show_no, f.i, f.fan_no, f.i * $2::bigint, '', 1, now(), 0
		FROM shows s, (SELECT fan_no, substr(fan_id, length($1) + 2)::int AS i FROM fans WHERE fan_id LIKE $1 || '-%') f
		WHERE show_id = $1 ORDER BY f.i`, show, apart)
	b.exec(`UPDATE lines SET next_eno = $2::int + 1, next_place = $2::bigint * $3 + 1
		WHERE show_no = (SELECT show_no FROM shows WHERE show_id = $1)`, show, n, apart)
}

// Counts of 32, of 1,024 and of more blocks are added up; so places go past two million, and before the front.
func TestAPositionIsThatCountedOverTheWholeLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	const n = 20_000
	b.fillLine("s", n, 150)
	b.exec(`UPDATE entries SET state = 'left' WHERE eno % 7 = 0 OR eno BETWEEN 500 AND 9000`)
	b.exec(`UPDATE entries SET dormant = true WHERE eno % 11 = 0`)
	check := func() {
		t.Helper()
		for range 60 {
			fan := fmt.Sprintf("s-%d", 1+rand.N(n))
			var want int64
			must(t, b.store.Pool().QueryRow(t.Context(), `
				SELECT CASE WHEN e.state = 'waiting' AND NOT e.dormant THEN (
					SELECT count(*) FROM entries WHERE place <= e.place AND state = 'waiting' AND NOT dormant) ELSE 0 END
				FROM entries e JOIN fans USING (fan_no) WHERE fan_id = $1`, fan).Scan(&want))
			if got := b.entry("s", fan).Position; got != want {
				t.Fatalf("%s is at %d, counted %d", fan, got, want)
			}
		}
		var waiting int64
		must(t, b.store.Pool().QueryRow(t.Context(), `SELECT count(*) FROM entries WHERE state = 'waiting'`).Scan(&waiting))
		if s, err := b.Show(t.Context(), "s"); err != nil || s.Waiting != waiting {
			t.Fatalf("%d are said to wait, %d do, %v", s.Waiting, waiting, err)
		}
	}
	check()
	must(t, b.store.FoldPositions(t.Context()))
	check()
	for _, i := range []int{19_998, 13, 400} {
		must(t, b.move("s", fmt.Sprintf("s-%d", i), waitlist.MoveFront))
	}
	must(t, b.Leave(t.Context(), "s", "s-10002"))
	check()
	must(t, b.store.FoldPositions(t.Context()))
	check()
}

func TestPagesByStateAreTheLineInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	b.show("z", waitlist.PolicyChange{})
	const n = 9000
	b.fillLine("s", n, 3)
	b.fillLine("z", 10, 1)
	b.exec(`UPDATE entries SET state = CASE WHEN eno BETWEEN 100 AND 6000 THEN CASE eno % 3 WHEN 0 THEN 'bought' WHEN 1 THEN 'left' ELSE 'removed' END
		WHEN eno % 500 = 0 THEN 'holding' ELSE 'waiting' END`)
	must(t, b.store.FoldPositions(t.Context()))
	// Not folded yet: a stretch that empties, and one that fills again.
	b.exec(`UPDATE entries SET state = 'left' WHERE eno BETWEEN 7000 AND 8000`)
	b.exec(`UPDATE entries SET state = 'waiting' WHERE eno BETWEEN 3000 AND 3010`)
	must(t, b.move("s", "s-8500", waitlist.MoveFront))
	for _, state := range []waitlist.State{"", "waiting", "holding", "bought", "left", "removed"} {
		want := b.strings(`SELECT fan_id FROM entries JOIN fans USING (fan_no) JOIN shows USING (show_no)
			WHERE show_id = 's' AND ($1 = '' OR state = $1) ORDER BY place`, string(state))
		var got []string
		f := waitlist.EntryFilter{State: state, Limit: 400}
		for {
			page, err := b.Entries(t.Context(), "s", f)
			must(t, err)
			for i := range page {
				got = append(got, page[i].FanID)
			}
			if len(page) < f.Limit {
				break
			}
			f.AfterPlace = &page[len(page)-1].Place
		}
		if !slices.Equal(got, want) {
			t.Errorf("state %q: %d entries in pages, %d in line", state, len(got), len(want))
		}
	}
}

// rowsOf counts the rows that a store reads and writes while f runs, indexes' entries too. Its sessions tell the server
// as they end.
func rowsOf(t *testing.T, url string, f func(b *bench)) (rows int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	count := func() (n int64) {
		for others := 1; others > 0; {
			must(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`).Scan(&others))
		}
		must(t, conn.QueryRow(t.Context(), `
			SELECT (SELECT sum(seq_tup_read + n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables)
				+ (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)`).Scan(&n))
		return n
	}
	before := count()
	func() {
		b := &bench{t: t, nudged: make(chan int32, 10_000), starts: time.Now().Add(24 * time.Hour)}
		b.store, err = store.Open(t.Context(), store.Config{URL: url})
		must(t, err)
		defer b.store.Close()
		b.Service = waitlist.NewService(b.store, b, func(...int64) {})
		defer b.Close()
		f(b)
	}()
	return count() - before
}

// sizes are two lines of which what is done to one fan must cost the same.
var sizes = []struct {
	show string
	fans int
}{{"club", 2 * 1024}, {"arena", 60 * 1024}}

// aLineOfEach is a database with them, never analysed.
func aLineOfEach(t *testing.T) string {
	t.Helper()
	url := storetest.Database(t, store.Migrate)
	rowsOf(t, url, func(b *bench) {
		for _, s := range sizes {
			b.show(s.show, waitlist.PolicyChange{})
			b.fillLine(s.show, s.fans, 1)
			// Most of those in front are through, as after an evening.
			b.exec(`UPDATE entries SET state = 'left' WHERE show_no = (SELECT show_no FROM shows WHERE show_id = $1) AND eno <= $2`,
				s.show, s.fans*9/10)
		}
		must(t, b.store.FoldPositions(t.Context()))
		// As the server does by itself soon after.
		b.exec(`VACUUM (ANALYZE)`)
	})
	return url
}

func TestWhatIsDoneToOneFanCostsTheSameInALineOfAnyLength(t *testing.T) {
	t.Parallel()
	url := aLineOfEach(t)
	last := func(i int) string { return fmt.Sprintf("%s-%d", sizes[i].show, sizes[i].fans-5) }
	page := func(b *bench, i int, f waitlist.EntryFilter) {
		f.Limit = 50
		_, err := b.Entries(t.Context(), sizes[i].show, f)
		must(t, err)
	}
	for _, act := range []struct {
		name string
		do   func(b *bench, i int)
	}{
		{"position", func(b *bench, i int) { b.entry(sizes[i].show, last(i)) }},
		{"a page of those who bought", func(b *bench, i int) { page(b, i, waitlist.EntryFilter{State: waitlist.Bought}) }},
		{"a page of those who left", func(b *bench, i int) { page(b, i, waitlist.EntryFilter{State: waitlist.Left}) }},
		{"a page of those waiting", func(b *bench, i int) { page(b, i, waitlist.EntryFilter{State: waitlist.Waiting}) }},
		{"a page of everybody", func(b *bench, i int) { page(b, i, waitlist.EntryFilter{AfterPlace: ptr(int64(1500))}) }},
		{"the show", func(b *bench, i int) { _, err := b.Show(t.Context(), sizes[i].show); must(t, err) }},
		{"the picture, the times and the pace", func(b *bench, i int) { b.lookAt(sizes[i].show) }},
		{"a move to the front", func(b *bench, i int) { must(t, b.move(sizes[i].show, last(i), waitlist.MoveFront)) }},
		{"a restore", func(b *bench, i int) { must(t, b.move(sizes[i].show, last(i), waitlist.MoveRestore)) }},
		{"a seat and its decision", func(b *bench, i int) {
			b.free(sizes[i].show, "o-"+sizes[i].show, 1)
			b.decide()
		}},
		{"the replay of its opening", func(b *bench, i int) { b.wantHeld(sizes[i].show, "o-"+sizes[i].show) }},
		{"leaving", func(b *bench, i int) { must(t, b.Leave(t.Context(), sizes[i].show, last(i))) }},
		{"joining", func(b *bench, i int) { b.join(sizes[i].show, last(i)) }},
	} {
		var rows [2]int64
		for i := range sizes {
			rows[i] = rowsOf(t, url, func(b *bench) { act.do(b, i) })
		}
		// A position counts the entries of its own block of 1,024 places, which is not as full in both.
		if rows[1] > rows[0]+1200 {
			t.Errorf("%s: %d rows in a line of %d, %d in one of %d", act.name, rows[0], sizes[0].fans, rows[1], sizes[1].fans)
		}
	}
}

// lookAt reads what the staff's page of a show does.
func (b *bench) lookAt(show string) {
	b.t.Helper()
	s, err := b.Show(b.t.Context(), show)
	must(b.t, err)
	_, err = b.store.Picture(b.t.Context(), show)
	must(b.t, err)
	_, err = b.store.Timeline(b.t.Context(), s.No, 8)
	must(b.t, err)
	_, err = b.store.Rush(b.t.Context(), s.No, 10*time.Second, 60)
	must(b.t, err)
	_, err = b.store.InLine(b.t.Context(), s.No)
	must(b.t, err)
}

// Half a million decisions that other shows will need at some time are no business of a seat that is free now.
func TestASeatCostsTheSameHoweverManyDecisionsAreDueLater(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, store.Migrate)
	seat := func(o string) int64 {
		return rowsOf(t, url, func(b *bench) {
			b.free("s", o, 1)
			if waves := b.decide(); len(waves) != 1 {
				t.Errorf("%d waves of %s", len(waves), o)
			}
		})
	}
	rowsOf(t, url, func(b *bench) {
		b.show("s", waitlist.PolicyChange{})
		b.join("s", "ada", "ben", "cyd", "dee")
	})
	seat("first")
	before := seat("before")
	rowsOf(t, url, func(b *bench) {
		b.exec(`INSERT INTO due SELECT 1000 + i % 5000, now() + (600 + i % 3600) * interval '1 second' FROM generate_series(1, 500000) i`)
	})
	if after := seat("after"); after > before+100 {
		t.Errorf("a seat reads and writes %d rows with 500,000 decisions due later, %d without", after, before)
	}
}

// The server has seen one long line when another show begins, and what it knows of the first must not make it read the
// second through for each fan; nor all those in front who have left, to find the first who waits.
func TestAShowThatBeginsBesideALongLineIsReadByItsKeys(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, store.Migrate)
	const n = 3000
	rowsOf(t, url, func(b *bench) {
		b.show("long", waitlist.PolicyChange{})
		b.fillLine("long", 40_000, 1)
		b.exec(`ANALYZE`)
		b.show("new", waitlist.PolicyChange{})
		b.fillLine("new", n, 1)
		b.exec(`UPDATE entries SET state = 'left' WHERE show_no = (SELECT show_no FROM shows WHERE show_id = 'new') AND eno < $1`, n/2)
		b.exec(`VACUUM`)
	})
	for _, act := range []struct {
		name string
		do   func(b *bench)
	}{
		{"an entry", func(b *bench) { b.entry("new", "new-2999") }},
		{"a join again", func(b *bench) { b.join("new", "new-2999") }},
		{"a join", func(b *bench) { b.join("new", "ada") }},
		{"leaving", func(b *bench) { must(t, b.Leave(t.Context(), "new", "new-2998")) }},
		{"a seat and its decision", func(b *bench) { b.free("new", "o", 1); b.decide() }},
		{"a verdict", func(b *bench) { b.verdict("new", "o", "new-1500") }},
		{"a claim", func(b *bench) { b.claim("new", "o", "new-1500") }},
	} {
		// 1,024 are those in a block, which a position counts.
		if rows := rowsOf(t, url, act.do); rows > 1024+200 {
			t.Errorf("%s: %d rows in a line of %d", act.name, rows, n)
		}
	}
}

// A show that grows past the threshold, and shrinks again, keeps each opening on the strategy it was recorded with: also
// its later waves, and what fans see of them.
func TestAnOpeningKeepsTheStrategyItWasRecordedWith(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.SetThreshold(3)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada", "ben", "cyd")
	b.free("s", "small", 1)
	b.join("s", "dee", "eva", "fay")
	b.free("s", "large", 1)
	b.decide()
	b.opened("s", "small", "ada")
	b.opened("s", "large", "ben")
	for _, fan := range []string{"dee", "eva", "fay"} {
		must(t, b.Leave(t.Context(), "s", fan))
	}
	for opening, fans := range map[string][]string{"small": {"ada", "cyd"}, "large": {"ben"}} {
		if opening == "small" {
			must(t, b.Decline(t.Context(), at("s", "small"), "ada"))
			b.decide()
			b.opened("s", "small", "cyd")
		}
		b.wantTold("s", opening, fans...)
		for _, fan := range fans {
			rows := len(b.strings(`SELECT kind FROM inbox JOIN fans USING (fan_no) JOIN openings o ON o.opening_no = ref
				WHERE fan_id = $1 AND opening_id = $2 AND kind = 'turn'`, fan, opening))
			if want := map[string]int{"small": 1, "large": 0}[opening]; rows != want {
				t.Errorf("%s has %d rows of a turn at %s, want %d", fan, rows, opening, want)
			}
			if items := b.inbox(fan); len(items) != 1 {
				t.Errorf("%s sees %v", fan, items)
			}
		}
	}
	for opening, want := range map[string]waitlist.Strategy{"small": waitlist.Write, "large": waitlist.Read} {
		if o, err := b.Opening(t.Context(), at("s", opening)); err != nil || o.Strategy != want {
			t.Errorf("%s is by %s, %v", opening, o.Strategy, err)
		}
	}
}
