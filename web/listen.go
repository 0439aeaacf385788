package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Listener serves one address.
type Listener struct {
	ln   net.Listener
	http *http.Server

	stop    sync.Once
	stopped error
}

// Listen binds the public API to addr. Nothing is answered before Serve.
func (s *Server) Listen(ctx context.Context, addr string) (*Listener, error) {
	l, err := s.listen(ctx, addr, s.Handler())
	if err == nil {
		// Readers of the event stream get what there is.
		l.http.RegisterOnShutdown(func() { s.stop.Do(func() { close(s.stopping) }) })
	}
	return l, err
}

// ListenOps binds what operators read to addr.
func (s *Server) ListenOps(ctx context.Context, addr string) (*Listener, error) {
	return s.listen(ctx, addr, s.OpsHandler())
}

func (s *Server) listen(ctx context.Context, addr string, h http.Handler) (*Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err // it names the address
	}
	return &Listener{ln: ln, http: &http.Server{
		Handler: h,
		// Bodies and answers have deadlines of their own (middleware.go), since
		// the stream and imports must have none here.
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}}, nil
}

// Addr is the address that was bound, with the port that was chosen for ":0".
func (l *Listener) Addr() net.Addr { return l.ln.Addr() }

// Serve answers until Shutdown; then it returns nil.
func (l *Listener) Serve() error {
	if err := l.http.Serve(l.ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.ln.Addr(), err)
	}
	return nil
}

// Shutdown takes no new requests and waits for those in progress, or until ctx
// ends, when it cuts them off. Streams are the hub's to end. It may be called
// twice.
func (l *Listener) Shutdown(ctx context.Context) error {
	l.stop.Do(func() {
		if err := l.http.Shutdown(ctx); err != nil {
			l.stopped = fmt.Errorf("shut down %s: %w", l.ln.Addr(), errors.Join(err, l.http.Close()))
		}
		_ = l.ln.Close() // where Serve never ran
	})
	return l.stopped
}
