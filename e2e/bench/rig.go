package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"fanline/store/embedded"
)

// rig is what the benchmarks stand on: the built program, a durable Postgres and a redis-server. close ends it all.
type rig struct {
	dir      string
	program  string
	postgres *embedded.Postgres
	redis    *embedded.RedisServer
	machine  string // what the figures were taken on, for the report
	quick    bool
	audience int       // fans of a blast
	largest  int       // size of the largest of the lines that stand ready
	lines    []bigLine // in linesDatabase; nil: nobody asked for them yet
}

func newRig(ctx context.Context, o options) (r *rig, err error) {
	r = &rig{quick: o.quick, largest: o.line, audience: o.audience}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.dir, err = os.MkdirTemp("", "fanline-bench-"); err != nil {
		return r, err
	}
	fmt.Fprintln(os.Stderr, "bench: building the program, starting Postgres and redis-server")
	if err := r.build(ctx); err != nil {
		return r, err
	}
	if r.postgres, err = embedded.StartPostgres(ctx, embedded.Config{Dir: filepath.Join(r.dir, "pg")}); err != nil {
		return r, err
	}
	if r.redis, err = embedded.StartRedisServer(ctx, embedded.RedisConfig{Dir: filepath.Join(r.dir, "redis")}); err != nil {
		return r, err
	}
	r.machine, err = r.describe(ctx)
	return r, err
}

func (r *rig) close() error {
	if r.redis != nil {
		r.redis.Stop()
	}
	if r.postgres != nil {
		r.postgres.Kill() // nobody needs the data
		_ = r.postgres.Stop(context.Background())
	}
	if r.dir == "" {
		return nil
	}
	return os.RemoveAll(r.dir)
}

// build builds the program as it is released.
func (r *rig) build(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module (run this inside of it): %w", err)
	}
	r.program = filepath.Join(r.dir, "fanline")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", r.program, ".")
	cmd.Dir = strings.TrimSpace(string(out))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return nil
}

func (r *rig) describe(ctx context.Context) (string, error) {
	var pg string
	if err := r.query(ctx, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT current_setting('server_version') || ', fsync ' || current_setting('fsync')
			|| ', synchronous_commit ' || current_setting('synchronous_commit')`).Scan(&pg)
	}); err != nil {
		return "", err
	}
	rdb := r.redisClient()
	defer rdb.Close()
	info, err := rdb.Info(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	version := ""
	for _, line := range strings.Split(info, "\r\n") {
		if v, ok := strings.CutPrefix(line, "redis_version:"); ok {
			version = v
		}
	}
	return fmt.Sprintf("%d cores of %s/%s, %s of memory; %s; Postgres %s; Redis %s",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, memory(), runtime.Version(), pg, version), nil
}

// memory is the machine's, as far as it says so.
func memory() string {
	b, _ := os.ReadFile("/proc/meminfo")
	var kb int64
	if _, err := fmt.Sscanf(string(b), "MemTotal: %d kB", &kb); err != nil {
		return "an unknown amount"
	}
	return fmt.Sprintf("%d GiB", kb>>20)
}

func (r *rig) query(ctx context.Context, f func(*pgx.Conn) error) error {
	c, err := pgx.Connect(ctx, r.postgres.URL())
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	return f(c)
}

func (r *rig) redisClient() *redis.Client {
	o, err := redis.ParseURL(r.redis.URL())
	if err != nil {
		panic(err) // the server's own URL
	}
	return redis.NewClient(o)
}

// bench is a benchmark in progress, with a migrated database of its own and an empty Redis.
type bench struct {
	*rig
	progress *progress
	url      string // of the database
	db       *pgxpool.Pool
	rdb      *redis.Client
	running  []*instance
	results  []result
}

// bench runs a benchmark and ends all that it started.
func (r *rig) bench(ctx context.Context, m benchmark) (found []result, err error) {
	b := &bench{rig: r, progress: newProgress(m.name)}
	defer func() { err = errors.Join(err, b.close()) }()
	template := "template1"
	if m.lines {
		if err := r.readyLines(ctx); err != nil {
			return nil, fmt.Errorf("make the lines: %w", err)
		}
		template = linesDatabase
	}
	if err := b.prepare(ctx, "bench_"+m.name, template); err != nil {
		return nil, err
	}
	if err := m.run(ctx, b); err != nil {
		return nil, err
	}
	return b.results, nil
}

// benchConns is the most connections that the benchmark itself opens, beside those of its stores and instances, of the
// 200 that the server has.
const benchConns = 128

// prepare makes the database, as a copy of template.
func (b *bench) prepare(ctx context.Context, name, template string) error {
	u, err := url.Parse(b.postgres.URL())
	if err != nil {
		return err
	}
	u.Path = "/" + name
	b.url = u.String()
	if err := b.query(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY FILE_COPY")
		return err
	}); err != nil {
		return err
	}
	migrate := exec.CommandContext(ctx, b.program, "migrate")
	migrate.Env = append(os.Environ(), "DATABASE_URL="+b.url)
	if out, err := migrate.CombinedOutput(); err != nil {
		return fmt.Errorf("fanline migrate: %w\n%s", err, out)
	}
	cfg, err := pgxpool.ParseConfig(b.url)
	if err != nil {
		return err
	}
	cfg.MaxConns = benchConns + 4 // and for looking on
	if b.db, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return err
	}
	b.rdb = b.redisClient()
	return b.rdb.FlushAll(ctx).Err()
}

// close stops the instances and drops the database, whatever became of the context.
func (b *bench) close() error {
	err := b.stopInstances()
	if b.rdb != nil {
		err = errors.Join(err, b.rdb.Close())
	}
	if b.db == nil {
		return err
	}
	b.db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(err, b.query(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, "DROP DATABASE "+b.db.Config().ConnConfig.Database+" WITH (FORCE)")
		return err
	}))
}

// times is how often to do something that a full run does n times: with -quick a tenth, but six at least.
func (b *bench) times(n int) int {
	if b.quick {
		return max(6, n/10)
	}
	return n
}

func (b *bench) report(r result) { b.results = append(b.results, r) }
