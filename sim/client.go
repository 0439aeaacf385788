package sim

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// NewHTTPClient is a client whose pool keeps connections for several hundred
// parallel calls to each instance. It has no timeout of its own; contexts bound
// the calls. Close its idle connections when done with it.
func NewHTTPClient() *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		DialContext:         dialer.DialContext,
		MaxIdleConns:        0, // no bound over all instances
		MaxIdleConnsPerHost: 512,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
	}}
}

// Option changes how an App or a Me makes its calls.
type Option func(*client)

// WithRetry makes calls try again, on the next instance, while a server refuses
// the connection, drops it, or answers 503: for at most total, or until the
// context ends where total is 0. Imports are never tried again, and a PATCH only
// where it certainly did not arrive.
func WithRetry(total time.Duration, b Backoff) Option {
	return func(c *client) { c.retry = &retry{total: total, backoff: b} }
}

// WithHTTPClient shares one pool between several callers; they leave it open.
func WithHTTPClient(h *http.Client) Option {
	return func(c *client) { c.http, c.shared = h, true }
}

type retry struct {
	total   time.Duration
	backoff Backoff
}

// client makes JSON calls to instances in turn, with one bearer.
type client struct {
	bases  []string
	next   *atomic.Uint64
	bearer string
	http   *http.Client
	shared bool
	retry  *retry
	pause  func(context.Context, time.Duration) error
}

func newClient(bases []string, bearer string, opts []Option) *client {
	c := &client{next: new(atomic.Uint64), bearer: bearer, pause: pause}
	for _, b := range bases {
		c.bases = append(c.bases, strings.TrimRight(b, "/"))
	}
	for _, o := range opts {
		o(c)
	}
	if c.http == nil {
		c.http = NewHTTPClient()
	}
	return c
}

func (c *client) base() string {
	if len(c.bases) == 0 {
		return ""
	}
	return c.bases[(c.next.Add(1)-1)%uint64(len(c.bases))]
}

func (c *client) at(i int) *client {
	one := *c
	one.bases, one.shared = c.bases[i:i+1], true
	return &one
}

func (c *client) close() {
	if !c.shared {
		c.http.CloseIdleConnections()
	}
}

// call sends in as JSON (nothing where nil), reads the answer into out (nowhere
// where nil), and returns the status. Anything from 300 on is a *Problem.
func (c *client) call(ctx context.Context, method, path string, in, out any) (int, error) {
	return c.try(ctx, request{method: method, path: path}, in, out)
}

// once is call for a POST that the contract does not make repeatable by itself:
// when it may be tried again, it carries an idempotency key.
func (c *client) once(ctx context.Context, path string, in, out any) (int, error) {
	r := request{method: http.MethodPost, path: path}
	if c.retry != nil {
		r.key = rand.Text()
	}
	return c.try(ctx, r, in, out)
}

type request struct {
	method, path, key string
	kind              string // content type of body; "" is JSON
	body              []byte
}

func (c *client) try(ctx context.Context, r request, in, out any) (int, error) {
	if in != nil {
		var err error
		if r.body, err = json.Marshal(in); err != nil {
			return 0, fmt.Errorf("%s %s: %w", r.method, r.path, err)
		}
	}
	start := time.Now()
	for n := 0; ; n++ {
		status, err := c.send(ctx, r, out)
		if err == nil || !c.again(ctx, r, err) {
			return status, err
		}
		wait := c.retry.backoff.Delay(n) + retryAfterOf(err)
		if c.retry.total > 0 && time.Since(start)+wait > c.retry.total {
			return status, err
		}
		if c.pause(ctx, wait) != nil {
			return status, err
		}
	}
}

func retryAfterOf(err error) time.Duration {
	var p *Problem
	if errors.As(err, &p) {
		return p.RetryAfter
	}
	return 0
}

// again says whether a failed call may be repeated without doing its work twice.
func (c *client) again(ctx context.Context, r request, err error) bool {
	if c.retry == nil || ctx.Err() != nil {
		return false
	}
	var p *Problem
	if errors.As(err, &p) {
		// The twin of a keyed call that was cut off may still be running.
		twin := r.key != "" && p.Code == "conflict" && p.RetryAfter > 0
		return p.Status == http.StatusServiceUnavailable || twin
	}
	var decode *decodeError
	if errors.As(err, &decode) {
		return false
	}
	return r.method != http.MethodPatch || errors.Is(err, syscall.ECONNREFUSED)
}

// decodeError is a whole answer that does not fit the contract.
type decodeError struct {
	call string
	err  error
}

func (e *decodeError) Error() string { return fmt.Sprintf("%s: unexpected answer: %v", e.call, e.err) }
func (e *decodeError) Unwrap() error { return e.err }

func (c *client) send(ctx context.Context, r request, out any) (int, error) {
	call := r.method + " " + r.path
	req, err := http.NewRequestWithContext(ctx, r.method, c.base()+r.path, bytes.NewReader(r.body))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", call, err)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", cmp.Or(r.kind, "application/json"))
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	return c.roundTrip(call, req, out)
}

// mostAnswer is what is read of an answer, in bytes: far more than any page has.
const mostAnswer = 64 << 20

func (c *client) roundTrip(call string, req *http.Request, out any) (int, error) {
	req.Header.Set("Authorization", "Bearer "+c.bearer)
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", call, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return resp.StatusCode, readProblem(call, resp)
	}
	// Read to the end, or the connection is not used again.
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return resp.StatusCode, fmt.Errorf("%s: %w", call, err)
	}
	if out == nil || len(body) == 0 {
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return resp.StatusCode, &decodeError{call, err}
	}
	return resp.StatusCode, nil
}

type page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
}

// pages walks a list to its end; the sequence stops after its first error.
func pages[T any](ctx context.Context, c *client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q := url.Values{"limit": {"500"}}
		for k, v := range query {
			q[k] = v
		}
		for {
			var p page[T]
			if _, err := c.call(ctx, http.MethodGet, path+"?"+q.Encode(), nil, &p); err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.NextCursor == nil {
				return
			}
			q.Set("cursor", *p.NextCursor)
		}
	}
}

// path joins segments into a path, each escaped.
func path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String()
}
