package e2e_test

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fanline/store/embedded"
	"fanline/store/storetest"
)

// No image can be pulled where these tests run, so the commands of the Dockerfile's
// build stage are run by themselves, and what its last stage copies is run as its
// user would be: not root, with nothing but the environment.

// stage is what the Dockerfile says of its build.
type stage struct {
	copied []string // before the commands, in order, "." is all
	run    []string
	output string // what the last stage copies to /fanline
	health []string
}

func readDockerfile(t *testing.T) (s stage) {
	t.Helper()
	text, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		fields := strings.Fields(rest)
		switch {
		case word == "RUN":
			s.run = append(s.run, rest)
		case word == "COPY" && fields[0] != "--from=build":
			s.copied = append(s.copied, fields[:len(fields)-1]...)
		case word == "COPY" && fields[len(fields)-1] == "/fanline":
			s.output = fields[1]
		case word == "HEALTHCHECK":
			_, list, _ := strings.Cut(rest, "CMD [")
			for _, arg := range strings.Split(strings.TrimSuffix(list, "]"), ", ") {
				s.health = append(s.health, strings.Trim(arg, `"`))
			}
		}
	}
	if len(s.run) == 0 || s.output == "" || len(s.health) == 0 || s.copied[len(s.copied)-1] != "." {
		t.Fatalf("the Dockerfile is read as %+v", s)
	}
	return s
}

// build runs the stage on a copy of the tracked files and returns the binary.
func (s *stage) build(t *testing.T) string {
	t.Helper()
	src, out := t.TempDir(), t.TempDir()
	// The same files that the image's build gets.
	mustRun(t, exec.CommandContext(t.Context(), "sh", "-c", "git -C .. ls-files -z | tar -C .. --null -T - -cf - | tar -xf - -C "+src))
	for _, command := range s.run {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command, filepath.Dir(s.output), out))
		cmd.Dir = src
		cmd.Env = append(os.Environ(), "VERSION=9.8.7")
		mustRun(t, cmd)
	}
	return filepath.Join(out, filepath.Base(s.output))
}

func mustRun(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

func TestTheImagesStagesGiveABinaryThatServesAsNobody(t *testing.T) {
	t.Parallel()
	s := readDockerfile(t)
	binary := s.build(t)
	again, err := os.ReadFile(s.build(t))
	if err != nil {
		t.Fatal(err)
	}
	if first, err := os.ReadFile(binary); err != nil || !bytes.Equal(first, again) {
		t.Errorf("two builds of the same source differ (%v)", err)
	}
	if out, _ := exec.CommandContext(t.Context(), "ldd", binary).CombinedOutput(); !strings.Contains(string(out), "not a dynamic") {
		t.Errorf("the binary is not static: %s", out)
	}

	database := storetest.Postgres(t)
	sockets := socketsOf(t, database)
	attr := asOwnerOf(t, sockets)
	own := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.SysProcAttr, cmd.Env, cmd.Dir = attr, []string{}, "/"
		return cmd
	}
	open(t, binary)
	open(t, sockets)
	if v := mustRun(t, own("version")); !strings.Contains(v, "9.8.7") {
		t.Errorf("version: %q", v)
	}
	redis, err := embedded.StartRedisServer(t.Context(), embedded.RedisConfig{Dir: t.TempDir(), TCP: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Stop)
	addr := freeAddr(t)
	serve := own("serve")
	serve.Env = []string{
		"DATABASE_URL=" + database, "REDIS_URL=" + redis.URL(), "FANLINE_ADDR=" + addr, "FANLINE_OPS_ADDR=127.0.0.1:0",
		"FANLINE_API_KEYS=ticketing:" + apiSecret, "FANLINE_FAN_JWT_SECRET=" + jwtSecret,
	}
	var logs output
	logs.changed = make(chan struct{})
	serve.Stdout, serve.Stderr = &logs, &logs
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	s.wantHealthy(t, own, addr, &logs)
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("stopped with %v\n%s", err, logs.all())
	}
}

// wantHealthy runs the image's health check until it is content.
func (s *stage) wantHealthy(t *testing.T, own func(...string) *exec.Cmd, addr string, logs *output) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	args := append([]string{}, s.health[1:]...)
	args[len(args)-1] = "http://" + addr
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := own(args...).CombinedOutput()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("never healthy: %s\n%s", out, logs.all())
		case <-tick.C:
		}
	}
}

// asOwnerOf makes a child run as the user who may reach the test's Postgres, which
// is never root.
func asOwnerOf(t *testing.T, sockets string) *syscall.SysProcAttr {
	t.Helper()
	info, err := os.Stat(sockets)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	if st.Uid == 0 {
		t.Fatal("the test's Postgres belongs to root")
	}
	attr := childAttr()
	if os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: st.Uid, Gid: st.Gid, NoSetGroups: true}
	}
	return attr
}

// socketsOf is the folder of the database's unix socket.
func socketsOf(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("host")
}

// open lets another user pass through the test's own folders to a path, but not
// read them.
func open(t *testing.T, path string) {
	t.Helper()
	for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/dev/shm" && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
}
