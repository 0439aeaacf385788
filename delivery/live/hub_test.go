package live

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"fanline/notifier"
)

func TestHelloThenTheBacklogThenWhatIsNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.feed.backlog[1] = []Notice{messageFor(1, "a"), messageFor(1, "b"), messageFor(1, "c")}
	c := w.connect("fan=fan-1")
	hello := c.next("hello")
	if hello.Session == "" || hello.HeartbeatS != 25 || hello.Reset == nil || *hello.Reset {
		t.Errorf("hello %+v", hello)
	}
	said, err := time.Parse("2006-01-02T15:04:05.000Z", hello.Now)
	if d := now().Sub(said); err != nil || d < 0 || d > time.Minute {
		t.Errorf("hello says it is %s: not the database's clock", hello.Now)
	}
	c.wantItems("msg:a", "msg:b", "msg:c")
	w.did("connected fan-1")
	w.feed.add(messageFor(1, "d"))
	w.hub.Wake()
	c.wantItems("msg:d")
}

func TestWhatComesWhileTheBacklogIsReadFollowsItOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.feed.gate, w.feed.entered = make(chan struct{}), make(chan int64, 1)
	w.feed.backlog[1] = []Notice{messageFor(1, "a"), messageFor(1, "b")}
	c := w.connect("fan=fan-1")
	c.next("hello")
	<-w.feed.entered
	w.feed.add(messageFor(1, "b"), messageFor(1, "c"))
	if err := w.hub.look(t.Context()); err != nil { // the loop is idle: nobody woke it and its tick is far
		t.Fatal(err)
	}
	close(w.feed.gate)
	c.wantItems("msg:a", "msg:b", "msg:c")
	c.wantNothing()
}

func TestANoticeThatComesTwiceIsOneItem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	c := w.join(1)
	w.feed.add(messageFor(1, "a"), messageFor(1, "a"), updateFor(1, "msg:a", "read"), updateFor(1, "msg:a", "read"))
	for i := range 5 {
		w.feed.add(messageFor(1, fmt.Sprint(i)))
		w.hub.Wake()
		if i == 0 {
			c.wantItems("msg:a")
			c.next("update")
		}
		c.wantItems(fmt.Sprint("msg:", i))
	}
	c.wantNothing()
}

func TestConnectionsOfAFanShareWhatIsTheirs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a, b, other := w.join(1), w.join(1), w.join(2)
	w.feed.add(messageFor(1, "x"))
	w.hub.Wake()
	a.wantItems("msg:x")
	b.wantItems("msg:x")
	other.wantNothing()
	if s := w.hub.Stats(); s.Connections != 3 || s.Fans != 2 || s.Pushes != 2 {
		t.Errorf("stats %+v", s)
	}
}

func TestTheNinthConnectionOfAFanEndsTheOldest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var cs []*client
	for range 9 {
		cs = append(cs, w.join(1))
	}
	cs[0].wantClose(4009)
	w.feed.add(messageFor(1, "x"))
	w.hub.Wake()
	for _, c := range cs[1:] {
		c.wantItems("msg:x")
	}
}

func TestAnUpdateReachesThoseWhoHadTheItem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	had := w.join(1)
	w.feed.overlap = 0
	w.feed.add(turnFor(1, 1, 0, time.Hour))
	w.hub.Wake()
	had.wantItems(turnID(1))
	hadNot := w.join(1)
	w.feed.add(updateFor(1, turnID(1), notifier.StateClaimed), updateFor(1, turnID(1), notifier.StateClaimed),
		updateFor(1, turnID(1), notifier.StateOpen))
	w.hub.Wake()
	if f := had.next("update"); f.ID != turnID(1) || f.State != notifier.StateClaimed {
		t.Errorf("update %+v", f)
	}
	had.wantNothing()
	hadNot.wantNothing()
}

