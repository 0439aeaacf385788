package live

import (
	"slices"
	"testing"
	"time"

	"fanline/store/storetest"
)

func TestAKilledInstanceIsNotWokenAndItsTracesGo(t *testing.T) {
	forEachRedis(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a, b := newRegistry(t, url, "a"), newRegistry(t, url, "b")
		a.Connect(1, "c1")
		b.Connect(1, "c2")
		a.sync(t)
		b.sync(t)
		a.wantHolders(t, 1, "a", "b")
		a.cfg.Redis.Del(ctx, leaseKey("a")) // as when the lease ran out
		b.wantHolders(t, 1, "b")
		// Nobody renewed c1 for a FanTTL, while b renews the fan.
		a.cfg.Redis.HSet(ctx, a.fanKey(1), "c1", "1000 a 1000")
		b.markAll()
		b.sync(t)
		if left := a.cfg.Redis.HKeys(ctx, a.fanKey(1)).Val(); !slices.Equal(left, []string{"c2"}) {
			t.Errorf("left %v", left)
		}
		if ttl := a.cfg.Redis.TTL(ctx, a.fanKey(1)).Val(); ttl < 80*time.Second || ttl > 90*time.Second {
			t.Errorf("the fan's key lives %v", ttl)
		}
		if ttl := a.cfg.Redis.PTTL(ctx, leaseKey("b")).Val(); ttl < 5*time.Second || ttl > 10*time.Second {
			t.Errorf("the lease lives %v", ttl)
		}
	})
}

func TestAWakeIsOneMessageAnInstance(t *testing.T) {
	forEachRedis(t, func(t *testing.T, url string) {
		a, b, c := newRegistry(t, url, "a"), newRegistry(t, url, "b"), newRegistry(t, url, "c")
		atA, atB := newFakeLocal(), newFakeLocal()
		a.Connect(1, "c1")
		a.Connect(2, "c2")
		b.Connect(2, "c3")
		b.Connect(3, "c4")
		a.sync(t)
		b.sync(t)
		for r, l := range map[*Registry]*fakeLocal{a: atA, b: atB} {
			if err := r.Start(l); err != nil {
				t.Fatal(err)
			}
			<-l.wakes // subscribed to its own topic, and to that of all
			<-l.wakes
		}
		if err := c.WakeFans(t.Context(), []int64{1, 2, 3, 4}); err != nil {
			t.Fatal(err)
		}
		<-atA.wakes
		<-atB.wakes
		if n := c.Stats().Published; n != 2 {
			t.Errorf("published %d messages", n)
		}
		// From a, its own fans are woken without Redis.
		if err := a.WakeFans(t.Context(), []int64{1, 3}); err != nil {
			t.Fatal(err)
		}
		<-atA.wakes
		<-atB.wakes
		if n := a.Stats().Published; n != 1 {
			t.Errorf("published %d messages", n)
		}
		if err := c.WakeAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-atA.wakes
		<-atB.wakes
		if len(atA.wakes)+len(atB.wakes) > 0 {
			t.Error("woken too often")
		}
	})
}

func TestAWakeFromAnotherInstanceBringsItemsToItsSockets(t *testing.T) {
	t.Parallel()
	url := storetest.Redis(t)
	b, other := newRegistry(t, url, "b"), newRegistry(t, url, "other")
	events := watchKeys(t, url, b.fanKey(1))
	w := newWorld(t, func(c *HubConfig) {
		c.Registry, c.LookEvery = b, time.Hour // a wake or nothing
	})
	if err := b.Start(w.hub); err != nil {
		t.Fatal(err)
	}
	old := w.join(1)
	c := w.join(1)
	_ = old.ws.Close(1000, "")
	for known := false; !known; {
		<-events
		known = other.cfg.Redis.HExists(t.Context(), other.fanKey(1), c.session).Val()
	}
	w.feed.add(messageFor(1, "a"))
	if err := other.WakeFans(t.Context(), []int64{1}); err != nil {
		t.Fatal(err)
	}
	c.wantItems("msg:a")
}
