package store_test

import (
	"net/url"
	"testing"
	"time"

	"fanline/store"
	"fanline/store/storetest"
)

// morning is where a stopped clock stands at first.
var morning = time.Date(2031, 5, 6, 9, 0, 0, 0, time.UTC)

// newStopped is a bench on a database whose clock stands still until the test
// moves it, so that a rule can be tried at the very millisecond. A function of
// its own stands before Postgres's clock_timestamp(), which is all of time that
// the store reads.
func newStopped(t testing.TB) *bench {
	t.Helper()
	b := benchOn(t, stoppedURL(t, storetest.Database(t, store.Migrate)))
	b.starts = morning.Add(24 * time.Hour)
	b.exec(`CREATE SCHEMA stopped`)
	b.exec(`CREATE TABLE stopped.clock (at timestamptz NOT NULL)`)
	b.exec(`INSERT INTO stopped.clock VALUES ($1)`, morning)
	b.exec(`CREATE FUNCTION stopped.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT at FROM stopped.clock'`)
	return b
}

func stoppedURL(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", "stopped,public,pg_catalog")
	u.RawQuery = q.Encode()
	return u.String()
}

// at sets the clock of a stopped bench.
func (b *bench) at(t time.Time) { b.exec(`UPDATE stopped.clock SET at = $1`, t) }

// pass lets time pass on a stopped bench and has decided what became due.
func (b *bench) pass(d time.Duration) {
	b.t.Helper()
	b.exec(`UPDATE stopped.clock SET at = at + $1::interval`, d)
	b.decide()
}

// time is what the clock of a stopped bench shows.
func (b *bench) time() (at time.Time) {
	b.t.Helper()
	if err := b.store.Pool().QueryRow(b.t.Context(), `SELECT clock_timestamp()`).Scan(&at); err != nil {
		b.t.Fatal(err)
	}
	return at.UTC()
}
