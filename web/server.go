package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"fanline/notifier"
	"fanline/waitlist"
)

// Config is what a Server stands on. Lines, Inbox, Announcer, Stream and Recipients
// are required.
type Config struct {
	Lines      Lines
	Inbox      notifier.Inbox
	Announcer  Announcer
	Stream     Stream
	Recipients Recipients
	// Messages takes messages in; Deliveries says what became of them.
	Messages   notifier.Messages
	Deliveries notifier.Deliveries
	// Events is the event stream, and Tail what tells that it grew.
	Events notifier.Stream
	Tail   Tail
	// Endpoints keeps those who are told of events; EndpointGuard says which URLs
	// may be called.
	Endpoints     notifier.Endpoints
	EndpointGuard EndpointGuard
	// Callbacks take what services tell of deliveries; nil: nothing is believed.
	Callbacks Callbacks
	// Answers keeps the answers to requests with an idempotency key, which are
	// refused without it.
	Answers Answers
	// Sockets ends the connections of fans; nil: there are none.
	Sockets Sockets

	// APIKeys let ticketing apps in, Fans lets fans in. Without them nobody is.
	APIKeys []APIKey
	Fans    *TokenVerifier
	// AllowedOrigins are the web pages whose scripts may call the fan's part, as
	// "https://host[:port]".
	AllowedOrigins []string

	// WebPushKey is the public key that browsers subscribe with; "": there is no Web
	// Push.
	WebPushKey string
	// LocalPush lets devices name a push service on this machine: for development.
	LocalPush bool

	// ClaimLimit is asked before each claim; nil: there is no limit.
	ClaimLimit ClaimLimit
	// Admin serves the staff's pages; it is mounted under /admin. nil: there are
	// none.
	Admin http.Handler
	// Demo serves the fan page of a demo, mounted under /demo; nil: there is none.
	Demo http.Handler

	// Ready returns what this process needs and whether it has it; nil: nothing.
	Ready func(ctx context.Context) []Check
	// Metrics gets this package's and is served on the operations address; nil: a
	// new one.
	Metrics *prometheus.Registry
	// Tracer follows each request but the stream's, which lasts for hours; nil:
	// nothing does.
	Tracer  trace.Tracer
	Log     *slog.Logger // nil: slog.Default()
	Build   string       // for /healthz: what it was built with
	Version string       // for /healthz and the OpenAPI document

	// Timeout is how long a call may work, but for the stream and imports, whose
	// batches each get as long; 0: 15 s.
	Timeout time.Duration
}

// Check is one thing that the process needs.
type Check struct {
	Name string
	// Err says what is missing. Only the operations address shows it.
	Err error
}

// Server answers HTTP. It holds no goroutines of its own; see Listener for those
// that serve.
type Server struct {
	cfg     Config
	log     *slog.Logger
	keys    keyring
	origins map[string]bool
	waiting chan struct{} // readers of the stream who wait
	// stopping is closed when the public address takes no more requests.
	stopping chan struct{}
	stop     sync.Once
	metrics  *metrics
	router   *chi.Mux
	api      huma.API
	openapi  []byte
	// docsHTML is the page at /docs, served under docsPolicy.
	docsHTML   []byte
	docsPolicy string
	// unsubscribePolicy is that of the page behind the links of messages.
	unsubscribePolicy string
}

