package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"

	"github.com/go-chi/chi/v5"
	"github.com/redis/go-redis/v9"
)

const (
	// bareRedis is the variable that makes this program the bare server.
	bareRedis = "FANLINE_BENCH_BARE_REDIS"
	bareKey   = "bare"
)

// serveBare is the floor of a cached read: a chi handler that answers with what one GET of Redis finds, and checks, logs and
// counts nothing. It prints its address and serves until its standard input ends.
func serveBare(url string) error {
	opt, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	rdb := redis.NewClient(opt)
	defer rdb.Close()
	mux := chi.NewMux()
	answer := func(w http.ResponseWriter, r *http.Request) {
		b, err := rdb.Get(r.Context(), bareKey).Bytes()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(b)
	}
	mux.Get("/v1/me/turns/{show}/{opening}", answer)
	mux.Get("/v1/me/inbox", answer)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		_ = ln.Close()
	}()
	if err := http.Serve(ln, mux); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// bare is a running bare server.
type bare struct {
	url  string
	stop func() error
}

// bare starts one that answers with a body.
func (b *bench) bare(ctx context.Context, body []byte) (*bare, error) {
	if err := b.rdb.Set(ctx, bareKey, body, 0).Err(); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), bareRedis+"="+b.redis.URL())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &bare{stop: func() error { return errors.Join(in.Close(), cmd.Wait()) }}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the bare server gave no address: %w", err), s.stop())
	}
	s.url = "http://" + addr[:len(addr)-1]
	return s, nil
}
