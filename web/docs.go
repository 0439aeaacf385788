package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"fanline/waitlist"
)

// The page at /docs is made once, from the OpenAPI document, of HTML and a style
// sheet alone: no script, and nothing from anywhere else.
var (
	//go:embed docs/page.html
	docsHTML string
	//go:embed docs/style.css
	docsStyle string

	docsTemplate = template.Must(template.New("docs").Parse(docsHTML))
)

// docsAreas are the tags in the order of the page.
var docsAreas = []string{"Shows", "Line", "Openings", "Claims", "Messages", "Fans", "Fan", providersArea, "Health"}

type docsPage struct {
	Version, Description string
	Style                template.CSS
	Areas                []docsArea
	Codes                []docsCode
}

type docsCode struct {
	Code   waitlist.Code
	Status int
}

type docsArea struct {
	Name  string
	Calls []docsCall
}

type docsCall struct {
	ID, Method, Path, Summary, Description, Who string
	Params, Body                                []docsField
	Request                                     string
	Answers                                     []docsAnswer
	Errors                                      string
}

type docsAnswer struct {
	Status, Text string
	Fields       []docsField
	Example      string
}

type docsField struct{ Name, Type, Text string }

// docsCalls serves the page.
func (s *Server) docsCalls() {
	page := &huma.Response{Description: "HTML", Content: map[string]*huma.MediaType{"text/html": {Schema: &huma.Schema{Type: huma.TypeString}}}}
	s.plain(open(http.MethodGet, "/docs", "docs", "This document, to read", page), s.docs)
	sum := sha256.Sum256([]byte(docsStyle))
	s.docsPolicy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

func (s *Server) docs(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Security-Policy", s.docsPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(s.docsHTML)
}

// makeDocs makes the page from the document, which must be complete.
func (s *Server) makeDocs() ([]byte, error) {
	o := s.api.OpenAPI()
	d := docsMaker{o.Components.Schemas}
	p := docsPage{Version: o.Info.Version, Description: o.Info.Description, Style: template.CSS(docsStyle)}
	for code, status := range statuses {
		p.Codes = append(p.Codes, docsCode{code, status})
	}
	slices.SortFunc(p.Codes, func(a, b docsCode) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
	for _, name := range docsAreas {
		area := docsArea{Name: name}
		for _, path := range slices.Sorted(maps.Keys(o.Paths)) {
			for _, op := range operations(o.Paths[path]) {
				if slices.Contains(op.Tags, name) {
					area.Calls = append(area.Calls, d.call(op))
				}
			}
		}
		p.Areas = append(p.Areas, area)
	}
	var b bytes.Buffer
	err := docsTemplate.Execute(&b, p)
	return b.Bytes(), err
}

// operations are a path's, in the order that people think of them.
func operations(item *huma.PathItem) []*huma.Operation {
	return slices.DeleteFunc([]*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete},
		func(op *huma.Operation) bool { return op == nil })
}

type docsMaker struct{ schemas huma.Registry }

func (d docsMaker) call(op *huma.Operation) docsCall {
	c := docsCall{
		ID: op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary, Description: op.Description, Who: "open to all",
		Request: d.request(op),
	}
	for _, need := range op.Security {
		for name := range need {
			c.Who = map[string]string{"apiKey": "API key", "fanToken": "fan's token"}[name]
		}
	}
	if slices.Contains(op.Tags, providersArea) {
		c.Who = "signature"
	}
	for _, p := range op.Parameters {
		f := d.field(p.Name, p.Schema, p.Required)
		f.Text = strings.TrimSpace("in the " + p.In + ". " + f.Text)
		c.Params = append(c.Params, f)
	}
	if op.RequestBody != nil {
		if m := op.RequestBody.Content["application/json"]; m != nil {
			c.Body = d.fields("", m.Schema, true, 0)
		}
	}
	var refused []string
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		r := op.Responses[status]
		if status >= "400" {
			refused = append(refused, status+" "+r.Description)
			continue
		}
		a := docsAnswer{Status: status, Text: r.Description}
		if m := r.Content["application/json"]; m != nil {
			if len(c.Answers) == 0 { // the second is the same
				a.Fields = d.fields("", m.Schema, false, 0)
			}
			a.Example = indented(d.example(m.Schema, 0))
		}
		c.Answers = append(c.Answers, a)
	}
	c.Errors = strings.Join(refused, ", ")
	return c
}

