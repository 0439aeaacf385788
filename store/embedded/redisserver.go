package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// RedisConfig says where a redis-server lives.
type RedisConfig struct {
	// Dir holds the log and the socket; it is made when missing. Two servers need two directories.
	Dir string
	// TCP asks for a free port of the loopback interface in place of a unix socket. The port stays over Restart.
	TCP bool
}

// RedisServer is a redis-server of ours, without persistence: what it held is gone after a stop.
type RedisServer struct {
	cfg    RedisConfig
	binary string
	// network and addr are for net.Dial.
	network, addr string

	// mu is held over starts and stops.
	mu      sync.Mutex
	child   *child
	stopped bool
}

// StartRedisServer returns once the server answers. ctx bounds the start alone. When redis-server is missing, the error
// carries the command that installs it.
func StartRedisServer(ctx context.Context, cfg RedisConfig) (*RedisServer, error) {
	if cfg.Dir == "" {
		return nil, errors.New("start redis-server: no directory given")
	}
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("start redis-server: it is not installed; install it with: %s", installRedis)
	}
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	r := &RedisServer{cfg: cfg, binary: binary}
	if err := r.choose(); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	if err := r.start(ctx); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	return r, nil
}

// choose settles the address, which Restart keeps.
func (r *RedisServer) choose() error {
	if r.cfg.TCP {
		// Between our closing the port and the server's opening it, somebody else may take it; then the start fails
		// and says so.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		r.network, r.addr = "tcp", l.Addr().String()
		return l.Close()
	}
	dir, err := makeSocketDir(r.cfg.Dir, ourselves())
	r.network, r.addr = "unix", filepath.Join(dir, "redis.sock")
	return err
}

// URL is a connection string for go-redis, the same over Restart.
func (r *RedisServer) URL() string {
	if r.network == "unix" {
		return "unix://" + r.addr + "?db=0"
	}
	return "redis://" + r.addr + "/0"
}

// Stop ends the server and returns when it has ended. There is nothing to save, so it does not ask. Later calls return at
// once.
func (r *RedisServer) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.kill()
}

// Kill ends the server at once, as a crash would. Restart brings an empty one back.
func (r *RedisServer) Kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kill()
}

// Restart kills the server if it still runs and starts an empty one at the same URL. ctx bounds the start.
func (r *RedisServer) Restart(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return errors.New("restart redis-server: it was stopped")
	}
	r.kill()
	if err := r.start(ctx); err != nil {
		return fmt.Errorf("restart redis-server: %w", err)
	}
	return nil
}

func (r *RedisServer) kill() {
	r.child.signal(syscall.SIGKILL)
	<-r.child.done
}

func (r *RedisServer) start(ctx context.Context) error {
	log, err := openLog(filepath.Join(r.cfg.Dir, "redis.log"), ourselves())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(r.binary, r.args()...)
	cmd.Dir = "/"
	cmd.Env = childEnv()
	cmd.Stdout, cmd.Stderr = log, log
	child, err := startChild(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	r.child = child
	if err := r.waitReady(ctx); err != nil {
		r.kill()
		return fmt.Errorf("%w; see %s", err, log.Name())
	}
	return nil
}

func (r *RedisServer) args() []string {
	args := []string{"--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", r.cfg.Dir}
	if r.network == "unix" {
		return append(args, "--port", "0", "--unixsocket", r.addr, "--unixsocketperm", "700")
	}
	host, port, _ := net.SplitHostPort(r.addr) // ours, so well formed
	return append(args, "--bind", host, "--port", port)
}

func (r *RedisServer) waitReady(ctx context.Context) error {
	for {
		err := r.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-r.child.done:
			return errExited
		default:
		}
		if !pause(ctx, pollEvery/2) {
			return fmt.Errorf("the server does not answer: %w (last: %w)", ctx.Err(), err)
		}
	}
}

func (r *RedisServer) ping(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, r.network, r.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && answer != "+PONG\r\n" {
		err = fmt.Errorf("unexpected answer to PING: %q", answer)
	}
	return err
}
