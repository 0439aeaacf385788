package providers

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Answer is what a service answers, in place of taking a send.
type Answer struct {
	// Status is the HTTP status, or the code of SMTP; 0 takes it.
	Status int
	// Reason in the service's words: APNs' reason, FCM's errorCode, Twilio's code, an enhanced SMTP code and text.
	Reason string
	// Body is the whole answer of an HTTP service, where Reason is not enough.
	Body string
	// Since is when APNs knows a token to be dead.
	Since time.Time
	// RetryAfter is the header of that name.
	RetryAfter string
	// Delay is how long it thinks before it answers. Hang: it never does.
	Delay time.Duration
	Hang  bool
	// Late: a mail server answers so to the whole message, and not at RCPT TO.
	Late bool
	// Accept: it takes the send all the same, before it answers so.
	Accept bool
}

func (a Answer) takes() bool { return a.Status == 0 || a.Accept }

// words are the status with the reason.
func (a Answer) words(ok int) string {
	if a.Status == 0 {
		return strconv.Itoa(ok)
	}
	if a.Reason == "" {
		return strconv.Itoa(a.Status)
	}
	return strconv.Itoa(a.Status) + " " + a.Reason
}

// Script says what a service answers. Without a word in it everything is taken.
type Script struct {
	mu     sync.Mutex
	next   map[string][]Answer
	always map[string]Answer
}

// Next adds answers to the next sends to an address, one each; "" are the next sends
// to any address.
func (s *Script) Next(address string, answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = map[string][]Answer{}
	}
	s.next[address] = append(s.next[address], answers...)
}

// Always answers every send to an address so, once those of Next are used up; "" are
// all addresses.
func (s *Script) Always(address string, a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.always == nil {
		s.always = map[string]Answer{}
	}
	s.always[address] = a
}

// Clear forgets every answer.
func (s *Script) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.always = nil, nil
}

func (s *Script) answer(address string) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range []string{address, ""} {
		if list := s.next[at]; len(list) > 0 {
			s.next[at] = list[1:]
			return list[0]
		}
	}
	for _, at := range []string{address, ""} {
		if a, ok := s.always[at]; ok {
			return a
		}
	}
	return Answer{}
}

// think waits as the answer says; false when the caller left meanwhile.
func (a Answer) think(ctx context.Context) bool {
	if a.Hang {
		<-ctx.Done()
		return false
	}
	if a.Delay <= 0 {
		return true
	}
	t := time.NewTimer(a.Delay)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// write answers an HTTP call.
func (a Answer) write(w http.ResponseWriter, body string) {
	if a.RetryAfter != "" {
		w.Header().Set("Retry-After", a.RetryAfter)
	}
	if a.Body != "" {
		body = a.Body
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.Status)
	_, _ = w.Write([]byte(body))
}
