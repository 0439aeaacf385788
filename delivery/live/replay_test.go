package live

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fanline/notifier"
)

// missedFor is a message that came some time ago.
func missedFor(fan int64, id string, ago time.Duration) Notice {
	n := messageFor(fan, id)
	n.At = now().Add(-ago)
	n.Item.CreatedAt = notifier.Stamp(n.At)
	return n
}

// miss lets a fan miss n messages, 000 to n-1, of the last minutes.
func (f *fakeFeed) miss(fan int64, n int) (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range n {
		m := missedFor(fan, fmt.Sprintf("%04d", i), time.Hour-time.Duration(i)*time.Second)
		f.missed[fan] = append(f.missed[fan], m)
		ids = append(ids, m.Item.ID)
	}
	return ids
}

// cursorAgo is a cursor of some time ago.
func (w *world) cursorAgo(ago time.Duration, change ...func(*fanCursor)) string {
	c := fanCursor{moment: Moment{Database: 1, Timeline: 2, At: now().Add(-ago)}}
	for _, f := range change {
		f(&c)
	}
	return c.encode()
}

// resume connects a fan with a cursor and returns whether hello says reset.
func (w *world) resume(fan int, after string) (c *client, reset bool) {
	w.t.Helper()
	c = w.connect(fmt.Sprintf("fan=fan-%d&after=%s", fan, after))
	hello := c.next("hello")
	return c, *hello.Reset
}

func parsed(t *testing.T, cursor string) fanCursor {
	t.Helper()
	c, err := parseCursor(cursor)
	if err != nil {
		t.Fatalf("cursor %q: %v", cursor, err)
	}
	return c
}

func TestWhatWasMissedIsReadInPagesAndFollowedByWhatIsNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ids := w.feed.miss(1, 2*replayPage+50)
	c, reset := w.resume(1, w.cursorAgo(2*time.Hour))
	w.did("connected fan-1")
	w.feed.add(messageFor(1, "live"))
	w.hub.Wake()
	c.wantItems(append(ids, "msg:live")...)
	if reset || w.feed.calls["replay"] != 3 || w.feed.calls["backlog"] != 0 {
		t.Errorf("reset %t, calls %v", reset, w.feed.calls)
	}
	c.cursor()
}

func TestOnlyWhatTheCursorDoesNotNameIsReplayed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, id := range []string{"a", "b", "c"} {
		w.feed.missed[1] = append(w.feed.missed[1], missedFor(1, id, 500*time.Millisecond))
	}
	c, _ := w.resume(1, w.cursorAgo(0, func(c *fanCursor) { c.hashes = []uint64{hash("msg:a", ""), hash("msg:c", "")} }))
	c.wantItems("msg:b")
	next := parsed(t, c.cursor())
	for _, id := range []string{"msg:a", "msg:b", "msg:c"} {
		if !next.has(hash(id, "")) {
			t.Errorf("the next cursor does not name %s", id)
		}
	}
	w.feed.add(w.feed.missed[1]...) // a look finds them again
	w.hub.Wake()
	c.wantNothing()
}

func TestACursorThatCannotBeUsedStartsAnewWithReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.feed.backlog[1] = []Notice{messageFor(1, "a")}
	for name, after := range map[string]string{
		"malformed":        "yesterday",
		"oversized":        strings.Repeat("A", 8000),
		"another database": w.cursorAgo(time.Minute, func(c *fanCursor) { c.moment.Database = 9 }),
		"a later timeline": w.cursorAgo(time.Minute, func(c *fanCursor) { c.moment.Timeline = 3 }),
		"too old":          w.cursorAgo(keptFor),
		"a time to come":   w.cursorAgo(-time.Minute),
	} {
		t.Run(name, func(t *testing.T) {
			c, reset := w.resume(1, after)
			if !reset {
				t.Error("no reset")
			}
			c.wantItems("msg:a")
			c.cursor()
		})
	}
	w.feed.miss(2, replayMost+1)
	w.feed.backlog[2] = []Notice{messageFor(2, "a")}
	c, reset := w.resume(2, w.cursorAgo(2*time.Hour))
	if !reset {
		t.Error("no reset for more than is replayed")
	}
	c.wantItems("msg:a")
}

func TestAnEarlierTimelineGoesBackAMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	cursor := w.cursorAgo(time.Hour, func(c *fanCursor) { c.moment.Timeline = 1 })
	c, reset := w.resume(1, cursor)
	next := parsed(t, c.cursor())
	at := parsed(t, cursor).moment.At
	if back := at.Sub(w.feed.spans[0].Since); reset || back != time.Minute || next.moment.Timeline != 2 {
		t.Errorf("reset %t, read from %v before, next cursor %+v", reset, back, next)
	}
}

func TestHelloComesFirstHoweverLongTheReplayTakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.feed.gate, w.feed.entered = make(chan struct{}), make(chan int64, 1)
	c := w.connect("fan=fan-1&after=" + w.cursorAgo(time.Minute))
	<-w.feed.entered
	c.send(`{"type":"ping"}`)
	c.send(`{"type":"ping"}`)
	close(w.feed.gate)
	c.next("hello")
	c.next("pong")
	c.next("pong")
}

func TestAFailedReplayIsTriedAgainAndThenClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		w.feed.miss(1, 3)
		w.feed.failReplays = joinTries - 1
		c, reset := w.resume(1, w.cursorAgo(2*time.Hour))
		if reset {
			t.Error("a failure is no reset")
		}
		c.wantItems("msg:0000", "msg:0001", "msg:0002")
		w.feed.failReplays = joinTries
		w.connect("fan=fan-1&after=" + w.cursorAgo(2*time.Hour)).wantClose(1011)
	})
}

func TestReplayGoesOverToLiveWithoutAGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	const each, fans = 200, 8
	var wg sync.WaitGroup
	for fan := range fans {
		var cs []*client
		for range 3 {
			c, _ := w.resume(fan, w.cursorAgo(time.Hour))
			cs = append(cs, c)
		}
		wg.Go(func() {
			for i := range each {
				n := messageFor(int64(fan), fmt.Sprintf("%04d", i))
				w.feed.mu.Lock() // visible to replay and look at once, as a commit is
				w.feed.missed[int64(fan)] = append(w.feed.missed[int64(fan)], n)
				w.feed.news = append(w.feed.news, n)
				w.feed.mu.Unlock()
				w.hub.Wake()
			}
		})
		late, _ := w.resume(fan, w.cursorAgo(time.Hour)) // in the middle of it
		for _, c := range append(cs, late) {
			wg.Go(func() {
				for i := range each {
					select {
					case f := <-c.frames:
						if f.Item == nil || f.Item.Title != fmt.Sprintf("%04d", i) {
							t.Errorf("fan %d: got %s %+v, want item %d", fan, f.Type, f.Item, i)
							return
						}
					case <-time.After(20 * time.Second):
						t.Errorf("fan %d: no item %d", fan, i)
						return
					}
				}
			})
		}
	}
	wg.Wait()
}

func TestTurnsThatChangedAreUpdatedAfterWhatWasMissed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	changed := Notice{FanNo: 1, At: now().Add(-2 * time.Hour), Update: &notifier.Update{ID: turnID(1), State: notifier.StateOver}}
	told := Notice{FanNo: 1, At: now().Add(-2 * time.Hour), Update: &notifier.Update{ID: turnID(2), State: notifier.StateOver}}
	open := turnFor(1, 3, -2*time.Hour, time.Hour)
	open.Silent = true
	w.feed.missed[1] = []Notice{changed, told, open, missedFor(1, "a", time.Minute)}
	c, _ := w.resume(1, w.cursorAgo(time.Hour, func(c *fanCursor) { c.hashes = []uint64{hash(turnID(2), notifier.StateOver)} }))
	c.wantItems("msg:a")
	if f := c.next("update"); f.ID != turnID(1) || f.State != notifier.StateOver {
		t.Errorf("update %+v", f)
	}
	if next := parsed(t, c.cursor()); !next.has(hash(turnID(1), notifier.StateOver)) || !next.has(hash(turnID(2), notifier.StateOver)) {
		t.Errorf("the next cursor %+v does not name the updates", next)
	}
	w.did("connected fan-1")
	w.feed.add(updateFor(1, turnID(1), notifier.StateOver), updateFor(1, turnID(2), notifier.StateOver),
		updateFor(1, turnID(3), notifier.StateClaimed))
	w.hub.Wake()
	if f := c.next("update"); f.ID != turnID(3) || f.State != notifier.StateClaimed {
		t.Errorf("update %+v", f)
	}
	c.wantNothing()
}

func TestATurnToComeIsPushedAfterAReplay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		w.feed.missed[1] = []Notice{turnFor(1, 7, 2*time.Second, time.Hour)}
		w.feed.stand(TurnKey{7, 1}, notifier.StateOpen)
		opens := now().Add(2 * time.Second)
		c, _ := w.resume(1, w.cursorAgo(time.Minute))
		if f := c.next("item"); f.Item.ID != turnID(7) || f.at.Before(opens) {
			t.Errorf("item %+v at %v, opens %v", f.Item, f.at, opens)
		}
	})
}

func TestASlowReaderIsReadForPageByPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, func(c *HubConfig) { c.WriteTimeout = time.Hour })
		w.feed.miss(1, 3*replayPage)
		c := w.connectDeaf("fan=fan-1&after=" + w.cursorAgo(2*time.Hour))
		pass(10 * time.Second)
		if n := w.feed.calls["replay"]; n != 1 {
			t.Errorf("%d pages were read for a client who reads nothing", n)
		}
		go c.pump()
		c.next("hello")
		for i := range 3 * replayPage {
			c.wantItems(fmt.Sprintf("msg:%04d", i))
		}
		c.cursor()
	})
}

func TestABurstOfConnectionsIsRefusedBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, func(c *HubConfig) { c.MaxJoining = 10 })
		admitted := 0
		var wg sync.WaitGroup
		var mu sync.Mutex
		for range 20_000 {
			wg.Go(func() {
				if !w.hub.Full() {
					mu.Lock()
					defer mu.Unlock()
					admitted++
				}
			})
		}
		wg.Wait()
		if admitted != 10 {
			t.Errorf("%d of 20,000 may come at once", admitted)
		}
		pass(expectFor + time.Millisecond) // none of them did
		w.feed.gate = make(chan struct{})
		for fan := range 10 {
			if w.hub.Full() {
				t.Fatalf("full after %d", fan)
			}
			w.connect(fmt.Sprint("fan=fan-", fan))
		}
		synctest.Wait()
		if !w.hub.Full() {
			t.Error("not full while all of them catch up")
		}
		close(w.feed.gate)
		synctest.Wait()
		if w.hub.Full() {
			t.Error("full when all have caught up")
		}
	})
}
