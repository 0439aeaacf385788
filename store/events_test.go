package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// reader follows the stream as a caller does.
type reader struct {
	b     *bench
	query notifier.StreamQuery
}

func (b *bench) reader(limit int, types ...notifier.EventType) *reader {
	return &reader{b, notifier.StreamQuery{Limit: limit, Types: types}}
}

// settled waits until nothing that began before holds back what was committed:
// transactions of other tests do, since databases of one server share their numbers.
func (b *bench) settled() {
	b.t.Helper()
	for over := false; !over; {
		must(b.t, b.store.Pool().QueryRow(b.t.Context(), `
			SELECT coalesce(max(xid) < pg_snapshot_xmin(pg_current_snapshot()), true) FROM events`).Scan(&over))
	}
}

// page reads the next page, of all that was committed.
func (r *reader) page() []notifier.StreamEvent {
	r.b.t.Helper()
	r.b.settled()
	return r.look()
}

// look reads the next page.
func (r *reader) look() []notifier.StreamEvent {
	r.b.t.Helper()
	page, err := r.b.store.Stream(r.b.t.Context(), r.query)
	must(r.b.t, err)
	r.query.After = page.Next
	return page.Events
}

// rest reads to the end, as "type fan" words.
func (r *reader) rest() (words []string) {
	r.b.t.Helper()
	for {
		before := r.query.After
		for _, e := range r.page() {
			w := string(e.Type)
			if e.FanID != "" {
				w += " " + e.FanID
			}
			words = append(words, w)
		}
		if r.query.After == before {
			return words
		}
	}
}

func (r *reader) want(want ...string) {
	r.b.t.Helper()
	if got := r.rest(); !slices.Equal(got, want) {
		r.b.t.Errorf("stream %q, want %q", got, want)
	}
}

func TestTheStreamTellsWhatHappenedInOrder(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	r := b.reader(100)
	b.join("s", "ada", "ben")
	b.free("s", "o", 2)
	b.decide()
	b.pass(time.Second)
	b.buy("s", "o", "ada")
	must(t, b.Decline(t.Context(), at("s", "o"), "ben"))
	r.want("entry.joined ada", "entry.joined ben", "opening.recorded", "opening.wave",
		"claim.held ada", "claim.confirmed ada", "turn.declined ben")
	r.want()
}

func TestARowAboutSeveralFansIsAnEventEachAcrossPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	var joins []waitlist.Join
	var want []string
	for i := range 10 {
		joins = append(joins, waitlist.Join{FanID: fmt.Sprint("f", i), Party: 1})
		want = append(want, fmt.Sprint("entry.joined f", i))
	}
	_, err := b.JoinMany(t.Context(), "s", joins)
	must(t, err)
	if n := b.rowsIn("events"); n != 1 {
		t.Fatalf("%d rows", n)
	}
	b.reader(3).want(want...)
	r := b.reader(100)
	all := r.page()
	for i, e := range all { // each id is where the stream goes on
		from := b.reader(100)
		from.query.After = e.ID
		from.want(want[i+1:]...)
	}
}

func TestAReaderNeverMissesATransactionThatCommitsLate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.reader(100)
	insert := func(tx pgx.Tx, n int) {
		t.Helper()
		_, err := tx.Exec(t.Context(), `INSERT INTO events (at, type, data) VALUES (clock_timestamp(), 'fan.erased', jsonb_build_object('n', $1::int))`, n)
		must(t, err)
	}
	first, err := b.store.Pool().Begin(t.Context())
	must(t, err)
	defer func() { _ = first.Rollback(context.Background()) }()
	insert(first, 1)
	must(t, pgx.BeginFunc(t.Context(), b.store.Pool(), func(tx pgx.Tx) error { insert(tx, 2); return nil }))
	if got := r.look(); len(got) > 0 { // what committed waits for what began before it
		t.Errorf("read past a transaction in progress: %+v", got)
	}
	must(t, first.Commit(t.Context()))
	got := r.page()
	if len(got) != 2 || string(got[0].Data) != `{"n": 1}` || string(got[1].Data) != `{"n": 2}` {
		t.Errorf("%+v", got)
	}
}

