package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// ErrClosed is what waiting on a fan answers after Close or Kill.
var ErrClosed = errors.New("sim: the fan's socket is closed")

// FanConfig says how a fan connects. BaseURLs and Token are required.
type FanConfig struct {
	BaseURLs []string // each new connection goes to the next one
	Token    string
	After    string // cursor to resume from; "" starts with the newest unread

	Reconnect bool    // come back after a cut, as the close code allows
	Backoff   Backoff // how long to wait before that

	Keep    int  // frames kept, the newest; 0 keeps all
	AutoAck bool // ack each item as it comes, as an app on screen would

	// OnFrame is called with every frame, in order, on the goroutine that reads.
	// It must not call Close, Kill or Wait methods of the same fan.
	OnFrame func(Frame)

	// Browser sends the token as a browser must, in Sec-WebSocket-Protocol, with
	// this Origin where not "".
	Browser bool
	Origin  string

	Options []Option // of the REST side and the pool that the socket is dialled with
}

// Fan is a fan app: a live socket, what came over it, and the REST calls of Me.
type Fan struct {
	*Me
	cfg  FanConfig
	life context.Context // ends with Close or Kill
	end  context.CancelFunc
	done chan struct{}

	writing sync.Mutex // never taken under mu

	mu       sync.Mutex
	conn     *websocket.Conn
	stop     context.CancelFunc // cuts conn
	token    string
	cursor   string
	session  string
	connects int
	log      frameLog
	changed  chan struct{} // closed and replaced at each frame
	err      error         // why the fan ended, set before done is closed
}

// Connect opens the socket. ctx bounds the connecting alone: without Reconnect
// one try, with it as many as it takes unless the server refuses for good. The
// fan lives until Close or Kill, and, without Reconnect, until its socket ends.
func Connect(ctx context.Context, cfg FanConfig) (*Fan, error) {
	f := &Fan{
		Me: NewMe(cfg.BaseURLs, cfg.Token, cfg.Options...), cfg: cfg,
		done: make(chan struct{}), changed: make(chan struct{}),
		token: cfg.Token, cursor: cfg.After, log: newFrameLog(cfg.Keep),
	}
	f.life, f.end = context.WithCancel(context.Background())
	conn, err := f.dial(ctx)
	if err != nil && cfg.Reconnect && again(err) {
		conn, err = f.redial(ctx, err)
	}
	if err != nil {
		f.end()
		f.Me.Close()
		return nil, err
	}
	go f.run(conn)
	return f, nil
}

// run reads one connection after the other until there is to be no other.
func (f *Fan) run(conn *connection) {
	defer close(f.done)
	defer f.Me.Close()
	for {
		err := f.read(conn)
		if f.life.Err() == nil && f.cfg.Reconnect && again(err) {
			conn, err = f.redial(f.life, err)
		}
		if f.life.Err() != nil {
			err = ErrClosed
		}
		if err != nil {
			f.finish(conn, err)
			return
		}
	}
}

func (f *Fan) finish(conn *connection, err error) {
	f.end()
	if conn != nil {
		conn.cut() // dialled while the fan was being closed
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// read takes frames until the connection ends, and says why it did. It always
// returns an error, save where nothing was wrong but the fan is to come again.
func (f *Fan) read(conn *connection) error {
	defer conn.cut()
	var retryAfter time.Duration
	for {
		_, raw, err := conn.ws.Read(conn.life)
		if err != nil {
			return &endError{err, retryAfter}
		}
		conn.alive()
		frame := Frame{At: time.Now(), Raw: raw}
		if err := json.Unmarshal(raw, &frame); err != nil {
			return &endError{fmt.Errorf("frame %q: %w", firstLine(raw), err), 0}
		}
		if frame.Type == "closing" {
			retryAfter = time.Duration(frame.RetryAfterMS) * time.Millisecond
		}
		f.take(conn, &frame)
	}
}

// take notes a frame, wakes those who wait, and hands it on.
func (f *Fan) take(conn *connection, frame *Frame) {
	f.mu.Lock()
	switch frame.Type {
	case "hello":
		f.session = frame.Session
		conn.heartbeat(frame.HeartbeatS)
	case "cursor":
		f.cursor = frame.Cursor
	}
	f.log.add(frame)
	close(f.changed)
	f.changed = make(chan struct{})
	f.mu.Unlock()
	if f.cfg.AutoAck && frame.Item != nil {
		// A socket that cannot be written to says so to its reader.
		_ = f.Ack(conn.life, frame.Item.ID)
	}
	if f.cfg.OnFrame != nil {
		f.cfg.OnFrame(*frame)
	}
}

// Close says goodbye to the server (for at most a second) and waits until the
// fan has ended. It may be called twice.
func (f *Fan) Close() {
	f.end()
	conn, stop := f.current()
	if conn == nil {
		<-f.done
		return
	}
	goodbye := make(chan struct{})
	go func() {
		defer close(goodbye)
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}()
	select {
	case <-f.done:
	case <-time.After(time.Second):
	}
	stop()
	<-goodbye
	<-f.done
}

// Kill cuts the TCP connection without a close frame, for good, and waits until
// the fan has ended.
func (f *Fan) Kill() {
	f.end()
	f.Cut()
	<-f.done
}

// Cut is Kill for the present connection alone: with Reconnect the fan comes back.
func (f *Fan) Cut() {
	if conn, stop := f.current(); conn != nil {
		stop()
	}
}

func (f *Fan) current() (*websocket.Conn, context.CancelFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conn, f.stop
}

// Done is closed when the fan has ended.
func (f *Fan) Done() <-chan struct{} { return f.done }

// Err says why the fan ended: ErrClosed, an error with a CloseCode, or a Problem.
// It is nil before.
func (f *Fan) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Connects is the number of connections made so far.
func (f *Fan) Connects() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.connects
}

// Cursor is the newest cursor received.
func (f *Fan) Cursor() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cursor
}

// Session is the newest session the server named.
func (f *Fan) Session() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.session
}
