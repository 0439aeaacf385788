package webhook

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fanline/delivery/dial"
	"fanline/notifier"
)

// fakeStore is a stream of events e1, e2 and so on and what is kept of endpoints.
type fakeStore struct {
	mu        sync.Mutex
	events    int
	endpoints map[string]*notifier.Endpoint
	after     map[string]string
	owner     map[string]string
	next      map[string]time.Time
	again     []time.Duration
	reasons   []string
	advance   error  // of every Advance
	leasing   func() // before every lease
}

func newFake(events int, endpoints ...notifier.Endpoint) *fakeStore {
	f := &fakeStore{events: events, endpoints: map[string]*notifier.Endpoint{}, after: map[string]string{}, owner: map[string]string{}, next: map[string]time.Time{}}
	for i := range endpoints {
		f.endpoints[endpoints[i].ID] = &endpoints[i]
	}
	return f
}

func (f *fakeStore) EndpointsDue(context.Context) (due []notifier.Endpoint, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.endpoints {
		if e.DisabledAt == nil && f.owner[e.Follower()] == "" && !time.Now().Before(f.next[e.ID]) {
			due = append(due, *e)
		}
	}
	return due, nil
}

func (f *fakeStore) LeaseFollower(_ context.Context, name, owner string, _ time.Duration) (string, bool, error) {
	if f.leasing != nil {
		f.leasing()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.owner[name]; o != "" && o != owner {
		return "", false, nil
	}
	f.owner[name] = owner
	return f.after[name], true, nil
}

func (f *fakeStore) Advance(_ context.Context, name, owner, after string, _ time.Duration) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.advance != nil || f.owner[name] != owner {
		return false, f.advance
	}
	f.after[name] = after
	return true, nil
}

func (f *fakeStore) ReleaseFollower(_ context.Context, name, owner string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owner[name] == owner {
		f.owner[name] = ""
	}
	return nil
}

func (f *fakeStore) Stream(_ context.Context, q notifier.StreamQuery) (p notifier.StreamPage, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, _ := strconv.Atoi(q.After)
	for n < f.events && len(p.Events) < q.Limit {
		n++
		p.Events = append(p.Events, notifier.StreamEvent{ID: strconv.Itoa(n), Type: notifier.ClaimHeld, Data: []byte("{}")})
	}
	p.Next = q.After
	if len(p.Events) > 0 {
		p.Next = strconv.Itoa(n)
	}
	return p, nil
}

func (f *fakeStore) StreamHead(context.Context) (string, error) { return strconv.Itoa(f.events), nil }

func (f *fakeStore) EndpointTook(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endpoints[id].Attempts = 0
	return nil
}

func (f *fakeStore) Endpoint(_ context.Context, id string) (notifier.Endpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.endpoints[id], nil
}

// put changes an endpoint as it is put.
func (f *fakeStore) put(id, url string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endpoints[id].URL = url
	f.owner[f.endpoints[id].Follower()] = ""
}

func (f *fakeStore) EndpointFailed(_ context.Context, id, owner, reason string, again time.Duration, disable bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	e := f.endpoints[id]
	if f.owner[e.Follower()] != owner {
		return nil
	}
	e.Attempts++
	if disable {
		e.DisabledAt = &now
	}
	f.next[id] = now.Add(again)
	f.again, f.reasons = append(f.again, again), append(f.reasons, reason)
	return nil
}

// start runs a Sender until the test ends; its calls go to answer.
func start(t *testing.T, f *fakeStore, answer http.RoundTripper) *Sender {
	t.Helper()
	s := New(Config{Store: f, Grew: func() <-chan struct{} { return nil }, Guard: dial.Guard{AllowLoopback: true}, Log: slog.New(slog.DiscardHandler)})
	if answer != nil {
		s.client.Transport = answer
	}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// calls answers requests without a network and notes them.
type calls struct {
	mu     sync.Mutex
	got    []string
	answer func(n int, r *http.Request) (int, error)
}

func (c *calls) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.got = append(c.got, r.URL.Host+" "+r.Header.Get("Webhook-Id"))
	n := len(c.got)
	c.mu.Unlock()
	status, err := c.answer(n, r)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
}

func (c *calls) list() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

func at(id string) notifier.Endpoint {
	return notifier.Endpoint{ID: id, URL: "https://" + id, Secret: []byte("secret")}
}

func TestAnEventIsSignedAsStandardWebhooksSays(t *testing.T) {
	t.Parallel()
	f := newFake(1)
	got := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		stamp, _ := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
		want := Sign([]byte("secret"), r.Header.Get("webhook-id"), time.Unix(stamp, 0), body)
		if r.Header.Get("webhook-signature") != want || r.Header.Get("webhook-id") != "1" || time.Since(time.Unix(stamp, 0)) > time.Minute {
			got <- fmt.Errorf("headers %v", r.Header)
		}
		got <- nil
	}))
	defer srv.Close()
	f.endpoints["a"] = &notifier.Endpoint{ID: "a", URL: srv.URL, Secret: []byte("secret")}
	start(t, f, nil)
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestASignatureIsTheOneOfTheSpecification(t *testing.T) {
	t.Parallel()
	// The example that its reference implementations are tested with.
	key, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := Sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAnEventIsTriedAgainByTheScheduleWithOneIDAndThenTheEndpointIsDisabled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2, at("a"))
		c := &calls{answer: func(int, *http.Request) (int, error) { return 500, nil }}
		start(t, f, c)
		time.Sleep(100 * time.Hour)
		got := c.list()
		if len(got) != len(schedule)+1 {
			t.Errorf("%d attempts, want %d", len(got), len(schedule)+1)
		}
		for _, g := range got {
			if g != "a 1" {
				t.Errorf("attempt %q, want the first event each time", g)
			}
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, d := range schedule {
			if f.again[i] < d || f.again[i] > d+d/5 {
				t.Errorf("attempt %d waits %s, want %s and a fifth at most", i+1, f.again[i], d)
			}
		}
		if f.endpoints["a"].DisabledAt == nil {
			t.Error("it is not disabled")
		}
	})
}

