package web

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"fanline/waitlist"
)

// maxBatch is how many of something one request may bring.
const maxBatch = 1000

// OpeningsBatch is several reports at once.
type OpeningsBatch struct {
	Openings []BatchOpening `json:"openings" maxItems:"1000" nullable:"false"`
}

// BatchOpening is one of them.
type BatchOpening struct {
	ID string `json:"id" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" example:"freed-7"`
	OpeningRequest
}

// rawBatch keeps the items as they came: each is answered for itself, also one
// that cannot be read.
type rawBatch struct {
	Openings []json.RawMessage `json:"openings"`
}

// BatchResults answers a batch in the order asked.
type BatchResults struct {
	Results []BatchResult `json:"results" nullable:"false"`
}

// BatchResult is the status that a single call would have had, with its answer.
type BatchResult struct {
	kept    json.RawMessage // an answer that was made before
	status  int
	id      string
	opening Opening
	problem *Problem
}

// MarshalJSON puts the status beside the fields of the answer.
func (r BatchResult) MarshalJSON() ([]byte, error) {
	if r.kept != nil {
		return r.kept, nil
	}
	if r.problem != nil {
		return json.Marshal(struct {
			ID string `json:"id,omitempty"`
			*Problem
		}{r.id, r.problem})
	}
	return json.Marshal(struct {
		Status int `json:"status"`
		Opening
	}{r.status, r.opening})
}

// Schema documents the fields of both forms.
func (BatchResult) Schema(r huma.Registry) *huma.Schema {
	return resultSchema[Opening](r, "The status that a single call would have had, beside the opening or the problem. "+
		"A problem has the item's id too, where it could be read.")
}

// resultSchema documents an answer within a batch: a T or a problem, with a status.
func resultSchema[T any](r huma.Registry, description string) *huma.Schema {
	props := map[string]*huma.Schema{}
	maps.Copy(props, r.Schema(reflect.TypeFor[Problem](), false, "").Properties)
	maps.Copy(props, r.Schema(reflect.TypeFor[T](), false, "").Properties)
	return &huma.Schema{Type: huma.TypeObject, Properties: props, Required: []string{"status"}, Description: description}
}

func (s *Server) batchCalls() {
	call(s, doc("Openings", "POST", "/v1/shows/{show}/openings:batch", "batch-openings",
		"Record up to 1,000 openings in their order, with an answer for each", 400, 413, 415), s.batchOpenings)
}

type batchOpenings struct {
	ShowPath
	Sent[rawBatch, OpeningsBatch]
}

func (s *Server) batchOpenings(ctx context.Context, in *batchOpenings) (*Answer[BatchResults], error) {
	var batch rawBatch = in.Body.value // named, or staticcheck takes the type for unused
	items := batch.Openings
	if len(items) > maxBatch {
		return nil, waitlist.Wrong("openings", "openings has %d items; at most %d are allowed", len(items), maxBatch)
	}
	once := waitlist.OnceOf(ctx)
	if once != nil {
		once.Steps = len(items)
		if err := s.cfg.Answers.Begin(ctx, once); err != nil {
			return nil, err
		}
	}
	out := BatchResults{Results: make([]BatchResult, len(items))}
	for i, item := range items {
		if len(item) == 0 || item[0] != '{' { // null is empty
			at := fmt.Sprintf("openings[%d]", i)
			out.Results[i] = BatchResult{problem: unreadable(FieldError{at, at + " must be an object"})}
			continue
		}
		if once == nil {
			out.Results[i] = s.batchOpening(ctx, in.Show, item)
			continue
		}
		var err error
		if out.Results[i], err = s.batchOnce(ctx, in.Show, item, once, i+1); err != nil {
			return nil, err
		}
	}
	return answer(http.StatusOK, out)
}

// batchOnce is a step of a batch with an idempotency key: a transaction that keeps
// its own answer, so that a batch that was broken off goes on where it was.
func (s *Server) batchOnce(ctx context.Context, show string, item json.RawMessage, whole *waitlist.Once, n int) (BatchResult, error) {
	step := whole.AtStep(n)
	step.Encode = func(result any) (waitlist.Reply, error) {
		o := result.(waitlist.Opening)
		body, err := json.Marshal(BatchResult{status: http.StatusCreated, opening: openingView(&o, nil)})
		return waitlist.Reply{Status: http.StatusCreated, ContentType: "application/json", Body: body}, err
	}
	r := s.batchOpening(waitlist.WithOnce(ctx, step), show, item)
	if reply, _, kept := step.Reply(); kept {
		return BatchResult{kept: reply.Body}, nil
	}
	switch {
	case step.Busy():
		return r, whole.Wait()
	case step.Clashed():
		return r, whole.Clash()
	case r.problem != nil && r.problem.Status >= 500: // the whole is not done
		return r, r.problem
	}
	return r, nil
}

// batchOpening is one item; what is wrong with it is named as in a single call.
func (s *Server) batchOpening(ctx context.Context, show string, item json.RawMessage) BatchResult {
	var b BatchOpening
	if p := decode(item, &b, ""); p != nil {
		return BatchResult{id: b.ID, problem: p}
	}
	if err := waitlist.CheckID("id", b.ID); err != nil {
		return BatchResult{id: b.ID, problem: s.problem(ctx, err)}
	}
	o, created, err := s.record(ctx, show, b.ID, &b.OpeningRequest)
	switch {
	case err != nil:
		return BatchResult{id: b.ID, problem: s.problem(ctx, err)}
	case created:
		return BatchResult{status: http.StatusCreated, opening: o}
	}
	return BatchResult{status: http.StatusOK, opening: o}
}
