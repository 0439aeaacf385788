package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// Config is what an Admin stands on. Line, Announcer and Records are required.
type Config struct {
	Line      Line
	Announcer Announcer
	Records   Records
	// Users are who may log in; nil or empty: nobody.
	Users *Users
	// PublicURL is where browsers reach the program, if it is known. With
	// https:// the session's cookie travels over TLS alone.
	PublicURL string
	// Engine is what runs beside the line; nil: the overview shows shows and lanes.
	Engine Engine
	// Jobs serves the queue's own pages under /admin/jobs; nil: there are none.
	Jobs http.Handler
	Log  *slog.Logger // nil: slog.Default()
}

// Line is the line of a show; *waitlist.Service is one.
type Line interface {
	lineReader
	lineChanger
}

// Announcer takes announcements; fanout.Announcer is one.
type Announcer interface {
	// Announce takes one for those who are in the show's line now. The same id again
	// returns the one that stands.
	Announce(ctx context.Context, show string, n waitlist.NewAnnouncement) (a waitlist.Announcement, created bool, err error)
}

type lineReader interface {
	Show(ctx context.Context, id string) (waitlist.Show, error)
	Entry(ctx context.Context, show, fan string) (waitlist.Entry, error)
	Entries(ctx context.Context, show string, f waitlist.EntryFilter) ([]waitlist.Entry, error)
	Opening(ctx context.Context, ref waitlist.OpeningRef) (waitlist.Opening, error)
	Openings(ctx context.Context, show string, before int64, limit int) ([]waitlist.Opening, error)
	WaveReports(ctx context.Context, ref waitlist.OpeningRef, before, limit int) ([]waitlist.WaveReport, error)
	Order(ctx context.Context, ref waitlist.OpeningRef, from int) (waitlist.OrderReport, error)
	Trace(ctx context.Context, show, fan string, before int64, limit int) (waitlist.Trace, error)
}

// Records is what the pages read beside it, and the sessions.
type Records interface {
	FindShows(ctx context.Context, text, after string, limit int) ([]waitlist.Show, error)
	Picture(ctx context.Context, show string) (waitlist.Picture, error)
	Changes(ctx context.Context, e *waitlist.Entry, limit int) ([]waitlist.Change, error)
	Seats(ctx context.Context, openingNo int64, limit int) ([]waitlist.Seat, error)
	OpenOpenings(ctx context.Context, showNo int32, limit int) ([]waitlist.Opening, error)
	Timeline(ctx context.Context, showNo int32, limit int) (waitlist.Timeline, error)
	Rush(ctx context.Context, showNo int32, step time.Duration, steps int) (waitlist.Rush, error)
	WaveEnds(ctx context.Context, o *waitlist.Opening, waves []waitlist.Wave) (map[int]waitlist.WaveEnds, error)
	InLine(ctx context.Context, showNo int32) (int64, error)
	Audits(ctx context.Context, f waitlist.AuditFilter) ([]waitlist.Audit, error)
	NoteAct(ctx context.Context, a waitlist.Audit) error
	Liveliest(ctx context.Context, limit int) ([]waitlist.ShowFigures, error)
	QueueLoads(ctx context.Context) ([]notifier.QueueLoad, error)
	SendRates(ctx context.Context) ([]notifier.SendRate, error)
	fanStore
	sessionStore
}

// Admin serves the pages.
type Admin struct {
	line    lineReader
	acts    acts
	records Records
	engine  Engine
	jobs    http.Handler
	live    *liveBoards
	users   *Users
	pages   *pages
	log     *slog.Logger
	https   bool
	exports chan struct{} // lists being written
	guard   *http.CrossOriginProtection
	handler http.Handler
}

const (
	timeout = 15 * time.Second
	maxBody = 64 << 10
)

// ParsePublicURL reads where browsers reach the program.
func ParsePublicURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("the public URL must be like https://tickets.example.com")
	}
	return u, nil
}

