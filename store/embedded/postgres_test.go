package embedded

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// startPostgres runs a server for the time of the test.
func startPostgres(t *testing.T, cfg Config) *Postgres {
	t.Helper()
	p, err := StartPostgres(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func stop(t *testing.T, p *Postgres) {
	t.Helper()
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// query runs one statement on a connection of its own and returns the text it yields.
func query(t *testing.T, p *Postgres, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(values, ",")
}

func TestDataSurviveStopKillAndRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startPostgres(t, Config{Dir: dir})
	query(t, p, "CREATE TABLE fan (id text)")
	query(t, p, "INSERT INTO fan VALUES ('stopped')")
	stop(t, p)

	p = startPostgres(t, Config{Dir: dir})
	query(t, p, "INSERT INTO fan VALUES ('killed')")
	before := p.URL()
	p.Kill()
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.URL() != before {
		t.Errorf("the URL was %s and is %s after a restart", before, p.URL())
	}
	query(t, p, "INSERT INTO fan VALUES ('restarted')")
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := query(t, p, "SELECT id FROM fan ORDER BY id"), "killed,restarted,stopped"; got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
}

func TestStopMayBeCalledTwiceAndAtTheSameTime(t *testing.T) {
	t.Parallel()
	p := startPostgres(t, Config{Dir: t.TempDir(), Fast: true})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := p.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := p.Restart(t.Context()); err == nil {
		t.Error("a stopped server was restarted")
	}
}

func TestStopWithoutTimeEndsTheServerAllTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startPostgres(t, Config{Dir: dir, Fast: true})
	query(t, p, "CREATE TABLE fan (id text)")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = p.Stop(ctx) // an error, unless the server was faster
	select {
	case <-p.child.done:
	default:
		t.Fatal("Stop returned while the server runs")
	}
	p = startPostgres(t, Config{Dir: dir, Fast: true})
	if got := query(t, p, "SELECT count(*)::text FROM fan"); got != "0" {
		t.Errorf("count %s, want 0", got)
	}
}

func TestCommitsAreDurableUnlessFast(t *testing.T) {
	t.Parallel()
	for fast, want := range map[bool]string{false: "on", true: "off"} {
		p := startPostgres(t, Config{Dir: t.TempDir(), Fast: fast, Name: "line"})
		for _, setting := range []string{"fsync", "full_page_writes"} {
			if got := query(t, p, "SHOW "+setting); got != want {
				t.Errorf("fast %v: %s is %s, want %s", fast, setting, got, want)
			}
		}
		for setting, want := range map[string]string{"listen_addresses": "", "TimeZone": "UTC", "jit": "off", "synchronous_commit": "on", "server_encoding": "UTF8"} {
			if got := query(t, p, "SHOW "+setting); got != want {
				t.Errorf("%s is %q, want %q", setting, got, want)
			}
		}
		if got := query(t, p, "SELECT current_database()::text"); got != "line" {
			t.Errorf("connected to database %s, want line", got)
		}
	}
}

func TestADirectoryHasOneUser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startPostgres(t, Config{Dir: dir, Fast: true})
	_, err := StartPostgres(t.Context(), Config{Dir: dir, Fast: true})
	wantSentence(t, err, dir, "in use by process "+strconv.Itoa(os.Getpid()))
}

func TestADirectoryMayHaveAnyName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"two words", "a+b", "100%25", "one,two", "a&b=c?#", "it's \"quoted\"", "grün"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			p, err := StartPostgres(ctx, Config{Dir: filepath.Join(t.TempDir(), name), Fast: true})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Stop(context.Background())
			if got := query(t, p, `SELECT 'here'`); got != "here" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestOnlyTheOwnerReachesTheSocket(t *testing.T) {
	t.Parallel()
	// Longer than any socket's path may be.
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	p := startPostgres(t, Config{Dir: dir, Fast: true})
	u, err := url.Parse(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	sockets := u.Query().Get("host")
	t.Cleanup(func() { os.RemoveAll(sockets) })
	fi, err := os.Stat(sockets)
	if err != nil {
		t.Fatal(err)
	}
	if fi.Mode().Perm() != 0o700 {
		t.Errorf("%s has mode %v", sockets, fi.Mode())
	}
	query(t, p, "SELECT 'reached'")

	stop(t, p)
	if err := os.Mkdir(sockets, 0o755); err != nil { // Stop has removed it; somebody else was first
		t.Fatal(err)
	}
	_, err = StartPostgres(t.Context(), Config{Dir: dir, Fast: true})
	wantSentence(t, err, sockets, "remove it")
}

func TestAServerEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux signals the children of a dead process")
	}
	dir := t.TempDir()
	cmd, pid := startHelper(t, "postgres", dir)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// At once, while the old one may be shutting down.
	p := startPostgres(t, Config{Dir: dir})
	if !gone(pid)() {
		t.Errorf("the server of the killed process, %d, still runs", pid)
	}
	query(t, p, "SELECT 'usable'")
}