// request is an example of the call as it goes over the wire.
func (d docsMaker) request(op *huma.Operation) string {
	path := op.Path
	var headers []string
	for _, need := range op.Security {
		for name := range need {
			headers = append(headers, map[string]string{"apiKey": "Authorization: Bearer <API key>", "fanToken": "Authorization: Bearer <JWT>"}[name])
		}
	}
	for _, p := range op.Parameters {
		switch example := fmt.Sprint(d.example(p.Schema, 0)); p.In {
		case "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(example))
		case "header":
			headers = append(headers, p.Name+": "+example)
		}
	}
	text := op.Method + " " + path + "\n" + strings.Join(headers, "\n")
	if op.RequestBody == nil {
		return strings.TrimSpace(text)
	}
	kind := slices.Min(slices.Collect(maps.Keys(op.RequestBody.Content)))
	example := op.RequestBody.Content[kind].Example
	body := fmt.Sprint(example)
	if kind == "application/json" {
		body = indented(example)
	}
	return text + "\nContent-Type: " + kind + "\n\n" + body
}

// fields are those of an object and of what is in it, by path; asked says that the
// caller sends them.
func (d docsMaker) fields(at string, s *huma.Schema, asked bool, depth int) (list []docsField) {
	s = d.resolve(s)
	if s == nil || depth > 4 {
		return nil
	}
	for _, name := range inOrder(s) {
		p := s.Properties[name]
		f := d.field(at+name, p, asked && slices.Contains(s.Required, name))
		list = append(list, f)
		inner, suffix := d.resolve(p), "."
		if inner != nil && inner.Type == huma.TypeArray {
			inner, suffix = d.resolve(inner.Items), "[]."
		}
		if inner != nil && len(inner.Properties) > 0 {
			list = append(list, d.fields(at+name+suffix, inner, asked, depth+1)...)
		}
	}
	return list
}

func (d docsMaker) field(name string, p *huma.Schema, required bool) docsField {
	s := d.resolve(p)
	f := docsField{Name: name, Type: d.typeOf(p)}
	var words []string
	if required {
		words = append(words, "Required.")
	}
	if text := cmp.Or(p.Description, s.Description); text != "" {
		words = append(words, text)
	}
	if len(s.Enum) > 0 {
		words = append(words, "One of "+strings.ReplaceAll(strings.Trim(fmt.Sprint(s.Enum), "[]"), " ", ", ")+".")
	}
	if s.PatternDescription != "" {
		words = append(words, s.PatternDescription+".")
	}
	if s.Default != nil {
		words = append(words, fmt.Sprintf("By default %v.", reflect.Indirect(reflect.ValueOf(s.Default))))
	}
	f.Text = strings.Join(append(words, bounds(s)...), " ")
	return f
}

func bounds(s *huma.Schema) (words []string) {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		words = append(words, number(*s.Minimum)+" to "+number(*s.Maximum)+".")
	case s.ExclusiveMinimum != nil && s.Maximum != nil:
		words = append(words, "Above "+number(*s.ExclusiveMinimum)+" to "+number(*s.Maximum)+".")
	case s.MaxLength != nil:
		words = append(words, fmt.Sprintf("At most %d characters.", *s.MaxLength))
	case s.MaxItems != nil:
		words = append(words, fmt.Sprintf("At most %d.", *s.MaxItems))
	}
	return words
}

func (d docsMaker) typeOf(p *huma.Schema) string {
	s := d.resolve(p)
	word := s.Type
	switch {
	case s.Format == "date-time":
		word = "time"
	case s.Type == huma.TypeArray:
		word = "list of " + d.typeOf(s.Items) + "s"
	case word == "":
		word = "any"
	}
	if s.Nullable || p.Nullable || len(p.AnyOf) > 0 {
		word += " or null"
	}
	return word
}

// resolve follows a reference, and takes the first of alternatives.
func (d docsMaker) resolve(s *huma.Schema) *huma.Schema {
	for s != nil {
		switch {
		case s.Ref != "":
			s = d.schemas.SchemaFromRef(s.Ref)
		case len(s.AnyOf) > 0:
			s = s.AnyOf[0]
		default:
			return s
		}
	}
	return nil
}

// inOrder are an object's fields: the required ones as they are declared, then the
// rest by name.
func inOrder(s *huma.Schema) []string {
	names := slices.Clone(s.Required)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// example makes a value of a schema from the examples of its fields.
func (d docsMaker) example(s *huma.Schema, depth int) any {
	s = d.resolve(s)
	switch {
	case s == nil || depth > 6:
		return nil
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == huma.TypeArray:
		return []any{d.example(s.Items, depth+1)}
	case s.Type == huma.TypeBoolean:
		return s.Default == true
	case s.Default != nil:
		return s.Default
	case s.Type == huma.TypeObject:
		var o object
		for _, name := range inOrder(s) {
			o = append(o, member{name, d.example(s.Properties[name], depth+1)})
		}
		return o
	}
	return nil
}

// object is a JSON object that keeps its order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members as they come.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b = append(append(strconv.AppendQuote(b, m.name), ':'), value...)
	}
	return append(b, '}'), nil
}

func indented(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}