// New returns an Admin, or an error that names what is wrong with cfg.
func New(cfg Config) (*Admin, error) {
	if cfg.Line == nil || cfg.Announcer == nil || cfg.Records == nil {
		return nil, errors.New("admin: Line, Announcer and Records are required")
	}
	a := &Admin{
		line: cfg.Line, acts: acts{writer{cfg.Line, cfg.Announcer}}, records: cfg.Records, users: cfg.Users, log: cfg.Log,
		engine: cfg.Engine, jobs: cfg.Jobs,
		guard: http.NewCrossOriginProtection(), exports: make(chan struct{}, exportsMost),
	}
	if a.log == nil {
		a.log = slog.Default()
	}
	if a.users == nil {
		a.users = &Users{}
	}
	if cfg.PublicURL != "" {
		u, err := ParsePublicURL(cfg.PublicURL)
		if err != nil {
			return nil, fmt.Errorf("admin: %w", err)
		}
		a.https = u.Scheme == "https"
		if err := a.guard.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			return nil, fmt.Errorf("admin: the public URL: %w", err)
		}
	}
	var err error
	if a.pages, err = loadPages(navPages(cfg.Jobs != nil)); err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	a.live = newLiveBoards(a.log)
	a.guard.SetDenyHandler(http.HandlerFunc(a.crossOrigin))
	a.route()
	return a, nil
}

// Stop ends the pages' live streams and waits for them. The pages still answer; it
// may be called twice.
func (a *Admin) Stop() { a.live.stop() }

// Handler serves the pages. It is to be mounted under /admin on a chi router.
func (a *Admin) Handler() http.Handler { return a.handler }

func (a *Admin) route() {
	r := chi.NewMux()
	r.Use(a.headers, a.recovered, a.guard.Handler)
	r.NotFound(a.page(func(http.ResponseWriter, *http.Request) error {
		return waitlist.Refuse(waitlist.NotFound, "There is no such page.")
	}))
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		a.fail(w, r, &refusal{http.StatusMethodNotAllowed, "This page cannot do that."})
	})
	// Streams, which no time bounds, and which look at the session themselves.
	r.Get("/live", a.page(a.streamOverview))
	r.Get("/shows/{show}/live", a.page(a.streamShow))
	r.Get("/shows/{show}/openings/{opening}/live", a.page(a.streamOpening))
	r.With(a.staffOnly).Get("/shows/{show}/line.csv", a.page(a.exportLine))
	r.Group(func(r chi.Router) {
		r.Use(a.bounded)
		r.Get("/assets/{name}", a.asset)
		r.Get("/login", a.page(a.loginForm))
		r.Post("/login", a.page(a.login))
		r.Post("/logout", a.page(a.logout))
	})
	r.Group(func(r chi.Router) {
		r.Use(a.bounded, a.staffOnly)
		r.Get("/", a.page(a.overview))
		if a.jobs != nil {
			r.With(a.jobsPolicy, a.jobsAudited).Handle("/jobs", a.jobs)
			r.With(a.jobsPolicy, a.jobsAudited).Handle("/jobs/*", a.jobs)
		}
		r.Get("/fans", a.page(a.findFan))
		r.Get("/fans/{fan}", a.page(a.person))
		r.Get("/shows", a.page(a.shows))
		r.Get("/audit", a.page(a.audit))
		r.Route("/shows/{show}", func(r chi.Router) {
			r.Get("/", a.page(a.show))
			r.Post("/pause", a.page(a.pause))
			r.Post("/resume", a.page(a.resume))
			r.Get("/policy", a.page(a.policy))
			r.Post("/policy", a.page(a.setPolicy))
			r.Get("/seat", a.page(a.seatForm))
			r.Post("/seat", a.page(a.freeSeat))
			r.Get("/announce", a.page(a.announceForm))
			r.Post("/announce", a.page(a.announce))
			r.Get("/line", a.page(a.lineList))
			r.Post("/line", a.page(a.actInLine))
			r.Get("/openings", a.page(a.openings))
			r.Get("/openings/{opening}", a.page(a.opening))
			r.Get("/openings/{opening}/order", a.page(a.order))
			r.Get("/openings/{opening}/cancel", a.page(a.cancelForm))
			r.Post("/openings/{opening}/cancel", a.page(a.cancel))
			r.Get("/fans/{fan}", a.page(a.fan))
			r.Post("/fans/{fan}/{act}", a.page(a.actOnFan))
		})
	})
	a.handler = r
}

// param is an id of the path. The router goes by the escaped path where there is
// one.
func param(r *http.Request, name string) string {
	v := chi.URLParam(r, name)
	if plain, err := url.PathUnescape(v); err == nil {
		return plain
	}
	return v
}

// link is the path of a page under /admin.
func link(segments ...string) string {
	path := "/admin"
	for _, s := range segments {
		path += "/" + url.PathEscape(s)
	}
	return path
}