func TestAServerDoesNotEndWithAThread(t *testing.T) {
	t.Parallel()
	p := startPostgres(t, Config{Dir: t.TempDir(), Fast: true})
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(runtime.LockOSThread) // a goroutine that ends locked takes its thread along
	}
	wg.Wait()
	query(t, p, "SELECT 'still there'")
}

func TestAServerLeftRunningIsShutDown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	left := startPostgres(t, Config{Dir: dir})
	query(t, left, "CREATE TABLE fan (id text)")
	left.cluster.close() // the lock of a process that has ended
	p := startPostgres(t, Config{Dir: dir})
	<-left.child.done
	if left.child.err != nil {
		t.Errorf("it was not shut down in order: %v", left.child.err)
	}
	query(t, p, "SELECT id FROM fan")
}

func TestAServerKilledWithoutWarningIsRestarted(t *testing.T) {
	t.Parallel()
	p := startPostgres(t, Config{Dir: t.TempDir(), Fast: true})
	query(t, p, "CREATE TABLE fan (id text)")
	p.child.signal(syscall.SIGKILL)
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	query(t, p, "SELECT id FROM fan")
}

func TestAProcessNumberInUseAgainIsNotTakenForAServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startPostgres(t, Config{Dir: dir, Fast: true})
	stop(t, p)
	pidFile := filepath.Join(dir, "data", "postmaster.pid")
	stale := strconv.Itoa(os.Getpid()) + "\n" + filepath.Join(dir, "data") + "\n"
	if err := os.WriteFile(pidFile, []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	p = startPostgres(t, Config{Dir: dir, Fast: true})
	query(t, p, "SELECT 'started'")
}

func TestDataOfAnotherMajorVersionAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := StartPostgres(t.Context(), Config{Dir: dir})
	found, e := findPrograms(t.Context(), 0)
	if e != nil {
		t.Fatal(e)
	}
	wantSentence(t, err, data, "PostgreSQL 10", "is "+strconv.Itoa(found.major), "postgresql-10", "FANLINE_PG_BIN", "move")
	// The refusal lets go of the directory.
	_, err = StartPostgres(t.Context(), Config{Dir: dir})
	wantSentence(t, err, "PostgreSQL 10")
}

func TestAnInterruptedFirstRunIsRepeated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data.new", "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := startPostgres(t, Config{Dir: dir, Fast: true})
	query(t, p, "SELECT 'whole'")
}

func TestFilesThatAreNoDatabaseAreLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keep := filepath.Join(dir, "data", "thesis.txt")
	if err := os.MkdirAll(filepath.Dir(keep), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keep, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := StartPostgres(t.Context(), Config{Dir: dir})
	wantSentence(t, err, filepath.Join(dir, "data"), "move it away")
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop(t, startPostgres(t, Config{Dir: dir, Fast: true}))
	if err := os.Remove(filepath.Join(dir, "data", "global", "pg_control")); err != nil {
		t.Fatal(err)
	}
	_, err := StartPostgres(t.Context(), Config{Dir: dir, Fast: true})
	wantSentence(t, err, "ended while starting", "pg_control")
}

func TestTheTerminalDoesNotReachTheServer(t *testing.T) {
	t.Parallel()
	p := startPostgres(t, Config{Dir: t.TempDir(), Fast: true})
	theirs, err := syscall.Getpgid(p.child.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if ours := syscall.Getpgrp(); theirs == ours {
		t.Errorf("the server is in our process group %d", ours)
	}
}

// wantSentence checks that an error names what its reader needs.
func wantSentence(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that names %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %q: %v", part, err)
		}
	}
}
