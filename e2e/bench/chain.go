package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/redis/go-redis/v9"
)

// chain is the least that telling a fan takes: a row is inserted and committed, a publish in Redis reaches a subscriber,
// which writes to a socket, whose other end reads. It is used by one goroutine; close ends those that it started.
type chain struct {
	bench  *bench
	sub    *redis.PubSub
	wake   <-chan *redis.Message
	server *http.Server
	ours   *websocket.Conn // the server's end
	fans   *websocket.Conn
	got    chan time.Time // when the fan's end read a frame
	done   chan struct{}  // closed when its reader ends
}

// chainName is the floor's name in the report.
const chainName = "commit + publish + socket write"

func (b *bench) openChain(ctx context.Context) (c *chain, err error) {
	c = &chain{bench: b, got: make(chan time.Time, 1), done: make(chan struct{})}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if _, err := b.db.Exec(ctx, `CREATE TABLE IF NOT EXISTS bench_chain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL)`); err != nil {
		return c, err
	}
	c.sub = b.rdb.Subscribe(ctx, "bench:chain")
	if _, err := c.sub.Receive(ctx); err != nil {
		return c, err
	}
	c.wake = c.sub.Channel()
	if err := c.connect(ctx); err != nil {
		return c, err
	}
	go c.read()
	return c, nil
}

// connect makes the two ends of a socket.
func (c *chain) connect(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	accepted := make(chan *websocket.Conn, 1)
	c.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, err := websocket.Accept(w, r, nil); err == nil {
			accepted <- conn
			<-c.done // the server's end lives as long as its handler
		}
	})}
	go func() { _ = c.server.Serve(l) }() // ends with close
	if c.fans, _, err = websocket.Dial(ctx, "ws://"+l.Addr().String(), nil); err != nil {
		close(c.done)
		return err
	}
	c.ours = <-accepted
	return nil
}

func (c *chain) read() {
	defer close(c.done)
	for {
		_, _, err := c.fans.Read(context.Background())
		if err != nil {
			return
		}
		c.got <- time.Now()
	}
}

// frame is as long as an item's.
var frame = []byte(`{"type":"item","item":{"id":"` + strings.Repeat("x", 270) + `"}}`)

// run goes through the chain once and returns its milliseconds.
func (c *chain) run(ctx context.Context) (float64, error) {
	start := time.Now()
	if _, err := c.bench.db.Exec(ctx, `INSERT INTO bench_chain (at) VALUES (now())`); err != nil {
		return 0, err
	}
	if err := c.bench.rdb.Publish(ctx, "bench:chain", "wake").Err(); err != nil {
		return 0, err
	}
	select {
	case <-c.wake:
	case <-time.After(5 * time.Second):
		return 0, errors.New("the publish did not come back in 5 s")
	}
	if err := c.ours.Write(ctx, websocket.MessageText, frame); err != nil {
		return 0, fmt.Errorf("write to the socket: %w", err)
	}
	select {
	case at := <-c.got:
		return millis(at.Sub(start)), nil
	case <-time.After(5 * time.Second):
		return 0, errors.New("the frame did not arrive in 5 s")
	}
}

func (c *chain) close() {
	if c.sub != nil {
		_ = c.sub.Close()
	}
	if c.ours != nil {
		_ = c.ours.CloseNow()
		_ = c.fans.CloseNow()
		<-c.done
	}
	if c.server != nil {
		_ = c.server.Close()
	}
}
