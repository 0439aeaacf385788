package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fanline/delivery"
)

func TestRetryAfterIsSecondsOrADateAndBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 6, 7, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "99999999999": 24 * time.Hour, "999999": 24 * time.Hour,
		"Wed, 06 May 2026 07:01:00 GMT": time.Minute, "Wed, 06 May 2026 06:00:00 GMT": 0, "Fri, 06 May 2027 06:00:00 GMT": 24 * time.Hour,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestAReasonHoldsPlainWordsOnly(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"Unregistered": "410 Unregistered", "": "410", "no such user ada@mail.example": "410", "+41791234567": "410",
		strings.Repeat("a", 61): "410", "INVALID_ARGUMENT": "410 INVALID_ARGUMENT",
	} {
		if got := Words(410, word); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestACallThatWasSentMayHaveBeenTaken(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "cut") {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see the caller leave
		<-r.Context().Done()
	}))
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, want := range map[string]string{"/cut": "connection lost", "/hang": "timeout"} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, strings.NewReader("x"))
		_, err := Do(client, req)
		cancel()
		if v := Failed(err); v.Outcome != delivery.Unsure || v.Reason != want {
			t.Errorf("%s: %+v", path, v)
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1/token-1", strings.NewReader("x"))
	_, err := Do(client, req)
	if v := Failed(err); v.Outcome != delivery.Retry || v.Reason != "connection refused" {
		t.Errorf("nobody there: %+v", v)
	}
	if v := Failed(fmt.Errorf("other: %w", errors.New("secret-token"))); v.Outcome != delivery.Retry || strings.Contains(v.Reason, "secret") {
		t.Errorf("%+v", v)
	}
}

func TestAnEndlessAnswerIsReadUpToABound(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 32<<10)); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, nil)
	a, err := Do(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, req)
	if err != nil || len(a.Body) != mostAnswer {
		t.Errorf("%v", err)
	}
}
