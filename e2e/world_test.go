package e2e_test

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/sim"
	"fanline/store/embedded"
	"fanline/store/storetest"
)

// Secrets that no log may hold. They are drawn anew, so that finding one is a find.
var (
	apiSecret = "api-" + crand.Text()
	jwtSecret = "jwt-" + crand.Text()
)

const (
	// startPatience is for a start on a machine that is busy with other tests.
	startPatience = 30 * time.Second
	// testPatience bounds all that a test waits for, for each round.
	testPatience = 2 * time.Minute
)

// world is what a test stands on: a database, a redis-server, and instances.
type world struct {
	t           *testing.T
	ctx         context.Context // ends with testPatience
	databaseURL string
	redis       *embedded.RedisServer
	in          []*instance
	http        *http.Client
	app         *sim.App // calls the instances in turn; a call that fails has failed
	patient     *sim.App // tries again on the next instance
	shows       int
}

// newWorld starts n instances on a database and a redis-server of the test's own.
func newWorld(t *testing.T, n int) *world {
	t.Helper()
	return newWorldOn(t, n, database(t))
}

// database is a migrated one of the test's own.
func database(t testing.TB) string {
	t.Helper()
	built(t) // before the time given to migrating begins
	return storetest.Database(t, migrate)
}

// newWorldOn is newWorld on a database that the test brings.
func newWorldOn(t *testing.T, n int, databaseURL string) *world {
	t.Helper()
	built(t) // before its time begins
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*rounds)*testPatience)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, databaseURL: databaseURL, http: sim.NewHTTPClient()}
	t.Cleanup(w.http.CloseIdleConnections)
	var err error
	if w.redis, err = embedded.StartRedisServer(ctx, embedded.RedisConfig{Dir: t.TempDir(), TCP: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.redis.Stop)
	var bases []string
	for i := range n {
		in := w.newInstance(string(rune('A' + i)))
		in.launch()
		bases = append(bases, in.base)
	}
	for _, in := range w.in {
		in.waitReady()
	}
	w.app = sim.NewApp(bases, apiSecret, sim.WithHTTPClient(w.http))
	w.patient = sim.NewApp(bases, apiSecret, sim.WithHTTPClient(w.http), patience)
	return w
}

var patience = sim.WithRetry(30*time.Second, sim.Backoff{Base: 20 * time.Millisecond, Cap: 300 * time.Millisecond})

// migrate prepares a template as the program itself does.
func migrate(ctx context.Context, url string) error {
	path, err := program()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, "migrate")
	cmd.Env = []string{"DATABASE_URL=" + url}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate: %w\n%s", err, out)
	}
	return nil
}

// instance is one `fanline serve`. Its addresses stay over restarts.
type instance struct {
	*process
	w         *world
	name      string
	runs      int
	addr, ops string
	base      string
	env       []string // beside the usual
}

func (w *world) newInstance(name string, env ...string) *instance {
	in := &instance{w: w, name: name, addr: freeAddr(w.t), ops: freeAddr(w.t), env: env}
	in.base = "http://" + in.addr
	w.in = append(w.in, in)
	return in
}

// launch starts the process and returns at once.
func (in *instance) launch() {
	in.w.t.Helper()
	in.runs++
	env := append(in.w.env(), "FANLINE_ADDR="+in.addr, "FANLINE_OPS_ADDR="+in.ops)
	in.process = run(in.w.t, fmt.Sprintf("instance %s, run %d", in.name, in.runs), append(env, in.env...), "serve")
	p := in.process
	in.w.t.Cleanup(func() { p.kill(); checkOutput(in.w.t, p) })
}

// env is the configuration that all instances share.
func (w *world) env() []string {
	return []string{
		"DATABASE_URL=" + w.databaseURL, "REDIS_URL=" + w.redis.URL(),
		"FANLINE_API_KEYS=ticketing:" + apiSecret, "FANLINE_FAN_JWT_SECRET=" + jwtSecret, "FANLINE_LOG=debug",
	}
}

