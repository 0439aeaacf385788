package web

import (
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// plain registers an operation that huma only documents: one that streams, or
// that answers without its help.
func (s *Server) plain(op huma.Operation, h http.HandlerFunc) {
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	for _, status := range op.Errors {
		op.Responses[strconv.Itoa(status)] = s.problemResponse(status)
	}
	s.api.OpenAPI().AddOperation(&op)
	s.router.Method(op.Method, op.Path, h)
}

func (s *Server) problemResponse(status int) *huma.Response {
	return &huma.Response{
		Description: http.StatusText(status),
		Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: s.schemaOf(Problem{})}},
	}
}

func (s *Server) schemaOf(v any) *huma.Schema {
	return s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(v), true, "")
}

// paramsOf documents the parameters of an input as huma would.
func (s *Server) paramsOf(v any) []*huma.Param {
	var params []*huma.Param
	t := reflect.TypeOf(v)
	for _, f := range reflect.VisibleFields(t) {
		for _, in := range []string{"path", "query"} {
			if name := f.Tag.Get(in); name != "" {
				schema := huma.SchemaFromField(s.api.OpenAPI().Components.Schemas, f, "")
				params = append(params, &huma.Param{Name: name, In: in, Required: in == "path", Description: schema.Description, Schema: schema})
			}
		}
	}
	return params
}
