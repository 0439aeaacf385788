package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// caller is one connection of a ticketing app that makes one call after the other. It does as little as HTTP allows, so
// that the figures are the server's: it shares the machine's cores with it.
type caller struct {
	conn net.Conn
	in   *bufio.Reader
	host string
	out  []byte
}

func dialCaller(ctx context.Context, base string) (*caller, error) {
	host := strings.TrimPrefix(base, "http://")
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	return &caller{conn: conn, in: bufio.NewReader(conn), host: host}, nil
}

// post makes a call and returns its status; an answer that is no success is an error.
func (c *caller) post(path string, body any) (int, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	return c.call("POST", path, apiKey, raw)
}

// get makes a call with the API key, or a fan's token, as bearer.
func (c *caller) get(path, bearer string) error {
	_, err := c.call("GET", path, bearer, nil)
	return err
}

func (c *caller) call(method, path, bearer string, body []byte) (int, error) {
	c.out = fmt.Appendf(c.out[:0], "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n", method, path, c.host, bearer)
	if body != nil {
		c.out = fmt.Appendf(c.out, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	c.out = append(append(c.out, "\r\n"...), body...)
	if err := c.conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return 0, err
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return 0, fmt.Errorf("%s %s: %w", method, path, err)
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		said, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, fmt.Errorf("%s %s: %d: %s", method, path, resp.StatusCode, said)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// callers are several connections.
type callers []*caller

func dialCallers(ctx context.Context, base string, n int) (cs callers, err error) {
	for range n {
		c, err := dialCaller(ctx, base)
		if err != nil {
			cs.close()
			return nil, err
		}
		cs = append(cs, c)
	}
	return cs, nil
}

func (cs callers) close() {
	for _, c := range cs {
		c.conn.Close()
	}
}

// together has n workers do each×work at once and returns how long all of it took. The first error ends it.
func together(n, each int, work func(worker, i int) error) (time.Duration, error) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	errs := make(chan error, n)
	ready.Add(n)
	for w := range n {
		done.Go(func() {
			ready.Done()
			<-start
			for i := range each {
				if err := work(w, i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	ready.Wait()
	begun := time.Now()
	close(start)
	done.Wait()
	took := time.Since(begun)
	close(errs)
	return took, <-errs
}

// rate is how many of n were done a second.
func rate(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }
