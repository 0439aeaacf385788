package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
)

// days are the partitions of a table, by day.
func (b *bench) days(table string) []string {
	b.t.Helper()
	return b.strings(`
		SELECT right(c.relname, 8) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = $1::text::regclass AND c.relname ~ '_[0-9]{8}$' ORDER BY 1`, table)
}

func (b *bench) rowsIn(table string) (n int) {
	b.t.Helper()
	must(b.t, b.store.Pool().QueryRow(b.t.Context(), `SELECT count(*) FROM `+table).Scan(&n))
	return n
}

func TestPartitionsAreThereForTheComingDaysAndGoWhenTheirTimeIsOver(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada") // on a day that nobody made a partition for
	if n := b.rowsIn("events_default"); n != 1 {
		t.Fatalf("%d events lie in the default partition, want 1", n)
	}
	must(t, b.store.TurnPartitions(t.Context()))
	want := []string{"20310506", "20310507", "20310508", "20310509"}
	if got := b.days("events"); !slices.Equal(got, want) {
		t.Errorf("partitions %v, want %v", got, want)
	}
	if n := b.rowsIn("events_default"); n != 0 {
		t.Errorf("%d events were left in the default partition", n)
	}
	b.join("s", "ben")
	if n := b.rowsIn("events_20310506"); n != 2 {
		t.Errorf("%d events of today lie in its partition, want 2", n)
	}
	b.at(morning.AddDate(0, 0, 14))
	must(t, b.store.TurnPartitions(t.Context()))
	if n := b.rowsIn("events"); n != 2 {
		t.Errorf("%d events are kept after 14 days, want 2", n)
	}
	b.at(morning.AddDate(0, 0, 15))
	must(t, b.store.TurnPartitions(t.Context()))
	if n := b.rowsIn("events"); n != 0 {
		t.Errorf("%d events are kept after 15 days, want none", n)
	}
}

func TestAClockThatIsSetBackLosesNoRow(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	must(t, b.store.TurnPartitions(t.Context()))
	b.join("s", "ada")
	b.at(morning.AddDate(0, 0, -40))
	must(t, b.store.TurnPartitions(t.Context()))
	b.join("s", "ben")
	if n := b.rowsIn("events"); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
	b.at(morning)
	must(t, b.store.TurnPartitions(t.Context()))
	if n := b.rowsIn("events_20310506"); n < 1 {
		t.Error("today's events are gone")
	}
}

func TestManyTurnPartitionsAtOnceWhileOthersWrite(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			if err := b.store.TurnPartitions(t.Context()); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if _, _, err := b.Join(t.Context(), "s", waitlist.Join{FanID: fmt.Sprint("f", i), Party: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(b.line("s")) != 4 {
		t.Error("a join was lost")
	}
}

func TestTheEventsOfAnOlderReleaseStayInTheStream(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	must(t, store.MigrateTo(t.Context(), url, 5))
	exec(t, url, `INSERT INTO shows (show_id, name, venue, starts_at, time_zone, url, policy) VALUES ('s', 's', 'v', now(), 'UTC', '', '{}')`)
	exec(t, url, `INSERT INTO lines (show_no) VALUES (1)`)
	for _, age := range []string{"20 days", "13 days", "1 day", "0 days"} {
		exec(t, url, `INSERT INTO events (at, type, show_no, data) VALUES (now() - '`+age+`'::interval, 'opening.recorded', 1, '{"quantity":1}')`)
	}
	must(t, store.Migrate(t.Context(), url))
	b := benchOn(t, url)
	if got := b.strings(`SELECT id::text FROM events ORDER BY id`); !slices.Equal(got, []string{"2", "3", "4"}) {
		t.Errorf("events %v, want those of the last 14 days", got)
	}
	if got := b.strings(`SELECT id::text FROM stream_floor`); !slices.Equal(got, []string{"1"}) {
		t.Errorf("the stream begins after %v, want 1", got)
	}
	if n := b.rowsIn("events_default"); n != 0 {
		t.Errorf("%d rows lie in the default partition", n)
	}
	b.join("s", "ada")
	if got := b.strings(`SELECT max(id)::text FROM events`); !slices.Equal(got, []string{"5"}) {
		t.Errorf("the next event is %v, want 5", got)
	}
}

func exec(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), sql)
	must(t, err)
}
