package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"fanline/waitlist"
)

// readyPatience bounds all checks of one /readyz.
const readyPatience = 3 * time.Second

// OpsHandler is what operators read: metrics, profiles, and health with its details. It
// asks for no credentials; its address is for the operators' network alone.
func (s *Server) OpsHandler() http.Handler {
	r := chi.NewMux()
	r.Handle("/metrics", promhttp.HandlerFor(s.cfg.Metrics, promhttp.HandlerOpts{ErrorLog: scrapeLog{s}}))
	r.Get("/healthz", s.healthz)
	r.Get("/readyz", func(w http.ResponseWriter, r *http.Request) { s.readyz(w, r, true) })
	r.Get("/debug/pprof/*", pprof.Index) // heap, goroutine and the like by name
	r.Get("/debug/pprof/profile", pprof.Profile)
	r.Get("/debug/pprof/trace", pprof.Trace)
	return r
}

type scrapeLog struct{ s *Server }

func (l scrapeLog) Println(v ...any) { l.s.log.Error("metrics scrape failed", "error", v) }

// Health is the answer of the health checks.
type Health struct {
	Status  string            `json:"status" enum:"ok"`
	Version string            `json:"version,omitempty"`
	Build   string            `json:"build,omitempty" example:"go1.26.8 linux amd64" doc:"The Go and the machine it was built with and for."`
	Checks  map[string]string `json:"checks,omitempty" doc:"What the process needs, each ok."`
}

func (s *Server) opsCalls() {
	s.plain(open(http.MethodGet, "/healthz", "healthz", "Is the process alive?", s.jsonResponse(Health{})), s.healthz)
	ready := open(http.MethodGet, "/readyz", "readyz", "Can it serve: Postgres reached, migrations in place, lanes running?", s.jsonResponse(Health{}))
	ready.Responses["503"] = s.problemResponse(http.StatusServiceUnavailable)
	s.plain(ready, func(w http.ResponseWriter, r *http.Request) { s.readyz(w, r, false) })
	document := &huma.Response{Description: "OpenAPI 3.1", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}}}
	s.plain(open(http.MethodGet, "/openapi.json", "openapi", "This document, for programs", document), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.openapi)
	})
}

func (s *Server) jsonResponse(v any) *huma.Response {
	return &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{"application/json": {Schema: s.schemaOf(v)}}}
}

// open is an operation that asks for no credentials.
func open(method, path, id, summary string, ok *huma.Response) huma.Operation {
	return huma.Operation{
		Method: method, Path: path, OperationID: id, Summary: summary, Tags: []string{"Health"},
		Responses: map[string]*huma.Response{"200": ok},
	}
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, Health{Status: "ok", Version: s.cfg.Version, Build: s.cfg.Build})
}

// readyz answers for all checks at once; only operators see what is wrong.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request, details bool) {
	ctx, cancel := context.WithTimeout(r.Context(), readyPatience)
	defer cancel()
	ready, checks := true, map[string]string{}
	for _, c := range s.cfg.Ready(ctx) {
		checks[c.Name] = "ok"
		if c.Err != nil {
			ready, checks[c.Name] = false, "failed"
			if details {
				checks[c.Name] = c.Err.Error()
			}
		}
	}
	if ready {
		writeJSON(w, http.StatusOK, Health{Status: "ok", Version: s.cfg.Version, Build: s.cfg.Build, Checks: checks})
		return
	}
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(struct {
		*Problem
		Checks map[string]string `json:"checks"`
	}{refuse(waitlist.Unavailable, "not ready"), checks})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller may be gone
}
