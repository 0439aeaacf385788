package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/jackc/pgx/v5"

	"fanline/delivery/live"
	"fanline/sim"
	"fanline/waitlist"
)

// stream is a hub over the real feed, behind a real address. A test may have
// several on one database, each an instance.
type stream struct {
	b   *bench
	hub *live.Hub
	url string
}

func (b *bench) stream() *stream {
	b.t.Helper()
	s := &stream{b: b}
	var err error
	s.hub, err = live.NewHub(live.HubConfig{
		Feed: b.store.Feed(), Lines: b.store.Lines(), Clock: askingClock{b}, Acts: idle{}, Log: slog.New(slog.DiscardHandler),
		Verify:    func(context.Context, string) (string, time.Time, error) { return "", time.Time{}, nil },
		LookEvery: 50 * time.Millisecond,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := s.hub.Start(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	server := httptest.NewServer(s)
	s.url = server.URL
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.hub.Stop(ctx); err != nil {
			b.t.Error(err)
		}
		server.Close()
	})
	return s
}

// ServeHTTP takes the token for the fan's id.
func (s *stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	s.hub.Serve(r.Context(), ws, live.Session{
		FanID: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), After: r.URL.Query().Get("after"),
	})
}

// askingClock asks the database each time: a test may move its clock.
type askingClock struct{ b *bench }

func (c askingClock) Now() (now time.Time) {
	_ = c.b.store.Pool().QueryRow(context.Background(), `SELECT clock_timestamp()`).Scan(&now)
	return now.UTC()
}

type idle struct{}

func (idle) Connected(context.Context, string) error      { return nil }
func (idle) Ack(context.Context, string, []string) error  { return nil }
func (idle) Read(context.Context, string, []string) error { return nil }

// fan connects a fan and waits for the first cursor: what the fan missed is there.
func (s *stream) fan(id, after string) *sim.Fan {
	s.b.t.Helper()
	f, err := sim.Connect(s.b.t.Context(), sim.FanConfig{BaseURLs: []string{s.url}, Token: id, After: after})
	if err != nil {
		s.b.t.Fatal(err)
	}
	s.b.t.Cleanup(f.Close)
	s.cursor(f, 0)
	return f
}

// looked returns when the hub has seen all that is committed by now.
func (s *stream) looked() {
	for from := s.hub.Stats().Looks; s.hub.Stats().Looks < from+3; {
		s.hub.Wake()
		runtime.Gosched()
	}
}

// cursor waits for a cursor behind n items, and returns it.
func (s *stream) cursor(f *sim.Fan, n int) string {
	s.b.t.Helper()
	items := 0
	frame, err := f.WaitFrame(s.b.t.Context(), func(fr sim.Frame) bool {
		if fr.Item != nil {
			items++
		}
		return fr.Type == "cursor" && items >= n
	})
	if err != nil {
		s.b.t.Fatalf("a cursor behind %d items: %v; got %v", n, err, ids(f))
	}
	return frame.Cursor
}

// ids are the items that came, doubles and all.
func ids(f *sim.Fan) (got []string) {
	for _, fr := range f.Frames() {
		if fr.Item != nil {
			got = append(got, fr.Item.ID)
		}
	}
	return got
}

func wantIDs(t *testing.T, f *sim.Fan, want ...string) {
	t.Helper()
	got := ids(f)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("got %d items, want %d; from the %d. on got %v, want %v", len(got), len(want), i+1,
				got[min(i, len(got)):min(i+5, len(got))], want[min(i, len(want)):min(i+5, len(want))])
			return
		}
	}
}

// updates are the updates that came, as "id state".
func updates(f *sim.Fan) (got []string) {
	for _, fr := range f.Frames() {
		if fr.Type == "update" {
			got = append(got, fr.ID+" "+fr.State)
		}
	}
	return got
}

func resets(f *sim.Fan) bool {
	for _, fr := range f.Frames() {
		if fr.Type == "hello" {
			return fr.Reset
		}
	}
	return false
}

// results gives a fan the results from and to in a transaction, as a claim's end
// does: for it the opening, the row and one event, all of now.
func (b *bench) results(tx pgx.Tx, show, fan string, from, to int) {
	b.t.Helper()
	for _, sql := range []string{
		`INSERT INTO openings (show_no, opening_id, fingerprint, tier, reason, adjacent, mode, strategy, fans_per_seat, window_s,
			hold_s, state, quantity, free, confirmed, recorded_at, final_at, handed_back)
		SELECT s.show_no, 'r' || lpad(i::text, 4, '0'), '{}', '', 'returned', false, 'turns', 'write', 1000, 600, 600, 'exhausted',
			1, 0, 1, now(), now(), true
		FROM shows s, generate_series($3::int, $4) i WHERE s.show_id = $1 AND $2 <> ''`,
		`INSERT INTO inbox (fan_no, kind, ref, visible_at, show_no, eno, seats, state)
		SELECT f.fan_no, 'result', o.opening_no, date_trunc('milliseconds', clock_timestamp()), s.show_no, e.eno, 1, 'confirmed'
		FROM shows s JOIN fans f ON f.fan_id = $2 JOIN entries e ON e.show_no = s.show_no AND e.fan_no = f.fan_no
		JOIN openings o ON o.show_no = s.show_no AND o.opening_id BETWEEN 'r' || lpad($3::int::text, 4, '0') AND 'r' || lpad($4::int::text, 4, '0')
		WHERE s.show_id = $1`,
		`INSERT INTO events (at, type, show_no, fan_no, live)
		SELECT clock_timestamp(), 'claim.confirmed', s.show_no, f.fan_no, $3 <= $4::int
		FROM shows s, fans f WHERE s.show_id = $1 AND f.fan_id = $2 AND $3::int >= 0`,
	} {
		if _, err := tx.Exec(b.t.Context(), sql, show, fan, from, to); err != nil {
			b.t.Fatalf("%s: %v", sql, err)
		}
	}
}

func (b *bench) begin() pgx.Tx {
	b.t.Helper()
	tx, err := b.store.Pool().Begin(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

func (b *bench) commit(tx pgx.Tx) {
	b.t.Helper()
	if err := tx.Commit(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// happen is results in a transaction of its own for each.
func (b *bench) happen(show, fan string, numbers ...int) {
	b.t.Helper()
	for _, n := range numbers {
		tx := b.begin()
		b.results(tx, show, fan, n, n)
		b.commit(tx)
	}
}

// result is the id of the n-th.
func result(n int) string { return fmt.Sprintf("result:s:r%04d", n) }

func someResults(from, to int) (list []string) {
	for n := from; n <= to; n++ {
		list = append(list, result(n))
	}
	return list
}

// newLine is a bench with a show "s" where ada waits.
func newLine(t *testing.T) *bench {
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada")
	return b
}

// shift puts a clock of its own before Postgres's, which the test may move on.
func (b *bench) shift() {
	b.exec(`CREATE SCHEMA IF NOT EXISTS shifted`)
	b.exec(`CREATE TABLE shifted.clock (ahead interval NOT NULL)`)
	b.exec(`INSERT INTO shifted.clock VALUES ('0')`)
	b.exec(`CREATE FUNCTION shifted.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
		AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM shifted.clock'`)
}
