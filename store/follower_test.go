package store_test

import (
	"testing"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

func TestOneProcessAtATimeFollowsTheStreamForAName(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	must(t, b.store.AddFollower(t.Context(), "kafka"))
	lease := func(owner string, want bool) {
		t.Helper()
		after, ok, err := b.store.LeaseFollower(t.Context(), "kafka", owner, 30*time.Second)
		must(t, err)
		if ok != want {
			t.Errorf("%s has it: %v, want %v (at %q)", owner, ok, want, after)
		}
	}
	advance := func(owner, place string, want bool) {
		t.Helper()
		ok, err := b.store.Advance(t.Context(), "kafka", owner, place, 30*time.Second)
		must(t, err)
		if ok != want {
			t.Errorf("%s advanced: %v, want %v", owner, ok, want)
		}
	}
	lease("one", true)
	lease("two", false)
	advance("one", "evt_1.1.0", true)
	b.at(morning.Add(30 * time.Second))
	lease("two", true) // one is silent for too long
	advance("one", "evt_1.2.0", false)
	must(t, b.store.ReleaseFollower(t.Context(), "kafka", "one"))
	lease("three", false)
	must(t, b.store.ReleaseFollower(t.Context(), "kafka", "two"))
	after, ok, err := b.store.LeaseFollower(t.Context(), "kafka", "three", time.Second)
	must(t, err)
	if !ok || after != "evt_1.1.0" {
		t.Errorf("%q %v", after, ok)
	}
}

func TestANewEndpointHearsOfWhatHappensFromThenOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "before")
	url := "https://shop.example"
	e, created, err := b.store.PutEndpoint(t.Context(), "box", notifier.EndpointChange{URL: &url})
	must(t, err)
	if !created || len(e.Secret) != 32 {
		t.Errorf("%+v", e)
	}
	b.join("s", "after")
	after, _, err := b.store.LeaseFollower(t.Context(), e.Follower(), "me", time.Second)
	must(t, err)
	r := b.reader(100)
	r.query.After, r.query.Types = after, e.Types // as who sends to it asks: of none, all
	if got := r.rest(); len(got) == 0 || got[len(got)-1] != "entry.joined after" || len(got) > 2 {
		t.Errorf("stream from %s: %q", after, got)
	}
	must(t, b.store.EndpointFailed(t.Context(), "box", "me", "answered 500", time.Hour, true))
	again, created, err := b.store.PutEndpoint(t.Context(), "box", notifier.EndpointChange{})
	must(t, err)
	if created || again.DisabledAt != nil || again.Attempts != 0 || string(again.Secret) != string(e.Secret) || again.URL != url {
		t.Errorf("put again: %+v", again)
	}
	// What was sent before that failed after it.
	must(t, b.store.EndpointFailed(t.Context(), "box", "me", "answered 410", time.Hour, true))
	due, err := b.store.EndpointsDue(t.Context())
	must(t, err)
	if len(due) != 1 {
		t.Errorf("%d are due", len(due))
	}
	must(t, b.store.DeleteEndpoint(t.Context(), "box"))
	_, err = b.store.Endpoint(t.Context(), "box")
	refused(t, "a deleted endpoint", err, waitlist.NotFound)
	_, _, err = b.store.PutEndpoint(t.Context(), "new", notifier.EndpointChange{})
	refused(t, "an endpoint without url", err, waitlist.Invalid)
}

func TestAnEndpointDeletedAmongItsCallsIsCalledNoMoreAlsoWhenItIsMadeAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	url := "https://shop.example"
	for _, anew := range []bool{false, true} {
		e, _, err := b.store.PutEndpoint(t.Context(), "box", notifier.EndpointChange{URL: &url})
		must(t, err)
		after, ok, err := b.store.LeaseFollower(t.Context(), e.Follower(), "sender", time.Minute)
		if must(t, err); !ok {
			t.Fatal("the follower is somebody's")
		}
		must(t, b.store.DeleteEndpoint(t.Context(), "box"))
		if anew {
			_, _, err := b.store.PutEndpoint(t.Context(), "box", notifier.EndpointChange{URL: &url})
			must(t, err)
		}
		if mine, err := b.store.Advance(t.Context(), e.Follower(), "sender", after, time.Minute); err != nil || mine {
			t.Errorf("made anew %v: who called it goes on (%v)", anew, err)
		}
		must(t, b.store.EndpointFailed(t.Context(), "box", "sender", "answered 500", time.Hour, true))
		must(t, b.store.ReleaseFollower(t.Context(), e.Follower(), "sender"))
		due, err := b.store.EndpointsDue(t.Context())
		must(t, err)
		if want := map[bool]int{true: 1}[anew]; len(due) != want {
			t.Errorf("made anew %v: %d are due, want %d", anew, len(due), want)
		}
	}
}
