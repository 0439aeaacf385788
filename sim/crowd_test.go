package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func names(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("fan-%d", i))
	}
	return all
}

// crowdOf connects a crowd and returns its sockets by fan.
func crowdOf(t *testing.T, cfg CrowdConfig, fans []string) (*Crowd, map[string]*socket) {
	t.Helper()
	s := serveStreams(t)
	cfg.BaseURLs = []string{s.url}
	cfg.Token = func(fan string) string { return fan }
	c := NewCrowd(cfg)
	t.Cleanup(c.Close)
	sockets := map[string]*socket{}
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		for range fans {
			k := <-s.next
			sockets[strings.TrimPrefix(k.request.Header.Get("Authorization"), "Bearer ")] = k
		}
	}()
	var last int
	if err := c.Connect(t.Context(), slices.Values(fans), func(in int) { last = in }); err != nil {
		t.Fatal(err)
	}
	take(t, collected)
	if last != len(fans) || c.Size() != len(fans) {
		t.Fatalf("%d in, size %d, want %d", last, c.Size(), len(fans))
	}
	return c, sockets
}

func TestCrowdHearsEachFansFrames(t *testing.T) {
	t.Parallel()
	fans := names(100)
	var mu sync.Mutex
	heard := map[string]string{}
	all := make(chan struct{})
	c, sockets := crowdOf(t, CrowdConfig{Ack: true, Dials: 8, OnFrame: func(fan string, frame []byte, at time.Time) {
		mu.Lock()
		defer mu.Unlock()
		if heard[fan] = string(frame); len(heard) == len(fans) {
			close(all)
		}
	}}, fans)
	for fan, k := range sockets {
		k.say(t, item(fan))
	}
	take(t, all)
	for fan, k := range sockets {
		if heard[fan] != item(fan) {
			t.Errorf("%s heard %q", fan, heard[fan])
		}
		if got := take(t, k.frames); got != fmt.Sprintf(`{"ids":[%q],"type":"ack"}`, fan) {
			t.Errorf("%s sent %s", fan, got)
		}
	}
	if err := c.Send(t.Context(), "fan-1", map[string]string{"type": "ping"}); err != nil {
		t.Fatal(err)
	}
	if got := take(t, sockets["fan-1"].frames); got != `{"type":"ping"}` {
		t.Errorf("sent %s", got)
	}
}

func TestCrowdTellsOfSocketsThatEndByThemselves(t *testing.T) {
	t.Parallel()
	type end struct {
		fan  string
		code int
	}
	ends := make(chan end, 8)
	c, sockets := crowdOf(t, CrowdConfig{OnEnd: func(fan string, err error) { ends <- end{fan, CloseCode(err)} }}, names(3))
	c.Kill("fan-0")
	if err := take(t, sockets["fan-0"].ended); CloseCode(err) != -1 {
		t.Errorf("the server got %v", err)
	}
	sockets["fan-1"].ws.Close(4008, "")
	if got := take(t, ends); got != (end{"fan-1", 4008}) {
		t.Errorf("end %+v", got)
	}
	if c.Size() != 1 {
		t.Errorf("size %d", c.Size())
	}
	c.Close()
	if len(ends) != 0 {
		t.Errorf("Kill or Close was told of: %+v", <-ends)
	}
	if err := c.Connect(t.Context(), slices.Values(names(1)), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed crowd lets in: %v", err)
	}
}

func TestCrowdClosesEverySocketOfAFan(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	c := NewCrowd(CrowdConfig{BaseURLs: []string{s.url}, Token: func(string) string { return "t" }})
	if err := c.Connect(t.Context(), slices.Values([]string{"ada", "ada"}), nil); err != nil {
		t.Fatal(err)
	}
	one, two := take(t, s.next), take(t, s.next)
	c.Close()
	take(t, one.ended)
	take(t, two.ended)
}

func TestCrowdStopsAtTheFirstRefusal(t *testing.T) {
	t.Parallel()
	s := serveStreams(t, problem(401, "unauthenticated", ""))
	c := NewCrowd(CrowdConfig{BaseURLs: []string{s.url}, Dials: 1, Token: func(string) string { return "t" }})
	t.Cleanup(c.Close)
	if err := c.Connect(t.Context(), slices.Values(names(50)), nil); CodeOf(err) != "unauthenticated" {
		t.Errorf("got %v", err)
	}
	if c.Size() > 1 {
		t.Errorf("size %d", c.Size())
	}
}
