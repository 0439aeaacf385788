package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	// logPatience is how long a line of the log waits for others, and logWaiting how
	// many bytes wait at most.
	logPatience = 100 * time.Millisecond
	logWaiting  = 64 << 10
)

// logBuffer writes lines of a log together: a line a request, each written by itself,
// costs as much as a short request. A process that is killed loses what waited. Its
// methods may be called concurrently.
type logBuffer struct {
	out io.Writer

	mu      sync.Mutex // guards what follows, and keeps lines in order over writes
	waiting []byte
	timer   *time.Timer // runs while something waits
	closed  bool
}

func newLogBuffer(out io.Writer) *logBuffer {
	return &logBuffer{out: out, waiting: make([]byte, 0, logWaiting)}
}

// Write takes a line. An error is one of out, for this line or one before it.
func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if len(b.waiting)+len(line) > logWaiting {
		err = b.flush()
	}
	if b.closed || len(line) > logWaiting {
		_, failed := b.out.Write(line)
		return len(line), failed
	}
	if len(b.waiting) == 0 {
		b.start()
	}
	b.waiting = append(b.waiting, line...)
	return len(line), err
}

func (b *logBuffer) start() {
	if b.timer == nil {
		b.timer = time.AfterFunc(logPatience, func() { _ = b.Flush() }) // there is nowhere to say it
		return
	}
	b.timer.Reset(logPatience)
}

// Flush writes what waits.
func (b *logBuffer) Flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.flush()
}

func (b *logBuffer) flush() error {
	if len(b.waiting) == 0 {
		return nil
	}
	_, err := b.out.Write(b.waiting)
	b.waiting = b.waiting[:0]
	return err
}

// Close writes what waits. Lines after it are written at once.
func (b *logBuffer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	return b.flush()
}

// urgentHandler lets nothing from warnings on wait in the buffer, nor what came before.
type urgentHandler struct {
	slog.Handler
	buffer *logBuffer
}

func (h urgentHandler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		if failed := h.buffer.Flush(); err == nil {
			err = failed
		}
	}
	return err
}

func (h urgentHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return urgentHandler{h.Handler.WithAttrs(attrs), h.buffer}
}

func (h urgentHandler) WithGroup(name string) slog.Handler {
	return urgentHandler{h.Handler.WithGroup(name), h.buffer}
}
