package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"

	"fanline/waitlist"
)

const (
	maxBody = 1 << 20
	// bodyPatience is how long a body may take to arrive.
	bodyPatience = 10 * time.Second
	// patience bounds everything from the request's head to the last byte of its
	// answer, also where nobody reads the body; but for the stream and imports.
	patience = time.Minute
	// defaultTimeout is how long a call may work.
	defaultTimeout = 15 * time.Second
)

// meta is what is known of a request. The handler chain fills it in; it is read
// when the request is done, by the same goroutine.
type meta struct {
	id      string
	key     string // the API key's name
	fan     string // the fan, and when the fan's token ends
	expires time.Time
}

type metaKey struct{}

func metaOf(ctx context.Context) *meta {
	if m, ok := ctx.Value(metaKey{}).(*meta); ok {
		return m
	}
	return &meta{}
}

// observe is the outermost layer: the request's id, the access log, metrics, and
// the answer to a panic.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		m := &meta{id: requestID(r.Header.Get("X-Request-Id"))}
		ctx, span := s.follow(r, m)
		r = r.WithContext(context.WithValue(ctx, metaKey{}, m))
		rec := &recorder{ResponseWriter: w}
		setHeaders(rec.Header(), m.id)
		bound(http.NewResponseController(w), began.Add(patience))
		s.metrics.inFlight.Inc()
		defer func() {
			fault := recover()
			if fault != nil && fault != http.ErrAbortHandler {
				s.panicked(r.Context(), rec, fault)
			}
			s.metrics.inFlight.Dec()
			s.finish(r, rec, m, time.Since(began))
			endSpan(span, r, rec.status)
			if fault == http.ErrAbortHandler {
				panic(fault)
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// bound ends reading from and writing to the caller at t; zero: never. Not all
// writers can: those of tests.
func bound(control *http.ResponseController, t time.Time) {
	_ = control.SetReadDeadline(t)
	_ = control.SetWriteDeadline(t)
}

func (s *Server) panicked(ctx context.Context, rec *recorder, fault any) {
	s.log.LogAttrs(ctx, slog.LevelError, "request panicked", slog.String("request_id", metaOf(ctx).id),
		slog.Any("panic", fault), slog.String("stack", string(debug.Stack())))
	if rec.status == 0 {
		refuse(internal, "something went wrong here; the log has it under the request id").write(rec)
	}
}

// finish writes what may be kept of a request: never its query, headers or body,
// nor who the fan is.
func (s *Server) finish(r *http.Request, rec *recorder, m *meta, took time.Duration) {
	route := routeOf(r)
	s.metrics.observe(r.Method, route, rec.status, took)
	level := slog.LevelInfo
	switch {
	case rec.status >= 500:
		level = slog.LevelWarn
	case strings.HasSuffix(route, "z"): // health checks come all the time
		level = slog.LevelDebug
	}
	who := m.key
	if m.fan != "" {
		who = "(fan)"
	}
	s.log.LogAttrs(r.Context(), level, "request", slog.String("request_id", m.id), slog.String("method", r.Method),
		slog.String("route", route), slog.Int("status", rec.status), slog.Int64("bytes", rec.bytes),
		slog.Duration("took", took), slog.String("by", who))
}

// routeOf is the pattern that took the request.
func routeOf(r *http.Request) string {
	if route := chi.RouteContext(r.Context()).RoutePattern(); route != "" {
		return route
	}
	return "none"
}

// requestID keeps the caller's where it can be shown as it is.
func requestID(given string) string {
	ok := given != "" && len(given) <= 64
	for _, c := range given {
		ok = ok && (c == '-' || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z')
	}
	if ok {
		return given
	}
	return rand.Text()
}

func setHeaders(h http.Header, id string) {
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

// recorder notes what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController and websocket.Accept.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// canonical writes the path in one way, whichever of its characters the caller
// percent-encoded: what routes, what decides who may call, and what is decoded
// into ids is then the same.
func canonical(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		segments := strings.Split(r.URL.EscapedPath(), "/")
		for i, segment := range segments {
			if plain, err := url.PathUnescape(segment); err == nil {
				segments[i] = url.PathEscape(plain)
			}
		}
		u := *r.URL
		u.RawPath = strings.Join(segments, "/")
		r.URL = &u
		next.ServeHTTP(w, r)
	})
}

// limits bounds a call in time and its body in size, and reads the body before
// anything else happens. It is huma's middleware, since what has no operation, or
// streams, is bounded elsewhere.
func (s *Server) limits(c huma.Context, next func(huma.Context)) {
	r, w := humachi.Unwrap(c)
	if p := checkQuery(r.URL.RawQuery); p != nil {
		p.write(w)
		return
	}
	takesBody := c.Operation().RequestBody != nil
	keyed := r.Method == http.MethodPost && len(r.Header.Values(onceHeader)) > 0
	var body []byte
	if takesBody || keyed { // a key goes by the body also where it means nothing
		var p *Problem
		if body, p = readBody(w, r, takesBody, maxBody); p != nil {
			p.write(w)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
	ctx, cancel := context.WithTimeout(c.Context(), s.cfg.Timeout)
	defer cancel()
	if keyed {
		s.once(c, ctx, body, next)
		return
	}
	next(huma.WithContext(c, ctx))
}

// checkQuery refuses what reading the parameters would pass over: pairs that cannot
// be read, and a parameter's second value.
func checkQuery(query string) *Problem {
	params, err := url.ParseQuery(query)
	if err != nil {
		return unreadable(FieldError{"query", "the query cannot be read; percent-encode the values and put & between parameters"})
	}
	for name, values := range params {
		if len(values) > 1 {
			return refuse(waitlist.Invalid, "").naming(FieldError{name, name + " stands there twice"})
		}
	}
	return nil
}

func readBody(w http.ResponseWriter, r *http.Request, json bool, most int64) ([]byte, *Problem) {
	if json {
		if p := checkType(r.Header, "application/json"); p != nil {
			return nil, p
		}
	}
	// The deadline goes again when the body is there: net/http reads on, and an
	// expired one would end the request's context.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyPatience))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err != nil {
		return nil, bodyProblem(err)
	}
	return body, nil
}

func bodyProblem(err error) *Problem {
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuse(tooLarge, fmt.Sprintf("a body may have %d KiB at most", e.Limit>>10))
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return unreadable(FieldError{"body", "the body took too long to arrive"}).header("Connection", "close")
	}
	return unreadable(FieldError{"body", "the body ended before it was complete"})
}

// checkType refuses a body that says it is something else than one of the types.
func checkType(h http.Header, types ...string) *Problem {
	wrong := func(name, detail string) *Problem {
		return unreadable(FieldError{name, detail}).as(http.StatusUnsupportedMediaType)
	}
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return wrong("Content-Encoding", "send the body without Content-Encoding")
	}
	given := h.Get("Content-Type")
	if given == "" {
		return nil
	}
	got, params, err := mime.ParseMediaType(given)
	if charset := params["charset"]; err == nil && (charset == "" || strings.EqualFold(charset, "utf-8")) {
		for _, t := range types {
			if got == t {
				return nil
			}
		}
	}
	return wrong("Content-Type", "send the body as "+strings.Join(types, " or ")+" in UTF-8")
}
