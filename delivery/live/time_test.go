package live

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fanline/notifier"
)

func TestAPushWaitsForItsMomentAndAsksHowTheTurnStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		a, b := w.join(1), w.join(1)
		gone, other := w.join(2), w.join(3)
		for fan := range int64(3) {
			w.feed.add(turnFor(fan+1, 7, 2*time.Second, time.Hour))
		}
		w.feed.stand(TurnKey{7, 1}, notifier.StateOpen)
		w.feed.stand(TurnKey{7, 2}, notifier.StateOver)
		w.feed.stand(TurnKey{7, 3}, notifier.StateOpen)
		opens := now().Add(2 * time.Second)
		for range 3 { // the wave is published more than once
			w.hub.Wake()
			synctest.Wait()
		}
		for _, c := range []*client{a, b, other} {
			if f := c.next("item"); f.at.Before(opens) || f.at.After(opens.Add(20*time.Millisecond)) {
				t.Errorf("pushed %v after it opened", f.at.Sub(opens))
			}
		}
		// The look of the next seconds returns the notices again, now that their time has come.
		pass(3 * time.Second)
		for _, c := range []*client{a, b, other, gone} {
			c.wantNothing()
		}
		if asked := w.feed.askedFor(); len(asked) != 1 || len(asked[0]) != 3 {
			t.Errorf("asked %v", asked)
		}
	})
}

func TestATurnNotYetVisibleAtItsMomentIsAskedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		c, never := w.join(1), w.join(2)
		w.feed.add(turnFor(1, 7, time.Second, time.Hour), turnFor(2, 7, time.Second, time.Hour))
		w.hub.Wake()
		pass(time.Second + 60*time.Millisecond)
		w.feed.stand(TurnKey{7, 1}, notifier.StateOpen)
		c.wantItems(turnID(7))
		pass(5 * time.Second)
		never.wantNothing()
		if n := len(w.feed.askedFor()); n > 1+pushTries {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestAtTheCloseOfATurnItsStateIsToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		lapsed, again, claimed := w.join(1), w.join(1), w.join(2)
		w.feed.add(turnFor(1, 7, 0, 5*time.Second), turnFor(2, 7, 0, 5*time.Second))
		w.feed.stand(TurnKey{7, 1}, notifier.StateOpen) // the database's clock is a little behind
		w.feed.stand(TurnKey{7, 2}, notifier.StateClaimed)
		closes := now().Add(5 * time.Second)
		w.hub.Wake()
		for _, c := range []*client{lapsed, again, claimed} {
			c.wantItems(turnID(7))
		}
		w.feed.add(updateFor(2, turnID(7), notifier.StateClaimed))
		w.hub.Wake()
		if f := claimed.next("update"); f.State != notifier.StateClaimed {
			t.Errorf("update %+v", f)
		}
		pass(5 * time.Second)
		w.feed.stand(TurnKey{7, 1}, notifier.StateOver)
		for _, c := range []*client{lapsed, again} {
			f := c.next("update")
			if f.State != notifier.StateOver || f.at.Before(closes) || f.at.After(closes.Add(200*time.Millisecond)) {
				t.Errorf("update %+v %v after it closed", f, f.at.Sub(closes))
			}
		}
		w.feed.add(updateFor(1, turnID(7), notifier.StateOver))
		pass(time.Minute)
		for _, c := range []*client{lapsed, again, claimed} {
			c.wantNothing()
		}
		if asked := w.feed.askedFor(); len(asked[0]) != 2 {
			t.Errorf("asked one by one: %v", asked)
		}
	})
}

func TestTheCloseOfATurnInTheBacklogIsToldToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		read := turnFor(1, 8, -time.Minute, time.Minute)
		read.Silent = true
		w.feed.backlog[1] = []Notice{turnFor(1, 7, -time.Minute, time.Minute), turnFor(1, 9, 10*time.Second, time.Minute), read}
		w.feed.stand(TurnKey{9, 1}, notifier.StateOpen)
		c := w.join(1)
		c.wantItems(turnID(7))
		pass(11 * time.Second)
		c.wantItems(turnID(9))
		w.feed.stand(TurnKey{9, 1}, notifier.StateOver)
		pass(time.Minute)
		for range 3 {
			if f := c.next("update"); f.State != notifier.StateOver {
				t.Errorf("update %+v", f)
			}
		}
	})
}

func TestTheFeedIsReadEachSecondAndAFaultLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		c := w.join(1)
		w.feed.add(messageFor(1, "a"))
		start := time.Now()
		c.wantItems("msg:a")
		if d := time.Since(start); d > time.Second {
			t.Errorf("found after %v", d)
		}
		w.feed.overlap = 0
		w.feed.fail(errors.New("away"))
		w.feed.add(messageFor(1, "b"), turnFor(1, 7, 2*time.Second, time.Hour))
		w.feed.stand(TurnKey{7, 1}, notifier.StateOpen)
		pass(10 * time.Second)
		c.wantNothing()
		w.feed.fail(nil)
		c.wantItems("msg:b", turnID(7))
		if s := w.hub.Stats(); s.LookErrors < 9 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestAPushWaitsForAFeedThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		c := w.join(1)
		w.feed.add(turnFor(1, 7, 2*time.Second, time.Hour))
		w.feed.stand(TurnKey{7, 1}, notifier.StateOpen)
		w.hub.Wake()
		synctest.Wait()
		w.feed.fail(errors.New("away"))
		pass(time.Minute)
		c.wantNothing()
		w.feed.fail(nil)
		c.wantItems(turnID(7))
	})
}

func TestWakesThatComeTogetherAreOneLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		for range 1000 {
			w.hub.Wake()
		}
		pass(500 * time.Millisecond)
		if n := w.hub.Stats().Looks; n > 2 {
			t.Errorf("%d looks", n)
		}
	})
}

func TestATokenIsWarnedOfAndEndsWith4001(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ life, warnAt time.Duration }{
		{10 * time.Minute, 9 * time.Minute}, {40 * time.Second, 20 * time.Second}, {time.Minute, 30 * time.Second},
	} {
		t.Run(c.life.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newBubble(t, nil)
				start := now()
				s := w.connect("fan=fan-1&life=" + c.life.String())
				s.next("hello")
				for range 2 {
					pass(c.warnAt / 2)
				}
				f := s.next("expiring")
				if d := f.at.Sub(start); d != c.warnAt || f.InS != int((c.life-c.warnAt)/time.Second) {
					t.Errorf("warned at %v: %+v", d, f)
				}
				pass(c.life - c.warnAt)
				s.wantClose(4001)
				if d := now().Sub(start); d != c.life {
					t.Errorf("closed after %v", d)
				}
			})
		})
	}
}

func TestANewTokenRenewsInPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		c := w.connect("fan=fan-1&life=40s")
		c.next("hello")
		pass(20 * time.Second)
		c.next("expiring")
		c.send(`{"type":"token","token":"fan-1 100s"}`)
		synctest.Wait()
		pass(30 * time.Second) // past the first one's end
		c.wantNothing()
		pass(10 * time.Second)
		if f := c.next("expiring"); f.InS != 60 {
			t.Errorf("expiring %+v", f)
		}
		pass(time.Minute)
		c.wantClose(4001)
	})
}

func TestASilentPeerIsClosedAfterTwoHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, func(c *HubConfig) { c.WriteTimeout = time.Hour })
		alive := w.join(1)
		w.connectDeaf("fan=fan-2")
		pass(49 * time.Second)
		if n := w.hub.Stats().Connections; n != 2 {
			t.Errorf("%d connections", n)
		}
		pass(time.Hour)
		if n := w.hub.Stats().Connections; n != 1 {
			t.Errorf("%d connections", n)
		}
		alive.wantNothing()
	})
}

func TestAWriteThatTakesFiveSecondsEndsTheConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		w.connectDeaf("fan=fan-1") // the pipe has no buffer: hello is never through
		pass(5*time.Second - time.Millisecond)
		if s := w.hub.Stats(); s.Connections != 1 || s.SlowCloses != 0 {
			t.Errorf("%+v", s)
		}
		pass(2 * time.Millisecond)
		if s := w.hub.Stats(); s.Connections != 0 || s.SlowCloses != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestStoppingCutsOffWhoDoesNotAnswerWhenTimeIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		for i := range 10 {
			w.connectDeaf(fmt.Sprint("fan=fan-", i))
		}
		pass(time.Second)
		start := time.Now()
		w.stop()
		if d := time.Since(start); d > 15*time.Second {
			t.Errorf("stopped after %v", d)
		}
	})
}

func TestADatabaseThatIsAwayWhileAFanConnectsSendsThemElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		w.feed.fail(errors.New("away"))
		c := w.connect("fan=fan-1")
		c.wantClose(1011)
		w.feed.fail(errors.New("away"))
		c = w.connect("fan=fan-1")
		c.next("hello")
		pass(300 * time.Millisecond)
		w.feed.fail(nil)
		w.did("connected fan-1")
	})
}

func TestWhatIsRememberedOfItemsIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s seen
		for i := range uint64(100_000) {
			if !s.meet(i, time.Now()) || s.meet(i, time.Now()) {
				t.Fatal("an item is new once")
			}
		}
		if n := len(s.young) + len(s.old); n > 2*rememberMost {
			t.Errorf("%d remembered", n)
		}
		if !s.has(100_000 - rememberMost) {
			t.Error("one of the last is forgotten")
		}
		for range 10 { // met again and again, it stays
			pass(rememberFor - time.Second)
			if s.meet(99_999, time.Now()) {
				t.Error("forgotten")
			}
		}
		pass(rememberFor)
		s.age(time.Now())
		pass(rememberFor)
		s.age(time.Now())
		if s.young != nil || s.old != nil {
			t.Error("kept for ever")
		}
		m := turns{}
		for i := range 10_000 {
			m.mark(fmt.Sprint(i), turnMark{notifier.StateOpen, time.Now().Add(time.Duration(i))})
		}
		if _, ok := m["9999"]; !ok || len(m) != watchMost {
			t.Errorf("%d turns", len(m))
		}
	})
}

func TestATurnThatClosesEarlierThanItWasToIsToldThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, nil)
		c := w.join(1)
		w.feed.add(turnFor(1, 7, 0, time.Hour))
		w.feed.stand(TurnKey{7, 1}, notifier.StateOpen)
		w.hub.Wake()
		c.wantItems(turnID(7))
		earlier := turnFor(1, 7, 0, 5*time.Second)
		earlier.Silent = true
		closes := now().Add(5 * time.Second)
		w.feed.add(earlier)
		w.hub.Wake()
		pass(4 * time.Second)
		w.feed.stand(TurnKey{7, 1}, notifier.StateOver)
		f := c.next("update")
		if f.State != notifier.StateOver || f.at.Before(closes) || f.at.After(closes.Add(200*time.Millisecond)) {
			t.Errorf("update %+v %v after it closed", f, f.at.Sub(closes))
		}
		pass(2 * time.Hour)
		c.wantNothing()
	})
}