func TestASilentTurnIsNotPushedButItsUpdateIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	n := turnFor(1, 1, -time.Minute, time.Hour)
	n.Silent = true
	w.feed.backlog[1] = []Notice{n}
	c := w.join(1)
	c.wantNothing()
	w.feed.add(updateFor(1, turnID(1), notifier.StateOver))
	w.hub.Wake()
	if f := c.next("update"); f.State != notifier.StateOver {
		t.Errorf("update %+v", f)
	}
}

func TestActsAreDoneInOrderAndAcksAreGathered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	c := w.join(1)
	w.acts.gate = make(chan struct{})
	c.send(`{"type":"read","ids":["msg:r"]}`)
	for i := range 40 {
		c.send(fmt.Sprintf(`{"type":"ack","ids":["msg:%d"]}`, i))
	}
	c.send(`{"type":"read","ids":["msg:s"]}`)
	c.wantNothing() // all have been taken
	close(w.acts.gate)
	w.did("read fan-1 [msg:r]")
	var ids []string
	for i := range 40 {
		ids = append(ids, fmt.Sprint("msg:", i))
	}
	w.did(fmt.Sprint("ack fan-1 ", ids))
	w.did("read fan-1 [msg:s]")
}

func TestManyActsWaitWithoutBeingLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	c := w.join(1)
	w.acts.gate = make(chan struct{})
	const n = 3 * maxActs
	for i := range n { // of two kinds, so that none is gathered
		kind := []string{"ack", "read"}[i%2]
		c.send(fmt.Sprintf(`{"type":"%s","ids":["msg:%d"]}`, kind, i))
	}
	close(w.acts.gate)
	for i := range n {
		w.did(fmt.Sprintf("%s fan-1 [msg:%d]", []string{"ack", "read"}[i%2], i))
	}
}

