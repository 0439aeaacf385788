package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fanline/delivery"
	"fanline/waitlist"
)

// The codes that no rule of the line refuses with.
const (
	unauthenticated  waitlist.Code = "unauthenticated"
	forbidden        waitlist.Code = "forbidden"
	methodNotAllowed waitlist.Code = "method_not_allowed"
	tooLarge         waitlist.Code = "too_large"
	rateLimited      waitlist.Code = "rate_limited"
	internal         waitlist.Code = "internal"
)

// statuses is the one place where codes become HTTP.
var statuses = map[waitlist.Code]int{
	waitlist.Invalid:        http.StatusUnprocessableEntity,
	unauthenticated:         http.StatusUnauthorized,
	forbidden:               http.StatusForbidden,
	waitlist.NotFound:       http.StatusNotFound,
	methodNotAllowed:        http.StatusMethodNotAllowed,
	waitlist.Conflict:       http.StatusConflict,
	waitlist.NotYourTurn:    http.StatusConflict,
	waitlist.AlreadyClaimed: http.StatusConflict,
	waitlist.AllHeld:        http.StatusConflict,
	waitlist.TurnOver:       http.StatusGone,
	waitlist.Filled:         http.StatusGone,
	waitlist.Closed:         http.StatusGone,
	tooLarge:                http.StatusRequestEntityTooLarge,
	rateLimited:             http.StatusTooManyRequests,
	waitlist.Unavailable:    http.StatusServiceUnavailable,
	internal:                http.StatusInternalServerError,
}

// mostErrors is how many wrong fields one answer names.
const mostErrors = 20

// Problem is an error as callers get it: RFC 9457 with a code for programs.
type Problem struct {
	Type   string        `json:"type" example:"about:blank" doc:"Always about:blank: the code says more."`
	Title  string        `json:"title" example:"Unprocessable Entity"`
	Status int           `json:"status" example:"422"`
	Detail string        `json:"detail" example:"party_size must be 1 to 20" doc:"What is wrong and what to do about it, for people."`
	Code   waitlist.Code `json:"code" enum:"invalid,unauthenticated,forbidden,not_found,method_not_allowed,conflict,not_your_turn,already_claimed,all_held,turn_over,filled,closed,too_large,rate_limited,unavailable,internal" doc:"What is wrong, for programs."`
	Errors []FieldError  `json:"errors,omitempty" nullable:"false" doc:"The inputs that are wrong, by name."`

	retryAfter time.Duration
	headers    http.Header
}

// FieldError is one wrong input.
type FieldError struct {
	Field  string `json:"field" example:"party_size" doc:"The field, parameter or, inside objects and lists, the path to it."`
	Detail string `json:"detail" example:"party_size must be 1 to 20"`
}

func refuse(code waitlist.Code, detail string) *Problem {
	status := statuses[code]
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code}
}

// unreadable refuses input that could not be read at all.
func unreadable(errs ...FieldError) *Problem {
	return refuse(waitlist.Invalid, "").as(http.StatusBadRequest).naming(errs...)
}

// as changes the status, for the codes that have two.
func (p *Problem) as(status int) *Problem {
	p.Status, p.Title = status, http.StatusText(status)
	return p
}

func (p *Problem) after(d time.Duration) *Problem {
	p.retryAfter = d
	return p
}

func (p *Problem) header(name, value string) *Problem {
	if p.headers == nil {
		p.headers = http.Header{}
	}
	p.headers.Add(name, value)
	return p
}

// naming adds the inputs that are wrong; the first also becomes the detail.
func (p *Problem) naming(errs ...FieldError) *Problem {
	p.Errors = append(p.Errors, errs[:min(len(errs), mostErrors)]...)
	if p.Detail == "" && len(p.Errors) > 0 {
		p.Detail = p.Errors[0].Detail
		if n := len(p.Errors); n > 1 {
			p.Detail += " (and " + strconv.Itoa(n-1) + " more)"
		}
	}
	return p
}

// Error makes a Problem an error that handlers return.
func (p *Problem) Error() string { return string(p.Code) + ": " + p.Detail }

// GetStatus is for huma.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is for huma.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders is for huma.
func (p *Problem) GetHeaders() http.Header {
	h := p.headers.Clone()
	if h == nil {
		h = http.Header{}
	}
	if p.retryAfter > 0 {
		h.Set("Retry-After", seconds(p.retryAfter))
	}
	return h
}

// seconds rounds up: who waits that long must not come too early.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// write sends the problem outside of huma.
func (p *Problem) write(w http.ResponseWriter) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the caller may be gone
}

// problem turns any error into its answer. What is neither a Problem nor a
// refusal is a fault: its text goes to the log alone.
func (s *Server) problem(ctx context.Context, err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*waitlist.Error](err); ok && statuses[e.Code] != 0 {
		return refusal(e)
	}
	if e, ok := errors.AsType[*delivery.BadInput](err); ok {
		return refuse(waitlist.Invalid, e.Detail).naming(FieldError{e.Field, e.Detail})
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded):
		s.log.LogAttrs(ctx, slog.LevelWarn, "request out of time", slog.String("request_id", metaOf(ctx).id), slog.Any("error", err))
		return refuse(waitlist.Unavailable, "this took too long; try again").after(time.Second)
	case errors.Is(ctx.Err(), context.Canceled):
		return refuse(waitlist.Unavailable, "the request was given up").after(time.Second)
	}
	s.log.LogAttrs(ctx, slog.LevelError, "request failed", slog.String("request_id", metaOf(ctx).id), slog.Any("error", err))
	return refuse(internal, "something went wrong here; the log has it under the request id")
}

func refusal(e *waitlist.Error) *Problem {
	p := refuse(e.Code, e.Detail).after(e.RetryAfter)
	if e.Code == waitlist.Unavailable && e.RetryAfter == 0 {
		p.after(time.Second)
	}
	if e.Field != "" {
		p.naming(FieldError{e.Field, e.Detail})
	}
	return p
}

// huma makes its own errors through this variable; it offers no other way. It is
// set once, before anything runs, to the same for all servers.
func init() { huma.NewError = fromHuma }

// fromHuma is an error that huma found itself, in parameters or in a missing
// body. Values are not repeated: they may be secrets.
func fromHuma(status int, msg string, errs ...error) huma.StatusError {
	code := waitlist.Invalid
	switch {
	case status == http.StatusRequestEntityTooLarge:
		code = tooLarge
	case status >= 500:
		return refuse(internal, "something went wrong here")
	}
	p := refuse(code, "").as(status)
	for _, err := range errs {
		d, ok := errors.AsType[*huma.ErrorDetail](err)
		if !ok {
			continue
		}
		_, field, _ := strings.Cut(d.Location, ".")
		p.naming(FieldError{field, field + ": " + d.Message})
	}
	if p.Detail == "" {
		p.Detail = msg
	}
	return p
}
