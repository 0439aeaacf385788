package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// helperEnv makes this test binary a process that starts a server, says so, and waits to be killed.
const helperEnv = "FANLINE_EMBEDDED_TEST_HELPER"

func TestMain(m *testing.M) {
	if what, dir, ok := strings.Cut(os.Getenv(helperEnv), " "); ok {
		help(what, dir)
		return
	}
	goleak.VerifyTestMain(m)
}

func help(what, dir string) {
	ctx := context.Background()
	var pid int
	switch what {
	case "postgres":
		p, err := StartPostgres(ctx, Config{Dir: dir})
		if err != nil {
			panic(err)
		}
		pid = p.child.cmd.Process.Pid
	case "redis-server":
		r, err := StartRedisServer(ctx, RedisConfig{Dir: dir})
		if err != nil {
			panic(err)
		}
		pid = r.child.cmd.Process.Pid
	}
	fmt.Println(pid)
	// Until killed; the pipe ends with the test when that fails.
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startHelper returns a process that runs a server on dir, and the server's process number.
func startHelper(t *testing.T, what, dir string) (*exec.Cmd, int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperEnv+"="+what+" "+dir)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the helper did not start a %s: %v", what, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return cmd, pid
}

// await polls until a condition holds, for at most 20 s.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !holds() {
		if !pause(ctx, pollEvery) {
			t.Fatalf("still not so: %s", what)
		}
	}
}

func gone(pid int) func() bool {
	return func() bool {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
		// Where nobody reaps orphans, a dead process keeps its number.
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err == nil && strings.Contains(string(b), ") Z ")
	}
}