func TestABadFrameClosesWith4400(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ids := `"x"` + strings.Repeat(`,"x"`, maxIDs)
	for name, text := range map[string]string{
		"not JSON":        `{"type":`,
		"not an object":   `["ping"]`,
		"null":            `null`,
		"two frames":      `{"type":"ping"}{"type":"ping"}`,
		"no type":         `{}`,
		"unknown type":    `{"type":"claim"}`,
		"unknown field":   `{"type":"ping","x":1}`,
		"type not text":   `{"type":7}`,
		"ids not a list":  `{"type":"ack","ids":"x"}`,
		"ids not text":    `{"type":"ack","ids":[1]}`,
		"no ids":          `{"type":"read"}`,
		"empty id":        `{"type":"read","ids":[""]}`,
		"control in id":   `{"type":"read","ids":["a\u0000"]}`,
		"too many ids":    `{"type":"ack","ids":[` + ids + `]}`,
		"no token":        `{"type":"token"}`,
		"token not text":  `{"type":"token","token":{}}`,
		"ids with a ping": `{"type":"ping","ids":["x"]}`,
		"too long":        `{"type":"ping","x":"` + strings.Repeat("x", maxFrame) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := w.connect("fan=fan-1")
			c.next("hello")
			c.send(text)
			c.wantClose(4400)
		})
	}
	t.Run("binary", func(t *testing.T) {
		c := w.connect("fan=fan-1")
		if err := c.ws.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"ping"}`)); err != nil {
			t.Fatal(err)
		}
		c.wantClose(4400)
	})
	t.Run("the most that is allowed", func(t *testing.T) {
		c := w.connect("fan=fan-1")
		c.next("hello")
		c.send(`{"type":"ack","ids":[` + ids[4:] + `]}`)
		c.send(`{"type":"read","ids":[]}`)
		c.send(`{"type":"ping"` + strings.Repeat(" ", maxFrame-len(`{"type":"ping"}`)) + `}`)
		c.next("pong")
	})
}

func TestATokenOfAnotherFanOrNoneClosesWith4001(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, token := range []string{"fan-2 1h", "forged", "fan-1 -1s"} {
		c := w.connect("fan=fan-1")
		c.next("hello")
		c.send(fmt.Sprintf(`{"type":"token","token":%q}`, token))
		c.wantClose(4001)
	}
	c := w.connect("fan=fan-1&life=-1s")
	c.wantClose(4001)
}

func TestSigningOutClosesWith4002(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a, b, other := w.join(1), w.join(1), w.join(2)
	w.feed.signOut(1, now())
	w.hub.Wake()
	a.wantClose(4002)
	b.wantClose(4002)
	other.wantNothing()
}

func TestWhoSignsInAgainStaysSignedIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.feed.signOut(1, now().Add(-time.Millisecond))
	c := w.join(1)
	w.feed.add(messageFor(1, "a")) // read with the sign-out of before
	c.wantItems("msg:a")
}

func TestASocketThatEntersAfterTheSignOutItWasMeantByIsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.feed.signOut(1, now().Add(10*time.Second)) // as for a token checked before
	w.join(2)
	w.feed.add(messageFor(2, "a"))
	for !w.hub.outs.ended(1, now()) {
		w.hub.Wake()
		runtime.Gosched()
	}
	c := w.connect("fan=fan-1")
	c.wantClose(4002)
}

func TestDrainingSaysWhenToComeBackAndCloses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var cs []*client
	for i := range 20 {
		cs = append(cs, w.join(i))
	}
	if w.hub.Full() || w.hub.Draining() {
		t.Error("full or draining before Stop")
	}
	w.stop()
	if !w.hub.Full() || !w.hub.Draining() {
		t.Error("not full or not draining after Stop")
	}
	waits := map[int]bool{}
	for _, c := range cs {
		f := c.next("closing")
		waits[f.RetryAfterMS] = true
		if f.RetryAfterMS < 100 || f.RetryAfterMS > 2000 {
			t.Errorf("come back in %d ms", f.RetryAfterMS)
		}
		c.wantClose(websocket.StatusGoingAway)
	}
	if len(waits) < 10 {
		t.Errorf("20 clients come back at %d moments", len(waits))
	}
	w.connect("fan=fan-1").wantClose(websocket.StatusGoingAway)
}

func TestMoreThanMaxConnsAreTurnedAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *HubConfig) { c.MaxConns = 2 })
	a := w.join(1)
	w.join(2)
	if !w.hub.Full() {
		t.Error("not full")
	}
	w.connect("fan=fan-3").wantClose(websocket.StatusTryAgainLater)
	_ = a.ws.Close(websocket.StatusNormalClosure, "")
	a.wantClose(websocket.StatusNormalClosure)
}

func TestAHubThatIsNotStartedIsFull(t *testing.T) {
	t.Parallel()
	h, err := NewHub(HubConfig{Feed: newFakeFeed(), Clock: fakeClock{}, Acts: &fakeActs{}, Verify: verify})
	if err != nil {
		t.Fatal(err)
	}
	if !h.Full() {
		t.Error("not full")
	}
	if err := h.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.Start(t.Context()); err == nil {
		t.Error("started after Stop")
	}
}

func TestAHubWithoutWhatItNeedsIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := NewHub(HubConfig{}); err == nil {
		t.Error("no error")
	}
	feed := newFakeFeed()
	feed.err = errors.New("away")
	h, err := NewHub(HubConfig{Feed: feed, Clock: fakeClock{}, Acts: &fakeActs{}, Verify: verify})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(t.Context()); err == nil {
		t.Error("started without a feed")
	}
}

func TestTheRegistryIsToldOfEachConnectionInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a := w.connect("fan=fan-1")
	session := a.next("hello").Session
	w.did("connected fan-1")
	if got := w.presence.now()[session]; got != 1 {
		t.Errorf("the registry has %v", w.presence.now())
	}
	w.stop()
	if got := strings.Join(w.presence.told, ", "); got != "connect "+session+", disconnect "+session {
		t.Errorf("told %s", got)
	}
}
