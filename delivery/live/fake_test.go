package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fanline/notifier"
	"fanline/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// fakeClock is the database's clock, an hour ahead of this machine's: who uses the wrong one is found out.
type fakeClock struct{}

func (fakeClock) Now() time.Time { return time.Now().Add(time.Hour) }

func now() time.Time { return fakeClock{}.Now() }

// fakeFeed is a feed whose cursor is a place in a list. It returns the last few notices again each time, as a feed may.
type fakeFeed struct {
	mu       sync.Mutex
	news     []Notice
	outs     []SignOut // returned again each time
	shared   []Shared
	overlap  int
	backlog  map[int64][]Notice
	missed   map[int64][]Notice // for Replay, in order; those with an Update are turns
	moment   Moment             // its At is now's, unless set
	standing map[TurnKey]notifier.TurnState
	err      error       // of every call, while set
	asked    [][]TurnKey // the calls of Standing
	looks    int         // the calls of News
	spans    []Span      // the calls of Replay
	// failReplays is how many of them fail.
	failReplays int
	gate        chan struct{} // Backlog waits for it, unless nil
	entered     chan int64    // gets each fan of Backlog, unless nil
	calls       map[string]int
}

func newFakeFeed() *fakeFeed {
	return &fakeFeed{
		backlog: map[int64][]Notice{}, missed: map[int64][]Notice{}, moment: Moment{Database: 1, Timeline: 2}, standing: map[TurnKey]notifier.TurnState{}, overlap: 3, calls: map[string]int{},
	}
}

func (f *fakeFeed) Start(context.Context) (Cursor, Moment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Cursor(strconv.Itoa(len(f.news))), f.stands(), f.err
}

// stands is the moment; mu is held.
func (f *fakeFeed) stands() Moment {
	m := f.moment
	if m.At.IsZero() {
		m.At = now()
	}
	return m
}

func (f *fakeFeed) News(_ context.Context, after Cursor, here Here) (News, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	from, err := strconv.Atoi(string(after))
	if err = errors.Join(err, f.err); err != nil {
		return News{}, err
	}
	var found []Notice
	for _, n := range f.news[max(0, from-f.overlap):] {
		if here.Has(n.FanNo) {
			found = append(found, n)
		}
	}
	return News{
		Notices: found, Shared: f.shareWith(here), SignedOut: slices.Clone(f.outs),
		Next: Cursor(strconv.Itoa(len(f.news))), Moment: f.stands(),
	}, nil
}

func (f *fakeFeed) signOut(fan int64, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outs = append(f.outs, SignOut{fan, at})
}

// shareWith is what is shared, for those of its fans who are here. It comes again with
// every look, as it may.
func (f *fakeFeed) shareWith(here Here) (shared []Shared) {
	for _, s := range f.shared {
		of := s.Fans
		s.Fans = slices.DeleteFunc(here.All(), func(no int64) bool { return !slices.Contains(of, no) })
		shared = append(shared, s)
	}
	return shared
}