// waitReady waits until the instance serves and calls itself ready.
func (in *instance) waitReady() {
	in.w.t.Helper()
	ctx, cancel := context.WithTimeout(in.w.ctx, startPatience)
	defer cancel()
	if _, err := in.line(ctx, `"msg":"serving"`); err != nil {
		in.w.t.Fatal(err)
	}
	if status, body := in.w.get(in.base + "/readyz"); status != http.StatusOK {
		in.w.t.Fatalf("%s is not ready: %d %s", in.process.name, status, body)
	}
}

// restart starts the instance again, after its kill or stop.
func (in *instance) restart() {
	in.w.t.Helper()
	in.launch()
	in.waitReady()
}

// stop is SIGTERM. It returns the exit code.
func (in *instance) stop() int {
	in.w.t.Helper()
	in.signal(syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(in.w.ctx, startPatience)
	defer cancel()
	code, err := in.code(ctx)
	if err != nil {
		in.w.t.Fatal(err)
	}
	return code
}

// checkOutput looks for what no log may hold.
func checkOutput(t *testing.T, p *process) {
	out := p.out.all()
	for what, s := range map[string]string{
		"the secret of an API key": apiSecret, "the secret of the fans' tokens": jwtSecret, "a token": "eyJ",
		"a panic": "panic:", "a recovered panic": "goroutine 1 [", "a data race": "WARNING: DATA RACE",
	} {
		if i := strings.Index(out, s); i >= 0 {
			t.Errorf("%s wrote %s:\n%s", p.name, what, out[max(0, i-300):min(len(out), i+3000)])
		}
	}
}

// get reads an address without credentials.
func (w *world) get(url string) (status int, body string) {
	w.t.Helper()
	status, body, err := w.tryGet(url)
	if err != nil {
		w.t.Fatal(err)
	}
	return status, body
}

func (w *world) tryGet(url string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// connect is a connection beside the program's.
func (w *world) connect() *pgx.Conn {
	w.t.Helper()
	cfg := must(pgx.ParseConfig(w.databaseURL))(w.t)
	delete(cfg.RuntimeParams, "pool_max_conns") // the program's
	return must(pgx.ConnectConfig(w.ctx, cfg))(w.t)
}

// sql runs a statement beside the program: to do damage, or to look where the API
// shows nothing. It returns the rows affected.
func (w *world) sql(statement string, args ...any) int64 {
	w.t.Helper()
	conn := w.connect()
	defer conn.Close(context.WithoutCancel(w.ctx))
	tag, err := conn.Exec(w.ctx, statement, args...)
	if err != nil {
		w.t.Fatalf("%s: %v", statement, err)
	}
	return tag.RowsAffected()
}

// number is what a query for one number answers.
func (w *world) number(query string, args ...any) (n int64) {
	w.t.Helper()
	conn := w.connect()
	defer conn.Close(context.WithoutCancel(w.ctx))
	if err := conn.QueryRow(w.ctx, query, args...).Scan(&n); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// until asks again and again until ok, for things of which the outside hears
// nothing. It fails the test after d.
func (w *world) until(d time.Duration, what string, ok func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, d)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			w.t.Fatalf("not within %v: %s", d, what)
		case <-tick.C:
		}
	}
}

// freeAddr is a loopback address that nobody listens on. It is none of those that
// the kernel gives to outgoing connections, so that it stays free over a restart.
func freeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(12_000+rand.IntN(20_000)))
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("found no free port")
	return ""
}

// command runs the program to its end.
func command(t *testing.T, env []string, args ...string) (code int, out string) {
	t.Helper()
	p := run(t, strings.Join(args, " "), env, args...)
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	code, err := p.code(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return code, p.out.all()
}

// check fails the test on an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must is check for a call with a value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// wantProblem checks that err is a refusal with this status and code.
func wantProblem(t testing.TB, err error, status int, code string) *sim.Problem {
	t.Helper()
	var p *sim.Problem
	if !errors.As(err, &p) || p.Status != status || p.Code != code {
		t.Fatalf("got %v, want a refusal %d %s", err, status, code)
	}
	return p
}
