package live

import (
	"fmt"
	"slices"
	"testing"
)

// conns are the fan's connections in Redis.
func (r *Registry) conns(t testing.TB, fan int64) (sessions []string) {
	t.Helper()
	all, err := r.cfg.Redis.HGetAll(t.Context(), r.fanKey(fan)).Result()
	if err != nil {
		t.Fatal(err)
	}
	for session := range all {
		sessions = append(sessions, session)
	}
	slices.Sort(sessions)
	return sessions
}

func TestTheOldestOfTooManyOverAllInstancesGoes(t *testing.T) {
	forEachRedis(t, func(t *testing.T, url string) {
		a, b := newRegistry(t, url, "a"), newRegistry(t, url, "b")
		atA, atB := newFakeLocal(), newFakeLocal()
		if err := a.Start(atA); err != nil {
			t.Fatal(err)
		}
		if err := b.Start(atB); err != nil {
			t.Fatal(err)
		}
		<-atA.wakes // it listens
		<-atB.wakes
		for i := range 8 { // in turn
			r := []*Registry{a, b}[i%2]
			r.Connect(1, fmt.Sprint("c", i))
			for len(r.conns(t, 1)) <= i {
			}
		}
		if len(atA.tooMany)+len(atB.tooMany) > 0 {
			t.Fatal("eight are too many")
		}
		b.Connect(1, "c8") // its eighth is A's
		if got := <-atA.tooMany; got != "1 c0" {
			t.Errorf("A ends %q", got)
		}
		a.Disconnect(1, "c0")
		for slices.Contains(a.conns(t, 1), "c0") {
		}
		a.Connect(1, "c9")
		if got := <-atB.tooMany; got != "1 c1" {
			t.Errorf("B ends %q", got)
		}
	})
}

func TestConnectionsOfAnInstanceThatIsGoneCountForNothing(t *testing.T) {
	forEachRedis(t, func(t *testing.T, url string) {
		killed, b := newRegistry(t, url, "killed"), newRegistry(t, url, "b")
		local := newFakeLocal()
		if err := b.Start(local); err != nil {
			t.Fatal(err)
		}
		b.Connect(1, "first")
		for len(b.conns(t, 1)) == 0 {
		}
		for i := range 7 {
			killed.Connect(1, fmt.Sprint("k", i))
		}
		killed.sync(t)
		if err := b.cfg.Redis.Del(t.Context(), leaseKey("killed")).Err(); err != nil {
			t.Fatal(err)
		}
		for i := range 7 {
			b.Connect(1, fmt.Sprint("n", i))
		}
		for want := 8; len(b.conns(t, 1)) != want || slices.Contains(b.conns(t, 1), "k0"); {
		}
		if len(local.tooMany) > 0 {
			t.Errorf("%q ended for those that are gone", <-local.tooMany)
		}
	})
}
