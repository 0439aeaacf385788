package call

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"fanline/delivery"
	"fanline/delivery/dial"
)

// Timeout is how long a call may take.
const Timeout = 10 * time.Second

// How much of an answer is read, in bytes: of a verdict and of a list.
const (
	mostAnswer = 64 << 10
	mostList   = 1 << 20
)

// Answer is what a provider answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Error is a call without an answer.
type Error struct {
	// Sent: the provider may have got it.
	Sent bool
	Err  error
}

func (e *Error) Error() string { return "call the provider: " + e.Err.Error() }

// Unwrap is the error of the call.
func (e *Error) Unwrap() error { return e.Err }

// Do makes a call. Its error is an *Error.
func Do(client *http.Client, req *http.Request) (*Answer, error) {
	return do(client, req, mostAnswer)
}

// DoLong is Do for an answer that is a list.
func DoLong(client *http.Client, req *http.Request) (*Answer, error) {
	return do(client, req, mostList)
}

func do(client *http.Client, req *http.Request, most int64) (*Answer, error) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	res, err := client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		return nil, &Error{Sent: sent.Load(), Err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, most))
	if err != nil {
		return nil, &Error{Sent: true, Err: err}
	}
	return &Answer{Status: res.StatusCode, Header: res.Header, Body: body}, nil
}

// Failed is the verdict on a call without an answer: again, and with Unsure where
// the provider may have got it.
func Failed(err error) delivery.Verdict {
	v := delivery.Verdict{Outcome: delivery.Retry, Reason: Reason(err)}
	if e := (*Error)(nil); errors.As(err, &e) && e.Sent {
		v.Outcome = delivery.Unsure
	}
	return v
}

// Reason is why a call has no answer, in a few words without any address.
func Reason(err error) string {
	var (
		name    *net.DNSError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		cert    *tls.CertificateVerificationError
		wait    net.Error
	)
	switch {
	case errors.Is(err, context.Canceled):
		return "stopped"
	case errors.Is(err, dial.ErrForbidden):
		return "forbidden address"
	case errors.As(err, &name):
		return "name not found"
	case errors.As(err, &wait) && wait.Timeout():
		return "timeout"
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &cert):
		return "certificate not trusted"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	}
	return "connection lost"
}

// mostWait bounds what a provider may ask for.
const mostWait = 24 * time.Hour

// RetryAfter is the header of that name, in seconds or as a date; 0 without one.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if s, err := strconv.Atoi(value); err == nil {
		return min(max(0, time.Duration(min(s, int(mostWait/time.Second)))*time.Second), mostWait)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, at.Sub(now)), mostWait)
	}
	return 0
}

// Words is a status and what a provider said, cut short: "410 Unregistered". What is
// no plain word is left out, since it may hold an address.
func Words(status int, word string) string {
	text := strconv.Itoa(status)
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return -1
	}, word)
	if plain == "" || len(plain) > 60 || plain != word {
		return text
	}
	return text + " " + plain
}
