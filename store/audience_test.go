package store_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"fanline/notifier"
	"fanline/store"
	"fanline/waitlist"
)

// meter passes connections on to a Postgres and counts the bytes of its answers.
type meter struct {
	url string
	got atomic.Int64
}

// metered is a meter before the Postgres at rawURL. It ends with the test, after what has it as its database.
func metered(t *testing.T, rawURL string) *meter {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(rawURL)
	must(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	u := url.URL{Scheme: "postgres", User: url.User(cfg.ConnConfig.User), Host: ln.Addr().String(), Path: "/" + cfg.ConnConfig.Database, RawQuery: "sslmode=disable"}
	m := &meter{url: u.String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { m.pass(t, in, rawURL) })
		}
	})
	t.Cleanup(func() { _ = ln.Close(); wg.Wait() })
	return m
}

func (m *meter) pass(t *testing.T, in net.Conn, rawURL string) {
	defer in.Close()
	cfg, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		t.Error(err)
		return
	}
	network, address := pgconn.NetworkAddress(cfg.ConnConfig.Host, cfg.ConnConfig.Port)
	out, err := net.Dial(network, address)
	if err != nil {
		t.Error(err)
		return
	}
	defer out.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(in, io.TeeReader(out, m))
		_ = in.Close()
	})
	_, _ = io.Copy(out, in)
	_ = out.Close()
	back.Wait()
}

func (m *meter) Write(b []byte) (int, error) {
	m.got.Add(int64(len(b)))
	return len(b), nil
}

// An audience is read by the database, or a chunk at a time: this process never has all of it, and what it gets for a long
// line is what it gets for a short one.
func TestWhatIsDoneForAnAudienceDoesNotReadItIntoTheProcess(t *testing.T) {
	t.Parallel()
	m := metered(t, aLineOfEach(t))
	b := &bench{t: t, nudged: make(chan int32, 10_000), starts: time.Now().Add(24 * time.Hour)}
	var err error
	b.store, err = store.Open(t.Context(), store.Config{URL: m.url})
	must(t, err)
	defer b.store.Close()
	b.Service = waitlist.NewService(b.store, b, func(...int64) {})
	defer b.Close()
	b.exec(`INSERT INTO devices (fan_no, device_id, platform, token, environment, registered_at)
		SELECT fan_no, 'phone', 'apns', 'aa' || to_char(fan_no, 'FM00000000'), 'production', now() FROM fans`)
	blast := func(show string) {
		var no int64
		must(t, b.store.Pool().QueryRow(t.Context(), `SELECT announcement_no FROM announcements JOIN shows USING (show_no)
			WHERE show_id = $1 ORDER BY announcement_no DESC LIMIT 1`, show).Scan(&no))
		must(t, b.store.StartBlasts(t.Context(), no, []notifier.Channel{notifier.APNs}))
		must(t, b.store.NextChunk(t.Context(), notifier.BlastArgs{Announcement: no, Channel: notifier.APNs}))
	}
	for _, strategy := range []waitlist.Strategy{waitlist.Read, waitlist.Write} {
		name := string(strategy)
		for _, act := range []struct {
			name string
			do   func(show string)
		}{
			{"the policy", func(show string) { b.show(show, waitlist.PolicyChange{Strategy: waitlist.Some(strategy)}) }},
			{"an announcement", func(show string) { b.announce(show, name) }},
			{"the beginning of its blast", blast},
			{"five seats and their decision", func(show string) { b.free(show, name+"-"+show, 5); b.decide() }},
		} {
			var bytes [2]int64
			for i, s := range sizes {
				before := m.got.Load()
				act.do(s.show)
				bytes[i] = m.got.Load() - before
			}
			// A tenth of the longer line waits: their numbers alone would be 120 KB, as rows.
			if bytes[1] > bytes[0]+32<<10 {
				t.Errorf("%s, %s: %d bytes are read for a line of %d, %d for one of %d",
					strategy, act.name, bytes[0], sizes[0].fans, bytes[1], sizes[1].fans)
			}
		}
	}
}
