package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
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
