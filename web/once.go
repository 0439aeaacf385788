package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"fanline/notifier"
	"fanline/waitlist"
)

const (
	onceHeader     = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
	maxOnceKey     = 255
	// twinPatience is how long a request waits for its twin.
	twinPatience = 5 * time.Second
)

// Answers keeps the answers to requests with an idempotency key, in the
// transactions of their effects. What became of a request stands in the Once; an
// error that is none of its refusals is a fault. *store.Store is one.
type Answers interface {
	// Begin claims the key of a request that takes several transactions.
	Begin(ctx context.Context, o *waitlist.Once) error
	// Settle keeps the answer to a request that had no effect, or whose steps are
	// all done.
	Settle(ctx context.Context, o *waitlist.Once, r waitlist.Reply) error
}

// onceParam documents the key.
func onceParam() *huma.Param {
	length := func(n int) *int { return &n }
	return &huma.Param{Name: onceHeader, In: "header", Schema: &huma.Schema{
		Type: huma.TypeString, MinLength: length(1), MaxLength: length(maxOnceKey), Examples: []any{"7f3c9a52"},
		Description: "Printable ASCII. The same request with the same key takes effect once: for 24 h its answer is repeated, " +
			"with " + replayedHeader + ": true. Another request with the key is refused as conflict.",
	}}
}

// once answers a POST with an idempotency key. The call runs as any other, with
// the key in its context: what changes the line keeps the answer in its own
// transaction, by the encoder that the call gave it (keeps), and refuses a request
// that was answered before. Only an answer without an effect is kept here.
func (s *Server) once(c huma.Context, ctx context.Context, body []byte, next func(huma.Context)) {
	r, w := humachi.Unwrap(c)
	o, p := s.onceOf(r, body)
	if p != nil {
		p.write(w)
		return
	}
	ctx = waitlist.WithOnce(ctx, o)
	deadline := time.Now().Add(twinPatience)
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		o.Again()
		got := newRecording()
		again := r.WithContext(ctx)
		again.Body = io.NopCloser(bytes.NewReader(body))
		next(humachi.NewContext(c.Operation(), again, got))
		err := s.settle(ctx, o, got)
		if !o.Busy() {
			s.answerOnce(ctx, w, o, got, err)
			return
		}
		if time.Until(deadline) < pause || !notifier.Pause(ctx, pause) {
			s.problem(ctx, o.Wait()).write(w)
			return
		}
	}
}

func (s *Server) onceOf(r *http.Request, body []byte) (*waitlist.Once, *Problem) {
	if s.cfg.Answers == nil {
		return nil, refuse(waitlist.Unavailable, "idempotency keys are not kept here").after(time.Minute)
	}
	given := r.Header.Values(onceHeader)
	ok := len(given) == 1 && given[0] != "" && len(given[0]) <= maxOnceKey
	for _, c := range given[0] {
		ok = ok && ' ' <= c && c <= '~'
	}
	if !ok {
		return nil, unreadable(FieldError{onceHeader, fmt.Sprintf("%s must be one word of 1 to %d printable ASCII characters", onceHeader, maxOnceKey)})
	}
	m := metaOf(r.Context())
	return &waitlist.Once{
		Caller: m.key, Fan: m.fan, Key: given[0],
		Request: sha256.Sum256(fmt.Appendf(nil, "%s %s\n%s", r.Method, r.URL.RawPath, body)),
	}, nil
}

// settle keeps an answer that no transaction of an effect kept. One that says to
// try again is none: neither a fault nor a limit.
func (s *Server) settle(ctx context.Context, o *waitlist.Once, got *recording) error {
	if _, _, kept := o.Reply(); kept || o.Busy() || o.Clashed() || got.status >= 500 || got.status == http.StatusTooManyRequests {
		return nil
	}
	return s.cfg.Answers.Settle(ctx, o, got.reply())
}

func (s *Server) answerOnce(ctx context.Context, w http.ResponseWriter, o *waitlist.Once, got *recording, err error) {
	reply, replayed, kept := o.Reply()
	switch {
	case kept:
		if replayed {
			w.Header().Set(replayedHeader, "true")
		}
		writeReply(w, reply)
	case o.Clashed():
		s.problem(ctx, o.Clash()).write(w)
	case err != nil:
		s.problem(ctx, err).write(w)
	default:
		got.writeTo(w)
	}
}

func writeReply(w http.ResponseWriter, r waitlist.Reply) {
	h := w.Header()
	for name, value := range map[string]string{"Content-Type": r.ContentType, "Location": r.Location, "Retry-After": r.RetryAfter} {
		if value != "" {
			h.Set(name, value)
		}
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body) // the caller may be gone
}

// recording is an answer that is not sent yet.
type recording struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newRecording() *recording { return &recording{header: http.Header{}} }

func (r *recording) Header() http.Header { return r.header }

func (r *recording) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recording) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}

func (r *recording) reply() waitlist.Reply {
	return waitlist.Reply{
		Status: r.status, ContentType: r.header.Get("Content-Type"),
		Location: r.header.Get("Location"), RetryAfter: r.header.Get("Retry-After"), Body: r.body.Bytes(),
	}
}

func (r *recording) writeTo(w http.ResponseWriter) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body.Bytes())
}

// keeps says how the result R of the call's one change becomes its answer, for the
// transaction that keeps it.
func keeps[R, T any](ctx context.Context, view func(R) (*Answer[T], error)) {
	o := waitlist.OnceOf(ctx)
	if o == nil {
		return
	}
	o.Encode = func(result any) (waitlist.Reply, error) {
		r, ok := result.(R)
		if !ok {
			return waitlist.Reply{}, fmt.Errorf("the answer is made of a %T, not of a %T", r, result)
		}
		a, err := view(r)
		if refused, ok := errors.AsType[*waitlist.Error](err); ok {
			return refusal(refused).reply()
		}
		if err != nil {
			return waitlist.Reply{}, err
		}
		body, err := json.Marshal(a.Body)
		return waitlist.Reply{Status: a.Status, ContentType: "application/json", Body: append(body, '\n')}, err
	}
}

// keepsNothing is keeps for a call that answers 204.
func keepsNothing(ctx context.Context) {
	if o := waitlist.OnceOf(ctx); o != nil {
		o.Encode = func(any) (waitlist.Reply, error) { return waitlist.Reply{Status: http.StatusNoContent}, nil }
	}
}

// reply is the problem as write sends it.
func (p *Problem) reply() (waitlist.Reply, error) {
	got := newRecording()
	p.write(got)
	return got.reply(), nil
}
