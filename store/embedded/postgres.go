package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	superuser = "fanline"
	// socketPort only names the socket file; nothing listens on TCP.
	socketPort = "5432"
	// pollEvery is how often a starting or ending server is looked at. An attempt costs well under a millisecond.
	pollEvery = 10 * time.Millisecond
	// immediateStop bounds the wait for a server that was told to drop everything; Postgres itself gives its children
	// 5 s before it kills them.
	immediateStop = 10 * time.Second
)

// Config says where a private Postgres lives and how careful it is.
type Config struct {
	// Dir holds everything of the server: data/, postgres.log, lock and, where its path is short enough, the socket. It
	// is made when missing and is good for any number of starts.
	Dir string
	// Name of the database that URL points to, created when missing. Default "fanline".
	Name string
	// Fast gives up the durability of a commit over a crash of the machine, and is for tests alone.
	Fast bool
	// Log hears about first runs, recoveries and stops. The server's own log is Dir/postgres.log. Default: nobody.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "fanline"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Postgres is a running private server. Make one with StartPostgres.
type Postgres struct {
	cfg     Config
	cluster *cluster

	// mu is held over starts and stops, so that they happen one after the other.
	mu      sync.Mutex
	child   *child
	stopped bool
}

// StartPostgres returns once the server answers and the database exists: after about a second on an empty directory,
// 0.2 s later on, and as long as recovery takes after a crash. ctx bounds the start alone; the server runs until Stop.
//
// A server that an earlier process left running on the directory is shut down first. The error is a sentence for people
// when no Postgres is installed, when the directory is in use, belongs to somebody else or was made by another major
// version.
func StartPostgres(ctx context.Context, cfg Config) (*Postgres, error) {
	cfg = cfg.withDefaults()
	if cfg.Dir == "" {
		return nil, errors.New("start postgres: no data directory given")
	}
	c, err := openCluster(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	p := &Postgres{cfg: cfg, cluster: c}
	if err := p.start(ctx); err != nil {
		c.close()
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	return p, nil
}

// URL is a connection string for pgx and libpq, as the superuser of the server. It stays the same over Restart.
func (p *Postgres) URL() string { return p.url(p.cfg.Name) }

func (p *Postgres) url(database string) string {
	query := url.Values{"host": {p.cluster.socketDir}, "port": {socketPort}}.Encode()
	u := url.URL{
		Scheme: "postgres",
		User:   url.User(superuser),
		Path:   "/" + database,
		// To Postgres, unlike to a form, a plus is no space.
		RawQuery: strings.ReplaceAll(query, "+", "%20"),
	}
	return u.String()
}

// Stop ends open connections, shuts the server down in order and returns when it has ended. When ctx ends first, the
// server is stopped at once, which loses no commit but makes the next start recover; that is reported as an error.
// Later calls return nil.
func (p *Postgres) Stop(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil
	}
	p.stopped = true
	defer p.cluster.close()
	p.child.signal(syscall.SIGINT)
	select {
	case <-p.child.done:
		p.cfg.Log.Info("postgres stopped", "dir", p.cfg.Dir)
		return nil
	case <-ctx.Done():
		p.quit()
		return fmt.Errorf("stop postgres: not in order within the time given: %w", ctx.Err())
	}
}

// Kill stops the server at once, as a crash would, and returns when it has ended. Restart brings it back.
func (p *Postgres) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quit()
}

// Restart kills the server if it still runs and starts it again on the same data, socket and URL. ctx bounds the start.
func (p *Postgres) Restart(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return errors.New("restart postgres: it was stopped")
	}
	p.quit()
	if err := p.start(ctx); err != nil {
		return fmt.Errorf("restart postgres: %w", err)
	}
	return nil
}

// quit asks for an immediate shutdown and insists when there is none.
func (p *Postgres) quit() {
	p.child.signal(syscall.SIGQUIT)
	select {
	case <-p.child.done:
	case <-time.After(immediateStop):
		p.child.signal(syscall.SIGKILL)
		<-p.child.done
	}
}

// start runs the server and waits until the database can be used. A failure leaves nothing running.
func (p *Postgres) start(ctx context.Context) error {
	for {
		if err := p.cluster.evict(ctx); err != nil {
			return err
		}
		logEnd := p.cluster.logSize()
		child, err := p.cluster.run()
		if err != nil {
			return err
		}
		p.child = child
		err = p.waitReady(ctx)
		if err == nil {
			return nil
		}
		p.quit()
		said := p.cluster.logSince(logEnd)
		if !errors.Is(err, errExited) {
			return fmt.Errorf("%w; it wrote:\n%s", err, said)
		}
		// The processes of a server that was killed with SIGKILL end a moment after it, and hold its shared memory
		// until then. That is the one refusal that passes by itself.
		if !stillInUse(said) || !pause(ctx, 10*pollEvery) {
			return fmt.Errorf("%w; it wrote:\n%s", err, said)
		}
	}
}

var errExited = errors.New("the server ended while starting")

// waitReady returns once the server answers and has the database, or with errExited once it has ended.
func (p *Postgres) waitReady(ctx context.Context) error {
	for {
		err := p.ensureDatabase(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.child.done:
			return errExited
		default:
		}
		if !pause(ctx, pollEvery) {
			return fmt.Errorf("the server does not answer: %w (last: %w)", ctx.Err(), err)
		}
	}
}

// ensureDatabase fails as long as the server is not up.
func (p *Postgres) ensureDatabase(ctx context.Context) error {
	// Asking for the file first saves a starting server the noise of half-open connections.
	if _, err := os.Stat(p.cluster.socketFile()); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, p.url("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var exists bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, p.cfg.Name).Scan(&exists); err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, `CREATE DATABASE `+pgx.Identifier{p.cfg.Name}.Sanitize())
	return err
}

// pause waits for d and reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
