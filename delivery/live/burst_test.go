package live

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

func TestAReaderWhoStallsIsClosedWhileOthersGetABurstInOrder(t *testing.T) {
	t.Parallel()
	const others, items = 50, 500
	w := newWorld(t, func(c *HubConfig) { c.Queue = items + 100 })
	stalled := w.connectDeaf("fan=fan-0")
	w.did("connected fan-0")
	var cs []*client
	for i := range others {
		cs = append(cs, w.join(i+1))
	}
	for i := range items {
		for fan := range int64(others + 1) {
			n := messageFor(fan, fmt.Sprint(i))
			n.Item.Body = strings.Repeat("x", 300)
			w.feed.add(n)
			if fan == 0 { // and twice as many more, which nobody but a reader can take
				w.feed.add(messageFor(0, fmt.Sprint("more", i)), messageFor(0, fmt.Sprint("most", i)))
			}
		}
	}
	start := time.Now()
	w.hub.Wake()
	var wg sync.WaitGroup
	for _, c := range cs {
		wg.Go(func() {
			for i := range items {
				if f := <-c.frames; f.Item == nil || f.Item.Title != fmt.Sprint(i) {
					t.Errorf("got %+v, want item %d", f, i)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d items to each of %d fans in %v", items, others, time.Since(start))
	go stalled.pump()
	for range stalled.frames {
	}
	if code := <-stalled.code; code != 4008 && code != -1 {
		t.Errorf("closed with %d", code)
	}
	if s := w.hub.Stats(); s.SlowCloses != 1 {
		t.Errorf("stats %+v", s)
	}
	w.join(60).wantNothing()
}

func TestASlowReaderWhoStillReadsIsToldSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *HubConfig) { c.Queue = 10 })
	c := w.join(1)
	for i := range 200 {
		n := messageFor(1, fmt.Sprint(i))
		n.Item.Body = strings.Repeat("x", 10_000)
		w.feed.add(n)
	}
	w.hub.Wake()
	got := c.wantClose(4008)
	for i, f := range got {
		if f.Item.Title != fmt.Sprint(i) {
			t.Fatalf("item %d is %s", i, f.Item.Title)
		}
	}
}

func TestTheQueueIsBoundedByBytesAndByWhatAllHave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, func(c *HubConfig) {
			c.QueueBytes, c.QueueBytesAll, c.WriteTimeout = 80_000, 100_000, time.Hour
		})
		for fan := range 5 {
			w.connectDeaf(fmt.Sprint("fan=fan-", fan))
		}
		synctest.Wait()
		for fan := range int64(5) {
			for i := range 7 {
				n := messageFor(fan, fmt.Sprint(i))
				n.Item.Body = strings.Repeat("x", 10_000)
				w.feed.add(n)
			}
		}
		w.hub.Wake()
		synctest.Wait()
		// One connection may have 80,000; once all have 100,000, each may have 10,000.
		if s := w.hub.Stats(); s.SlowCloses < 3 || s.QueuedBytes > 110_000 {
			t.Errorf("stats %+v", s)
		}
		w.cutAll() // what is queued would take an hour to write
	})
}

func TestABacklogOfLongItemsIsNotSlowness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, func(c *HubConfig) { c.QueueBytes = 80_000 })
		for i := range backlogMost {
			n := messageFor(1, fmt.Sprint(i))
			n.Item.Body = strings.Repeat("x", 10_000)
			w.feed.backlog[1] = append(w.feed.backlog[1], n)
		}
		c := w.connectDeaf("fan=fan-1")
		w.did("connected fan-1")
		w.feed.add(messageFor(1, "live"))
		w.hub.Wake()
		synctest.Wait()
		go c.pump()
		c.next("hello")
		for i := range backlogMost {
			c.wantItems(fmt.Sprint("msg:", i))
		}
		c.wantItems("msg:live")
	})
}

func (w *world) cutAll() {
	w.hub.mu.Lock()
	conns := slices.Collect(maps.Keys(w.hub.conns))
	w.hub.mu.Unlock()
	for _, c := range conns {
		c.cut()
	}
}

func TestAPeerThatStallsWithinAFrameHoldsNothingForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		c := w.connectDeaf("fan=fan-1")
		go io.Copy(io.Discard, c.raw)
		w.did("connected fan-1")
		head := binary.BigEndian.AppendUint64([]byte{0x81, 0xff}, 1<<30) // a masked text of 1 GiB
		if _, err := c.raw.Write(append(head, make([]byte, 4+maxFrame+1)...)); err != nil {
			t.Fatal(err)
		}
		pass(goodbyeMost + time.Second)
		if s := w.hub.Stats(); s.Connections != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestConnectingAndLeavingAtOnceLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var wg sync.WaitGroup
	for i := range 100 {
		c := w.connect(fmt.Sprint("fan=fan-", i%5))
		wg.Go(func() {
			if i%2 == 0 {
				c.next("hello")
			}
			_ = c.ws.Close(websocket.StatusNormalClosure, "")
		})
		w.feed.add(turnFor(int64(i%5), int64(i), time.Hour, 2*time.Hour))
		w.hub.Wake()
	}
	wg.Wait()
	// The world's end checks that nothing is left.
}
