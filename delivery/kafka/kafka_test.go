package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"fanline/notifier"
)

// fakeStore is a stream of events 1, 2 and so on.
type fakeStore struct {
	mu           sync.Mutex
	events       int
	after, owner string
	advance      error
	withFans     bool
	moved        chan struct{} // gets a word at each Advance
}

func newStore(events int) *fakeStore {
	return &fakeStore{events: events, moved: make(chan struct{}, 1000)}
}

func (f *fakeStore) AddFollower(context.Context, string) error { return nil }

func (f *fakeStore) LeaseFollower(_ context.Context, _, owner string, _ time.Duration) (string, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owner != "" && f.owner != owner {
		return "", false, nil
	}
	f.owner = owner
	return f.after, true, nil
}

func (f *fakeStore) Advance(_ context.Context, _, owner, after string, _ time.Duration) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { f.moved <- struct{}{} }()
	if f.advance != nil || f.owner != owner {
		return false, f.advance
	}
	f.after = after
	return true, nil
}

func (f *fakeStore) ReleaseFollower(context.Context, string, string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.owner = ""
	return nil
}

func (f *fakeStore) Stream(_ context.Context, q notifier.StreamQuery) (p notifier.StreamPage, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.withFans = f.withFans || !q.WithoutFanID
	n, _ := strconv.Atoi(q.After)
	p.Next = q.After
	for n < f.events && len(p.Events) < min(q.Limit, 50) {
		n++
		p.Events = append(p.Events, notifier.StreamEvent{ID: strconv.Itoa(n), Type: notifier.ClaimHeld, Fan: int64(n%7) + 1, Data: []byte("{}")})
		p.Next = strconv.Itoa(n)
	}
	return p, nil
}

func (f *fakeStore) StreamHead(context.Context) (string, error) { return "", nil }

func (f *fakeStore) setAdvance(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance = err
}

// reached waits until the export is at a place.
func (f *fakeStore) reached(t *testing.T, place int) {
	t.Helper()
	for {
		f.mu.Lock()
		after := f.after
		f.mu.Unlock()
		if after == strconv.Itoa(place) {
			return
		}
		select {
		case <-f.moved:
		case <-time.After(time.Minute):
			t.Fatalf("the export is at %s, want %d", after, place)
		}
	}
}

func start(t *testing.T, f *fakeStore, brokers []string) *Exporter {
	t.Helper()
	return startLogging(t, f, brokers, slog.New(slog.DiscardHandler))
}

func startLogging(t *testing.T, f *fakeStore, brokers []string, log *slog.Logger) *Exporter {
	t.Helper()
	e, err := New(Config{Brokers: brokers, Topic: "fanline", Store: f, Grew: func() <-chan struct{} { return nil }, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	e.Start()
	t.Cleanup(e.Stop)
	return e
}

func cluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1), kfake.SeedTopics(3, "fanline"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// read returns the ids by key of the first n records.
func read(t *testing.T, brokers []string, n int) map[string][]int {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics("fanline"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := map[string][]int{}
	for n > 0 {
		f := c.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("%d records are missing", n)
		}
		f.EachRecord(func(r *kgo.Record) {
			var ev notifier.StreamEvent
			if err := json.Unmarshal(r.Value, &ev); err != nil || string(r.Key) != fmt.Sprint(ev.Fan) {
				t.Errorf("record %s of key %s: %v", r.Value, r.Key, err)
			}
			id, _ := strconv.Atoi(ev.ID)
			got[string(r.Key)] = append(got[string(r.Key)], id)
			n--
		})
	}
	return got
}

// wantAll checks that each key has all its events, in their order when doubles are
// left out.
func wantAll(t *testing.T, got map[string][]int, events int) {
	t.Helper()
	n := 0
	for key, ids := range got {
		var once []int
		for _, id := range ids {
			if !slices.Contains(once, id) {
				once = append(once, id)
			}
		}
		if !slices.IsSorted(once) {
			t.Errorf("events of fan %s: %v", key, ids)
		}
		n += len(once)
	}
	if n != events {
		t.Errorf("%d events, want %d", n, events)
	}
}

func TestEveryEventIsExportedInOrderOfItsFan(t *testing.T) {
	t.Parallel()
	f, c := newStore(300), cluster(t)
	start(t, f, c.ListenAddrs())
	start(t, f, c.ListenAddrs()) // one of them does it
	f.reached(t, 300)
	wantAll(t, read(t, c.ListenAddrs(), 300), 300)
	if f.withFans {
		t.Error("the stream was read with the fans' ids")
	}
}

func TestWhatWasWrittenAndNotRecordedIsWrittenAgain(t *testing.T) {
	t.Parallel()
	f, c := newStore(120), cluster(t)
	f.setAdvance(errors.New("the database is away"))
	first := start(t, f, c.ListenAddrs())
	<-f.moved
	first.Stop() // cut between the write and the record
	f.setAdvance(nil)
	start(t, f, c.ListenAddrs())
	f.reached(t, 120)
	wantAll(t, read(t, c.ListenAddrs(), 170), 120) // the first page twice
}

func TestNothingIsMissedWhenTheBrokersWereAway(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	addrs := c.ListenAddrs()
	f := newStore(60)
	c.Close()
	fault := make(lines, 1)
	e := startLogging(t, f, addrs, slog.New(slog.NewTextHandler(fault, &slog.HandlerOptions{Level: slog.LevelError})))
	<-fault
	if e.Failed() == 0 {
		t.Error("another fault than that of a page")
	}
	if f.placed() != "" {
		t.Fatal("the place moved without brokers")
	}
	_, port, _ := net.SplitHostPort(addrs[0])
	n, _ := strconv.Atoi(port)
	again := cluster(t, kfake.Ports(n))
	f.reached(t, 60)
	wantAll(t, read(t, again.ListenAddrs(), 60), 60)
}

// lines says that something was logged.
type lines chan struct{}

func (l lines) Write(line []byte) (int, error) {
	select {
	case l <- struct{}{}:
	default:
	}
	return len(line), nil
}

func (f *fakeStore) placed() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.after
}
