package demo

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"path"

	"github.com/go-chi/chi/v5"

	"fanline/waitlist"
)

// Stage is the ticketing app behind the page. A refusal is a *waitlist.Error, whose
// sentence is shown.
type Stage interface {
	// Scene returns the shows, and the fans that a person may play.
	Scene(ctx context.Context) (Scene, error)
	// Token lets a person play a fan, whom nobody else plays from then on.
	Token(ctx context.Context, fan string) (string, error)
	// Pay confirms a claim.
	Pay(ctx context.Context, claim string) error
	// Join puts a fan into a line.
	Join(ctx context.Context, show, fan string) error
	// Free reports one freed seat.
	Free(ctx context.Context, show string) error
}

// Scene is what there is to choose from.
type Scene struct {
	Shows []Show `json:"shows"`
	Fans  []Fan  `json:"fans"`
}

// Show is a show as its ticketing app knows it.
type Show struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Venue    string `json:"venue"`
	StartsAt string `json:"starts_at"` // RFC 3339
	Waiting  int64  `json:"waiting"`
}

// Fan is one who may be played.
type Fan struct {
	ID       string `json:"id"`
	ShowID   string `json:"show_id"`
	Position int64  `json:"position"`
}

//go:embed assets
var files embed.FS

const (
	maxBody = 4 << 10
	policy  = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// Handler serves the page over a stage.
func Handler(stage Stage, log *slog.Logger) http.Handler {
	d := &demo{stage: stage, log: log}
	r := chi.NewMux()
	r.Use(loopbackOnly, http.NewCrossOriginProtection().Handler)
	r.Get("/", d.file("page.html"))
	r.Get("/sw.js", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Service-Worker-Allowed", "/demo") // without a slash it would not see the page
		d.file("sw.js")(w, r)
	})
	r.Get("/assets/{name}", func(w http.ResponseWriter, r *http.Request) { d.file(chi.URLParam(r, "name"))(w, r) })
	r.Get("/scene", d.call(func(ctx context.Context, _ request) (any, error) { return stage.Scene(ctx) }))
	r.Post("/token", d.call(func(ctx context.Context, q request) (any, error) {
		token, err := stage.Token(ctx, q.Fan)
		return map[string]string{"token": token}, err
	}))
	r.Post("/pay", d.call(func(ctx context.Context, q request) (any, error) { return nil, stage.Pay(ctx, q.Claim) }))
	r.Post("/join", d.call(func(ctx context.Context, q request) (any, error) { return nil, stage.Join(ctx, q.Show, q.Fan) }))
	r.Post("/free", d.call(func(ctx context.Context, q request) (any, error) { return nil, stage.Free(ctx, q.Show) }))
	return r
}

type demo struct {
	stage Stage
	log   *slog.Logger
}

// request is the body of a call; each uses what it needs.
type request struct{ Fan, Show, Claim string }

// loopbackOnly also looks at the name that was asked for: a page anywhere can have
// its own name resolved to this machine.
func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		peer, _, _ := net.SplitHostPort(r.RemoteAddr) // none is no loopback
		if !loopback(host) || !loopback(peer) {
			http.Error(w, "the demo is for this machine alone", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// file serves one that is embedded.
func (d *demo) file(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		body, err := files.ReadFile("assets/" + path.Base(name))
		if err != nil {
			http.Error(w, "there is no such file", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Content-Type", kindOf(path.Ext(name)))
		_, _ = w.Write(body)
	}
}

// kindOf does not ask the machine's tables for what is served here.
func kindOf(ext string) string {
	switch ext {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(ext)
}

// call answers with what the stage says.
func (d *demo) call(do func(context.Context, request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q request
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&q); err != nil {
				d.write(w, http.StatusBadRequest, map[string]string{"detail": "the body must be an object in JSON"})
				return
			}
		}
		out, err := do(r.Context(), q)
		var refusal *waitlist.Error
		switch {
		case errors.As(err, &refusal):
			d.write(w, http.StatusConflict, map[string]string{"detail": refusal.Detail})
		case err != nil:
			d.log.Error("the demo's stage", "err", err)
			d.write(w, http.StatusBadGateway, map[string]string{"detail": "something went wrong behind the page; the log has it"})
		default:
			d.write(w, http.StatusOK, out)
		}
	}
}

func (d *demo) write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller may be gone
}
