package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"unicode"
	"unicode/utf8"

	"fanline/waitlist"
)

// refusal is a page that says no.
type refusal struct {
	status   int
	sentence string
}

func (e *refusal) Error() string { return e.sentence }

// refused turns a refusal of the line into a status and a sentence. ok is false
// for faults.
func refused(err error) (status int, sentence string, ok bool) {
	if e, is := errors.AsType[*refusal](err); is {
		return e.status, e.sentence, true
	}
	e, is := errors.AsType[*waitlist.Error](err)
	if !is {
		return 0, "", false
	}
	switch e.Code {
	case waitlist.Invalid:
		status = http.StatusUnprocessableEntity
	case waitlist.NotFound:
		status = http.StatusNotFound
	case waitlist.Closed:
		status = http.StatusGone
	case waitlist.Unavailable:
		status = http.StatusServiceUnavailable
	default:
		status = http.StatusConflict
	}
	return status, asSentence(e.Detail), true
}

// asSentence begins with a capital and ends with a stop.
func asSentence(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[n:]
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

// page makes a handler of one that fails with an error.
func (a *Admin) page(f func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := f(w, r); err != nil {
			a.fail(w, r, err)
		}
	}
}

// fail answers with a page that says what went wrong. Of a fault that is only the
// request's id.
func (a *Admin) fail(w http.ResponseWriter, r *http.Request, err error) {
	v := &view{Title: "Not possible"}
	status, sentence, ok := refused(err)
	switch {
	case ok:
		v.Status, v.Error = status, sentence
		if status == http.StatusNotFound {
			v.Title = "Not found"
		}
	case errors.Is(err, errBusy), errors.Is(err, context.DeadlineExceeded), errors.Is(r.Context().Err(), context.DeadlineExceeded):
		w.Header().Set("Retry-After", "5")
		v.Status, v.Error = http.StatusServiceUnavailable, "This took too long. Try again in a moment."
	default:
		id := w.Header().Get("X-Request-Id")
		a.log.LogAttrs(r.Context(), slog.LevelError, "admin page failed", slog.String("request_id", id), slog.Any("error", err))
		v.Title, v.Status = "Something went wrong", http.StatusInternalServerError
		v.Error = "Something went wrong here. The server's log has it under the request id " + id + ". Look whether it was done before you try again."
	}
	if err := a.render(w, r, "problem", v); err != nil {
		http.Error(w, "something went wrong", http.StatusInternalServerError)
	}
}

func (a *Admin) crossOrigin(w http.ResponseWriter, r *http.Request) {
	a.fail(w, r, &refusal{http.StatusForbidden, "This was sent by another site's page, so nothing was done. " +
		"If it was you, open the page here and do it again; behind a proxy, FANLINE_PUBLIC_URL must be the address that browsers see."})
}

// headers are those of every page; assets change them.
func (a *Admin) headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		if h.Get("X-Request-Id") == "" {
			h.Set("X-Request-Id", rand.Text())
		}
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; connect-src 'self'; "+
			"style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// recovered makes a page of a panic.
func (a *Admin) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if fault := recover(); fault != nil {
				if fault == http.ErrAbortHandler {
					panic(fault)
				}
				a.fail(w, r, fmt.Errorf("panic: %v\n%s", fault, debug.Stack()))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// bounded bounds a request in time and size, and reads its form.
func (a *Admin) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if err := r.ParseForm(); err != nil {
			status, sentence := http.StatusBadRequest, "The form could not be read."
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				status, sentence = http.StatusRequestEntityTooLarge, "The form is too large."
			}
			a.fail(w, r, &refusal{status, sentence})
			return
		}
		next.ServeHTTP(w, r)
	})
}