// New returns a Server, or an error that names what is wrong with cfg.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if cfg.Lines == nil || cfg.Inbox == nil || cfg.Announcer == nil || cfg.Stream == nil || cfg.Recipients == nil {
		return nil, errors.New("web: Lines, Inbox, Announcer, Stream and Recipients are required")
	}
	s := &Server{cfg: cfg, log: cfg.Log, keys: newKeyring(cfg.APIKeys), waiting: make(chan struct{}, eventsWaiting), stopping: make(chan struct{})}
	var err error
	if s.origins, err = parseOrigins(cfg.AllowedOrigins); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	if s.metrics, err = newMetrics(cfg.Metrics); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	if err := s.route(); err != nil {
		return nil, fmt.Errorf("web: AsyncAPI document: %w", err)
	}
	if s.openapi, err = s.api.OpenAPI().MarshalJSON(); err != nil {
		return nil, fmt.Errorf("web: OpenAPI document: %w", err)
	}
	if s.docsHTML, err = s.makeDocs(); err != nil {
		return nil, fmt.Errorf("web: docs page: %w", err)
	}
	return s, nil
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	if c.Ready == nil {
		c.Ready = func(context.Context) []Check { return nil }
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	return c
}

// CheckOrigins says what is wrong with a list of allowed origins.
func CheckOrigins(list []string) error {
	_, err := parseOrigins(list)
	return err
}

// parseOrigins takes origins as browsers send them. A pattern would let in more
// than its writer sees.
func parseOrigins(list []string) (map[string]bool, error) {
	origins := map[string]bool{}
	for _, o := range list {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || o != u.Scheme+"://"+u.Host || strings.Contains(o, "*") {
			return nil, fmt.Errorf("allowed origin %q is not like https://host or https://host:port", o)
		}
		origins[strings.ToLower(o)] = true
	}
	return origins, nil
}

// Handler is the public API.
func (s *Server) Handler() http.Handler { return s.router }

// route makes the public API: the layers that every request goes through, from
// the outside in, and then the calls.
func (s *Server) route() error {
	s.router = chi.NewMux()
	s.router.Use(s.observe, canonical, s.cors, s.authenticate, middleware.GetHead)
	s.router.NotFound(nothingHere)
	s.router.MethodNotAllowed(s.methodNotAllowed)

	cfg := huma.DefaultConfig("Fanline", s.cfg.Version)
	cfg.OpenAPIPath, cfg.DocsPath, cfg.SchemasPath = "", "", ""
	cfg.CreateHooks = nil // they put $schema into every answer
	cfg.RejectUnknownQueryParameters = true
	cfg.Formats = map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat}
	describe(cfg.OpenAPI)
	s.api = humachi.New(s.router, cfg)
	s.api.UseMiddleware(s.limits)

	s.showCalls()
	s.entryCalls()
	s.importCalls()
	s.openingCalls()
	s.batchCalls()
	s.turnCalls()
	s.traceCalls()
	s.fanCalls()
	s.profileCalls()
	s.deviceCalls()
	s.unsubscribeCalls()
	s.callbackCalls()
	s.claimCalls()
	s.notificationCalls()
	s.eventCalls()
	s.webhookCalls()
	s.announcementCalls()
	s.inboxCalls()
	s.meCalls()
	s.streamCalls()
	s.opsCalls()
	s.docsCalls()
	s.clientCalls()
	if err := s.asyncCalls(); err != nil {
		return err
	}
	exemplify(s.api.OpenAPI())
	if s.cfg.Admin != nil {
		s.router.Mount("/admin", s.cfg.Admin)
	}
	if s.cfg.Demo != nil {
		s.router.Mount("/demo", s.cfg.Demo)
		// Somebody typed the address alone into a browser.
		s.router.Method(http.MethodGet, "/", http.RedirectHandler("/demo", http.StatusFound))
	}
	return nil
}

func nothingHere(w http.ResponseWriter, _ *http.Request) {
	refuse(waitlist.NotFound, "there is nothing at this path").write(w)
}

// methodNotAllowed says which methods there are; chi leaves that to it, and comes
// here for a method that it does not know whatever the path is.
func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		asked := method
		if method == http.MethodHead {
			asked = http.MethodGet
		}
		if s.router.Match(chi.NewRouteContext(), asked, r.URL.RawPath) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		nothingHere(w, r)
		return
	}
	refuse(methodNotAllowed, "this path does not take "+r.Method).header("Allow", strings.Join(allowed, ", ")).write(w)
}