func (f *fakeFeed) Replay(_ context.Context, fanNo int64, s Span) (m Missed, err error) {
	if f.entered != nil {
		f.entered <- fanNo
	}
	if f.gate != nil {
		<-f.gate
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failReplays > 0 {
		f.failReplays--
		return m, errors.New("away")
	}
	f.calls["replay"]++
	f.spans = append(f.spans, s)
	for _, n := range f.missed[fanNo] {
		switch {
		case n.Update != nil || n.Silent || n.At.After(s.Until):
			if s.Page == nil {
				m.Turns = append(m.Turns, n)
			}
			continue
		case !n.At.After(s.Since), s.Page != nil && !(inboxKey{n.At, n.Item.ID}).after(*s.Page):
			continue
		}
		if m.Total++; m.Total <= s.Limit {
			m.Items = append(m.Items, n)
		}
	}
	return m, f.err
}

type inboxKey notifier.InboxKey

func (k inboxKey) after(o notifier.InboxKey) bool {
	return k.At.After(o.At) || k.At.Equal(o.At) && k.ID > o.ID
}

func (f *fakeFeed) Backlog(_ context.Context, fanNo int64, limit int) ([]Notice, error) {
	if f.entered != nil {
		f.entered <- fanNo
	}
	if f.gate != nil {
		<-f.gate
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls["backlog"]++
	return slices.Clone(f.backlog[fanNo]), f.err
}

func (f *fakeFeed) Standing(_ context.Context, keys []TurnKey) ([]notifier.TurnState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, keys)
	states := make([]notifier.TurnState, len(keys))
	for i, k := range keys {
		states[i] = f.standing[k]
	}
	return states, f.err
}

// FanNo reads the number in "fan-7".
func (f *fakeFeed) FanNo(_ context.Context, fanID string) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	no, err := strconv.ParseInt(strings.TrimPrefix(fanID, "fan-"), 10, 64)
	return no, errors.Join(err, f.err)
}

func (f *fakeFeed) add(ns ...Notice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.news = append(f.news, ns...)
}

func (f *fakeFeed) stand(k TurnKey, s notifier.TurnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.standing[k] = s
}

func (f *fakeFeed) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeFeed) askedFor() [][]TurnKey {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// fakeActs hands each act to a channel.
type fakeActs struct {
	did  chan string
	gate chan struct{} // an act waits for it, unless nil
}

func (a *fakeActs) do(ctx context.Context, what string) error {
	if a.gate != nil {
		select {
		case <-a.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case a.did <- what:
	default:
	}
	return nil
}

func (a *fakeActs) Connected(ctx context.Context, fan string) error {
	return a.do(ctx, "connected "+fan)
}

func (a *fakeActs) Ack(ctx context.Context, fan string, ids []string) error {
	return a.do(ctx, fmt.Sprint("ack ", fan, " ", ids))
}

func (a *fakeActs) Read(ctx context.Context, fan string, ids []string) error {
	return a.do(ctx, fmt.Sprint("read ", fan, " ", ids))
}

// fakePresence keeps what it was told.
type fakePresence struct {
	mu    sync.Mutex
	conns map[string]int64
	told  []string
}

func (p *fakePresence) Connect(fan int64, session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[session] = fan
	p.told = append(p.told, "connect "+session)
}

func (p *fakePresence) Disconnect(fan int64, session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, session)
	p.told = append(p.told, "disconnect "+session)
}

func (p *fakePresence) now() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.conns)
}

// message makes the notice of a message.
func messageFor(fan int64, id string) Notice {
	t := now()
	return Notice{FanNo: fan, At: t, Item: &notifier.Item{
		ID: "msg:" + id, Kind: notifier.KindMessage, Lane: notifier.Bulk, Title: id, CreatedAt: notifier.Stamp(t),
	}}
}

// turnFor makes the notice of a turn that opens and closes some time from now.
func turnFor(fan int64, opening int64, opens, closes time.Duration) Notice {
	at, end := now().Add(opens), now().Add(closes)
	from, to := notifier.Stamp(at), notifier.Stamp(end)
	return Notice{
		FanNo: fan, At: at, Turn: TurnKey{opening, fan}, Closes: end,
		Item: &notifier.Item{
			ID: turnID(opening), Kind: notifier.KindTurn, Lane: notifier.Turns, State: notifier.StateOpen,
			OpensAt: &from, ClosesAt: &to, CreatedAt: from,
		},
	}
}

func turnID(opening int64) string { return notifier.TurnID("s", fmt.Sprint("o", opening)) }

func updateFor(fan int64, id string, s notifier.TurnState) Notice {
	return Notice{FanNo: fan, At: now(), Update: &notifier.Update{ID: id, State: s}}
}

// pass lets time pass in a synctest bubble, where it costs none, and all that it brings about happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
