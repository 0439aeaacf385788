package providers

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// service is what the fakes have in common.
type service struct {
	Script
	phones *Phones
	now    func() time.Time
}

func newService(phones *Phones, now func() time.Time) service {
	if phones == nil {
		phones = NewPhones(PhonesConfig{})
	}
	if now == nil {
		now = time.Now
	}
	return service{phones: phones, now: now}
}

// take lets the script decide about a send, and notes it.
func (s *service) take(g Got, ok int) Answer {
	a := s.answer(g.Address)
	g.Accepted, g.Answer, g.At = a.takes(), a.words(ok), s.now()
	if !g.Accepted {
		g.ID = ""
	}
	s.phones.note(g)
	return a
}

// refuse notes a send that the service itself refuses.
func (s *service) refuse(g Got, a Answer) Answer {
	g.Accepted, g.Answer, g.At, g.ID = false, a.words(0), s.now(), ""
	s.phones.note(g)
	return a
}

// server is an HTTP server on loopback.
type server struct {
	http     *http.Server
	listener net.Listener
	done     sync.WaitGroup
	cancel   context.CancelFunc
	scheme   string
}

// connContext gives each connection a value of its own: see connKey.
type connKey struct{}

// listen serves on addr ("" is a free port of loopback).
func listen(addr string, h http.Handler, tlsConfig *tls.Config, perConn func() any) (*server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	s := &server{listener: l, cancel: cancel, scheme: "http", http: &http.Server{
		Handler: h, Protocols: protocols, ReadHeaderTimeout: 10 * time.Second, TLSConfig: tlsConfig,
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: 1000},
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			if perConn == nil {
				return ctx
			}
			return context.WithValue(ctx, connKey{}, perConn())
		},
	}}
	serve := s.http.Serve
	if tlsConfig != nil {
		s.scheme = "https"
		serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	s.done.Go(func() { _ = serve(l) })
	return s, nil
}

func (s *server) url() string { return s.scheme + "://" + s.listener.Addr().String() }

// close ends connections, hanging answers too.
func (s *server) close() {
	s.cancel()
	_ = s.http.Close()
	s.done.Wait()
}

// mostBody is how much of a request is read.
const mostBody = 64 << 10

func readBody(r *http.Request) ([]byte, error) { return io.ReadAll(io.LimitReader(r.Body, mostBody)) }