func TestAnEndpointThatIsGoneIsDisabledAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2, at("a"))
		c := &calls{answer: func(int, *http.Request) (int, error) { return 410, nil }}
		start(t, f, c)
		time.Sleep(time.Hour)
		if got := c.list(); len(got) != 1 || f.endpoints["a"].DisabledAt == nil {
			t.Errorf("calls %q, disabled at %v", got, f.endpoints["a"].DisabledAt)
		}
	})
}

func TestOnly2xxIsSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1, at("a"))
		answers := []int{302, 404, 100 + 99, 204}
		c := &calls{answer: func(n int, _ *http.Request) (int, error) { return answers[n-1], nil }}
		start(t, f, c)
		time.Sleep(2 * time.Hour)
		if got := c.list(); len(got) != 4 || f.after["webhook:a"] != "1" || f.endpoints["a"].Attempts != 0 {
			t.Errorf("calls %q, at %q, %d attempts", got, f.after["webhook:a"], f.endpoints["a"].Attempts)
		}
	})
}

func TestADeadEndpointDelaysItselfAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(300, at("dead"), at("well"))
		c := &calls{answer: func(_ int, r *http.Request) (int, error) {
			if r.URL.Host == "dead" {
				<-r.Context().Done() // never answers
				return 0, r.Context().Err()
			}
			return 200, nil
		}}
		start(t, f, c)
		time.Sleep(5 * time.Second) // less than a call may take
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.after["webhook:well"] != "300" || f.after["webhook:dead"] != "" {
			t.Errorf("well is at %s, dead at %s", f.after["webhook:well"], f.after["webhook:dead"])
		}
	})
}

func TestEventsComeInOrderAndOnceWithTwoProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(250, at("a"))
		c := &calls{answer: func(n int, _ *http.Request) (int, error) {
			if n%40 == 0 {
				return 503, nil
			}
			return 200, nil
		}}
		start(t, f, c)
		start(t, f, c)
		time.Sleep(24 * time.Hour)
		got := slices.Compact(c.list()) // a failed one comes again, next
		var want []string
		for i := range 250 {
			want = append(want, "a "+strconv.Itoa(i+1))
		}
		if !slices.Equal(got, want) {
			t.Errorf("calls %q", got)
		}
	})
}

func TestWhatWasSentAndNotRecordedIsSentAgainWithItsID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1, at("a"))
		f.advance = errors.New("the database is away")
		c := &calls{answer: func(int, *http.Request) (int, error) { return 200, nil }}
		first := start(t, f, c)
		time.Sleep(10 * time.Millisecond)
		first.Stop() // cut between send and record
		f.mu.Lock()
		f.advance = nil
		f.mu.Unlock()
		start(t, f, c)
		time.Sleep(time.Minute)
		if got := c.list(); !slices.Equal(got, []string{"a 1", "a 1"}) {
			t.Errorf("calls %q, want the event again", got)
		}
	})
}

func TestAnAddressThatIsNotPublicIsNotCalled(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called <- struct{}{} }))
	defer srv.Close()
	f := newFake(1, notifier.Endpoint{ID: "a", URL: srv.URL})
	s := New(Config{Store: f, Log: slog.New(slog.DiscardHandler)})
	err := s.send(t.Context(), f.endpoints["a"], &notifier.StreamEvent{ID: "1"})
	if !errors.Is(err, dial.ErrForbidden) || len(called) > 0 {
		t.Errorf("%v", err)
	}
}

// It is put anew between two pages, while nobody is about to note what was sent.
func TestAnEndpointThatWasPutIsNotCalledAsItWas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(250, at("a"))
		leases := 0
		f.leasing = func() {
			if leases++; leases == 2 {
				f.put("a", "https://new")
			}
		}
		c := &calls{answer: func(int, *http.Request) (int, error) { return 200, nil }}
		start(t, f, c)
		time.Sleep(time.Minute)
		for i, call := range c.list() {
			if host := map[bool]string{true: "a ", false: "new "}[i < pageSize]; call != host+strconv.Itoa(i+1) {
				t.Fatalf("call %d is %q", i+1, call)
			}
		}
	})
}

// The answer to the old URL comes after the new one was put.
func TestAnOldURLsFailureIsNotANewOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1, at("a"))
		c := &calls{}
		c.answer = func(n int, _ *http.Request) (int, error) {
			if n > 1 {
				return 200, nil
			}
			f.put("a", "https://new")
			return 410, nil
		}
		start(t, f, c)
		time.Sleep(time.Minute)
		if got := c.list(); !slices.Equal(got, []string{"a 1", "new 1"}) {
			t.Errorf("calls %q", got)
		}
	})
}
