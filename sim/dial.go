package sim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"
)

// connection is one socket of a fan, with a watch that cuts it when the server
// has been silent for two heartbeats.
type connection struct {
	ws    *websocket.Conn
	life  context.Context // its end cuts the TCP connection under the reader
	cut   context.CancelFunc
	watch *time.Timer
	span  func() time.Duration
}

// endError is the end of a connection, with the wait the server asked for.
type endError struct {
	err        error
	retryAfter time.Duration
}

func (e *endError) Error() string { return "sim: socket ended: " + e.err.Error() }
func (e *endError) Unwrap() error { return e.err }

// CloseCode is the WebSocket close code in err, or -1 where a connection ended
// without one.
func CloseCode(err error) int { return int(websocket.CloseStatus(err)) }

// again says whether a fan may come back by itself after err: not with this token
// after 4001 to 4007 or a refusal of it, not by itself after 4009 and 4400.
func again(err error) bool {
	var p *Problem
	if errors.As(err, &p) {
		return p.Status >= http.StatusInternalServerError || p.Status == http.StatusTooManyRequests
	}
	switch code := CloseCode(err); {
	case code >= 4001 && code <= 4007, code == 4009, code == 4400:
		return false
	}
	return true
}

// redial tries until it is in, ctx or the fan ends, or the server refuses for good.
func (f *Fan) redial(ctx context.Context, err error) (*connection, error) {
	for try := 0; again(err); try++ {
		wait := f.cfg.Backoff.Delay(try) + waitAsked(err)
		if f.Me.c.pause(ctx, wait) != nil {
			return nil, fmt.Errorf("connect: %w", errors.Join(ctx.Err(), err))
		}
		var conn *connection
		if conn, err = f.dial(ctx); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// waitAsked is what the server asked to wait at the least; the jitter comes on top.
func waitAsked(err error) time.Duration {
	var end *endError
	if errors.As(err, &end) {
		return end.retryAfter
	}
	return retryAfterOf(err)
}

func (f *Fan) dial(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	token, cursor := f.resume()
	conn := &connection{}
	ws, err := dialStream(ctx, f.Me.c, stream{
		token: token, after: cursor, browser: f.cfg.Browser, origin: f.cfg.Origin,
		onPing: func() { conn.alive() },
	})
	if err != nil {
		return nil, err
	}
	conn.start(ws)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conn, f.stop = ws, conn.cut
	f.connects++
	if f.life.Err() != nil {
		conn.cut() // Close came while this was being dialled
	}
	return conn, nil
}

func (f *Fan) resume() (token, cursor string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.token, f.cursor
}

func (c *connection) start(ws *websocket.Conn) {
	c.ws = ws
	life, cancel := context.WithCancel(context.Background())
	// Until hello names the heartbeat, a minute will do.
	c.watch = time.AfterFunc(time.Minute, cancel)
	c.life = life
	c.cut = func() {
		c.watch.Stop()
		cancel()
		_ = ws.CloseNow()
	}
	c.span = func() time.Duration { return time.Minute }
}

func (c *connection) heartbeat(seconds float64) {
	if seconds > 0 {
		// Half a beat more than two, so that the server's own verdict comes first.
		c.span = func() time.Duration { return time.Duration(2.5 * seconds * float64(time.Second)) }
	}
	c.alive()
}

// alive is called by the reader alone, which also handles pings.
func (c *connection) alive() {
	if c.life.Err() == nil {
		c.watch.Reset(c.span())
	}
}

// stream is what a request for the WebSocket carries.
type stream struct {
	token, after, origin string
	browser              bool
	onPing               func()
}

func dialStream(ctx context.Context, c *client, s stream) (*websocket.Conn, error) {
	target := c.base() + "/v1/me/stream"
	if s.after != "" {
		target += "?after=" + url.QueryEscape(s.after)
	}
	ws, resp, err := websocket.Dial(ctx, target, s.options(c.http))
	if err != nil {
		if resp != nil && resp.StatusCode >= http.StatusBadRequest {
			return nil, readProblem("GET /v1/me/stream", resp)
		}
		return nil, fmt.Errorf("connect: %w", err)
	}
	ws.SetReadLimit(1 << 20)
	return ws, nil
}

func (s stream) options(h *http.Client) *websocket.DialOptions {
	o := &websocket.DialOptions{
		HTTPClient: h, HTTPHeader: http.Header{}, Subprotocols: []string{"fanline.v1"},
	}
	if s.browser {
		o.Subprotocols = append(o.Subprotocols, "bearer."+s.token)
	} else {
		o.HTTPHeader.Set("Authorization", "Bearer "+s.token)
	}
	if s.origin != "" {
		o.HTTPHeader.Set("Origin", s.origin)
	}
	if s.onPing != nil {
		o.OnPingReceived = func(context.Context, []byte) bool { s.onPing(); return true }
	}
	return o
}
