package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// call registers an operation: huma routes it, checks its parameters by their
// schema and documents it; its body is decoded by decode, and what fn returns as
// an error becomes a Problem.
func call[I, O any](s *Server, op huma.Operation, fn func(context.Context, *I) (*O, error)) {
	op.SkipValidateBody = true // waitlist's rules say more
	op.BodyReadTimeout = -1    // limits has read it
	op.MaxBodyBytes = maxBody + 1
	first := op.DefaultStatus
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		if b, ok := any(in).(interface{ fault() *Problem }); ok {
			if p := b.fault(); p != nil {
				return nil, p
			}
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
	if first != 0 { // the same answer for what stands already
		item := s.api.OpenAPI().Paths[op.Path]
		for _, o := range []*huma.Operation{item.Put, item.Post} {
			if o != nil && o.OperationID == op.OperationID {
				there := *o.Responses[strconv.Itoa(first)]
				there.Description = "It stands already, and this is its present state."
				o.Responses["200"] = &there
			}
		}
	}
}

// doc is what all operations of a kind share.
func doc(tag, method, path, id, summary string, errs ...int) huma.Operation {
	op := huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{tag},
		Security: []map[string][]string{{"apiKey": {}}},
		Errors:   append([]int{401, 503}, errs...),
	}
	if areaOf(path) == areaFan {
		op.Security = []map[string][]string{{"fanToken": {}}}
	}
	if method == http.MethodPost && !strings.HasSuffix(path, ":import") {
		op.Parameters = []*huma.Param{onceParam()}
		if !slices.Contains(op.Errors, http.StatusConflict) {
			op.Errors = append(op.Errors, http.StatusConflict)
		}
	}
	return op
}

// creating is an operation that answers 201, or 200 for what stands already.
func creating(op huma.Operation) huma.Operation {
	op.DefaultStatus = http.StatusCreated
	return op
}

// accepting is an operation that answers 202, or 200 for what was taken already.
func accepting(op huma.Operation) huma.Operation {
	op.DefaultStatus = http.StatusAccepted
	return op
}

// Sent is a request body: decoded into V, documented as D.
type Sent[V, D any] struct {
	Body strict[V, D]
}

func (b *Sent[V, D]) fault() *Problem { return b.Body.problem }

// MaybeSent is a body that may be missing.
type MaybeSent[V, D any] struct {
	Body *strict[V, D]
}

func (b *MaybeSent[V, D]) fault() *Problem {
	if b.Body == nil {
		b.Body = &strict[V, D]{}
	}
	return b.Body.problem
}

type strict[V, D any] struct {
	value   V
	problem *Problem
}

func (s *strict[V, D]) decode(data []byte) { s.problem = decode(data, &s.value, "") }

// Schema documents the body.
func (strict[V, D]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[D](), true, "")
}

// jsonFormat reads bodies strictly and writes answers. A failure to write is the
// caller's: it is gone.
var jsonFormat = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		b, err := json.Marshal(v)
		if err == nil {
			_, _ = w.Write(append(b, '\n'))
		}
		return err
	},
	Unmarshal: func(data []byte, v any) error {
		if p := reflect.ValueOf(v).Elem(); p.Kind() == reflect.Pointer {
			p.Set(reflect.New(p.Type().Elem()))
			v = p.Interface()
		}
		v.(interface{ decode(data []byte) }).decode(data)
		return nil
	},
}

// Answer is a status and a body.
type Answer[T any] struct {
	Status int
	Body   T
}

func answer[T any](status int, body T) (*Answer[T], error) {
	return &Answer[T]{Status: status, Body: body}, nil
}

// made is 201 for what is new and 200 for what stood already.
func made[T any](created bool, body T) (*Answer[T], error) {
	if created {
		return answer(http.StatusCreated, body)
	}
	return answer(http.StatusOK, body)
}

// Nothing is the answer 204.
type Nothing struct{}
