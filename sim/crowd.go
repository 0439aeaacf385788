package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// CrowdConfig says how many fans connect. BaseURLs and Token are required.
type CrowdConfig struct {
	BaseURLs []string // in turn
	Token    func(fan string) string
	Dials    int  // connections made at the same time; 0 is 64
	Ack      bool // ack each item as it comes

	// OnFrame is called with every frame on the goroutine of its socket, so by many
	// at once. The bytes are the caller's only until it returns.
	OnFrame func(fan string, frame []byte, at time.Time)
	// OnEnd is called when a socket ended other than by Close or Kill.
	OnEnd func(fan string, err error)
}

// Crowd is many connected fans, one goroutine each and no memory of what came.
// Nobody reconnects.
type Crowd struct {
	cfg     CrowdConfig
	c       *client
	buffers sync.Pool
	wg      sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[string][]*websocket.Conn // by fan
}

// NewCrowd makes an empty crowd.
func NewCrowd(cfg CrowdConfig) *Crowd {
	if cfg.Dials <= 0 {
		cfg.Dials = 64
	}
	h := NewHTTPClient()
	transport := h.Transport.(*http.Transport)
	// The socket brings buffers of its own; these serve the handshake alone.
	transport.ReadBufferSize, transport.WriteBufferSize = 1<<10, 1<<10
	c := newClient(cfg.BaseURLs, "", []Option{WithHTTPClient(h)})
	return &Crowd{
		cfg: cfg, c: c, conns: map[string][]*websocket.Conn{},
		buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
}

// Connect brings fans in and returns when all are, or, with the first error, when
// those on their way have arrived. progress, where given, is called with the
// number connected by this call. A fan who is in already gets another socket.
func (c *Crowd) Connect(ctx context.Context, fans iter.Seq[string], progress func(in int)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	in := 0
	slots := make(chan struct{}, c.cfg.Dials)
	for fan := range fans {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := c.join(ctx, fan); err != nil {
				cancel(fmt.Errorf("fan %s: %w", fan, err))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if in++; progress != nil {
				progress(in)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (c *Crowd) join(ctx context.Context, fan string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	ws, err := dialStream(ctx, c.c, stream{token: c.cfg.Token(fan)})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = ws.CloseNow()
		return ErrClosed
	}
	c.conns[fan] = append(c.conns[fan], ws)
	c.wg.Go(func() { c.read(fan, ws) })
	return nil
}

func (c *Crowd) read(fan string, ws *websocket.Conn) {
	for {
		if err := c.frame(fan, ws); err != nil {
			c.ended(fan, ws, err)
			return
		}
	}
}

// frame waits without a buffer: only a socket that has something to say needs one.
func (c *Crowd) frame(fan string, ws *websocket.Conn) error {
	_, r, err := ws.Reader(context.Background())
	if err != nil {
		return err
	}
	at := time.Now()
	b := c.buffers.Get().(*bytes.Buffer)
	defer c.buffers.Put(b)
	b.Reset()
	if _, err := b.ReadFrom(r); err != nil {
		return err
	}
	if c.cfg.OnFrame != nil {
		c.cfg.OnFrame(fan, b.Bytes(), at)
	}
	if c.cfg.Ack {
		return ack(ws, b.Bytes())
	}
	return nil
}

func ack(ws *websocket.Conn, raw []byte) error {
	var frame struct {
		Item struct {
			ID string `json:"id"`
		} `json:"item"`
	}
	if !bytes.Contains(raw, []byte(`"item"`)) || json.Unmarshal(raw, &frame) != nil || frame.Item.ID == "" {
		return nil
	}
	reply, err := json.Marshal(map[string]any{"type": "ack", "ids": []string{frame.Item.ID}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return ws.Write(ctx, websocket.MessageText, reply)
}

func (c *Crowd) ended(fan string, ws *websocket.Conn, err error) {
	_ = ws.CloseNow()
	c.mu.Lock()
	i := slices.Index(c.conns[fan], ws)
	asked := c.closed || i < 0
	if i >= 0 {
		c.conns[fan] = slices.Delete(c.conns[fan], i, i+1)
	}
	if len(c.conns[fan]) == 0 {
		delete(c.conns, fan)
	}
	c.mu.Unlock()
	if !asked && c.cfg.OnEnd != nil {
		c.cfg.OnEnd(fan, err)
	}
}

// Size is the number of fans connected.
func (c *Crowd) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns)
}

// Kill cuts a fan's TCP connections without a close frame.
func (c *Crowd) Kill(fan string) {
	c.mu.Lock()
	conns := c.conns[fan]
	delete(c.conns, fan)
	c.mu.Unlock()
	for _, ws := range conns {
		_ = ws.CloseNow()
	}
}

// Send writes a frame on a fan's first socket.
func (c *Crowd) Send(ctx context.Context, fan string, frame any) error {
	raw, err := rawFrame(frame)
	if err != nil {
		return err
	}
	c.mu.Lock()
	conns := slices.Clone(c.conns[fan])
	c.mu.Unlock()
	if len(conns) == 0 {
		return errors.New("sim: fan " + fan + " is not connected")
	}
	return conns[0].Write(ctx, websocket.MessageText, raw)
}

// Close cuts every connection and waits for all goroutines. It may be called
// twice.
func (c *Crowd) Close() {
	c.mu.Lock()
	c.closed = true
	conns := slices.Concat(slices.Collect(maps.Values(c.conns))...)
	c.mu.Unlock()
	for _, ws := range conns {
		_ = ws.CloseNow()
	}
	c.wg.Wait()
	c.c.http.CloseIdleConnections()
}