func TestConcurrentWritersAreReadOnceEachInTheirOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const writers, each = 8, 40
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 7))
			for i := range each {
				err := pgx.BeginFunc(context.Background(), b.store.Pool(), func(tx pgx.Tx) error {
					for range 1 + rnd.IntN(3) {
						if _, err := tx.Exec(context.Background(), `
							INSERT INTO events (at, type, data) VALUES (clock_timestamp(), 'fan.erased', jsonb_build_object('w', $1::int, 'i', $2::int))`, w, i); err != nil {
							return err
						}
					}
					_, err := tx.Exec(context.Background(), `SELECT pg_sleep($1)`, float64(rnd.IntN(4))/1000)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	var ids []string
	r := b.reader(7)
	for over := false; ; {
		page := r.look()
		for _, e := range page {
			ids = append(ids, e.ID)
		}
		if len(page) > 0 {
			continue
		}
		if over {
			break
		}
		select {
		case <-done:
			b.settled()
			over = true
		default:
		}
	}
	want := b.strings(`SELECT 'evt_' || to_hex(xid::text::bigint) || '.' || to_hex(id) || '.0' FROM events ORDER BY xid, id`)
	if !slices.Equal(ids, want) {
		t.Errorf("%d events were read, %d were written; want the same in order of transactions", len(ids), len(want))
	}
}

func TestTheStreamShowsItsOwnTypesAlone(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	r, joins := b.reader(100), b.reader(1, notifier.EntryJoined)
	b.join("s", "ada")
	b.send(bulk("ada", "news"))
	must(t, b.store.SignOut(t.Context(), 1))
	_, _, err := b.store.Announce(t.Context(), "s", waitlist.NewAnnouncement{Title: "t", Body: "b"})
	must(t, err)
	b.join("s", "ben")
	r.want("entry.joined ada", "entry.joined ben")
	joins.want("entry.joined ada", "entry.joined ben")
}

func TestAnErasedFanIsANumberInTheStream(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada")
	must(t, b.EraseFan(t.Context(), "ada"))
	for _, e := range b.reader(100).page() {
		if e.FanID != "" || e.Fan == 0 {
			t.Errorf("%+v", e)
		}
	}
}

func TestAPlaceThatIsNotOfTheStreamIsRefused(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	must(t, b.store.TurnPartitions(t.Context()))
	b.join("s", "ada")
	old := b.reader(100).page()[0].ID
	for _, after := range []string{"x", "evt_1.2", "evt_g.1.0", "evt_01.1.0", "evt_fffffffffff.1.0", old + "0000000000"} {
		_, err := b.store.Stream(t.Context(), notifier.StreamQuery{After: after, Limit: 10})
		refused(t, after, err, waitlist.Invalid)
	}
	// A place that lies between those of this database is another's.
	at, err := strconv.ParseInt(strings.Split(old, ".")[1], 16, 64)
	must(t, err)
	other := fmt.Sprintf("%s.%x.0", strings.Split(old, ".")[0], at+1)
	_, err = b.store.Stream(t.Context(), notifier.StreamQuery{After: other, Limit: 10})
	refused(t, other, err, waitlist.Invalid)
	b.at(morning.AddDate(0, 0, 10))
	must(t, b.store.TurnPartitions(t.Context()))
	b.join("s", "ben")
	kept := b.reader(100).page()[1].ID
	b.at(morning.AddDate(0, 0, 15))
	must(t, b.store.TurnPartitions(t.Context()))
	_, err = b.store.Stream(t.Context(), notifier.StreamQuery{After: "evt_1.1.0", Limit: 10})
	refused(t, "a place older than what is kept", err, waitlist.Closed)
	_, err = b.store.Stream(t.Context(), notifier.StreamQuery{After: kept, Limit: 10})
	must(t, err)
	b.reader(100).want("entry.joined ben")
}

func TestTheStreamIsToldOfTurnsThatOpenedAndLapsed(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, st waitlist.Strategy) {
		b := newStopped(t)
		b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(st), ReleasePerS: waitlist.Some(waitlist.Milli(2000)), ClaimWindowS: waitlist.Some(60)})
		b.join("s", "ada", "ben", "cyd")
		r := b.reader(100, notifier.TurnOpened, notifier.TurnLapsed)
		b.free("s", "o", 3)
		b.decide()
		must(t, b.store.TellOpened(t.Context()))
		must(t, b.Leave(t.Context(), "s", "cyd")) // before the turn opens
		for range 3 {
			b.pass(500 * ms)
			must(t, b.store.TellOpened(t.Context()))
		}
		want := []string{"turn.opened ada", "turn.opened ben"}
		if st == waitlist.Read {
			want = []string{"turn.opened"}
		}
		r.want(want...)
		must(t, b.Decline(t.Context(), at("s", "o"), "ben"))
		b.pass(2 * time.Minute)
		must(t, b.store.TellOpened(t.Context()))
		r.want("turn.lapsed ada")
	})
}
