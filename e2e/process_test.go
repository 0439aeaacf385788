package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a child of the test. It does not outlive the test, nor, on Linux, the
// test's process. What it wrote is shown when the test fails.
type process struct {
	name string
	cmd  *exec.Cmd
	out  *output
	done chan struct{} // closed once it was waited for
}

// run starts a program. env is all of its environment beside what every program
// needs.
func run(t testing.TB, name string, env []string, args ...string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.Command(built(t), args...), out: newOutput(), done: make(chan struct{})}
	for _, key := range []string{"PATH", "HOME", "TMPDIR", "FANLINE_PG_BIN", "GOCOVERDIR"} {
		if v, ok := os.LookupEnv(key); ok {
			p.cmd.Env = append(p.cmd.Env, key+"="+v)
		}
	}
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.SysProcAttr = childAttr()
	p.cmd.WaitDelay = 5 * time.Second // a grandchild may hold the pipe
	started := make(chan error)
	go p.own(started)
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("what %s wrote last:\n%s", name, p.out.tail(80))
		}
	})
	return p
}

// own waits for the child on one thread: the kernel takes the end of the thread
// that started a child for the death of its parent.
func (p *process) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // the state tells how it ended
	}
}

// kill is kill -9. It returns when the process has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// code waits for the end of the process and returns its exit code, -1 after a signal.
func (p *process) code(ctx context.Context) (int, error) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("%s did not end: %w", p.name, ctx.Err())
	}
}

var errEnded = errors.New("the process ended")

// line waits for a line of its output that contains all of the words.
func (p *process) line(ctx context.Context, words ...string) (string, error) {
	next := 0
	for {
		ended := p.ended() // looked at before the lines, so that none is missed
		lines, changed := p.out.since(next)
		for _, l := range lines {
			if containsAll(l, words) {
				return l, nil
			}
		}
		next += len(lines)
		if ended {
			return "", fmt.Errorf("%s, wait for %q: %w:\n%s", p.name, words, errEnded, p.out.tail(20))
		}
		select {
		case <-changed:
		case <-p.done:
		case <-ctx.Done():
			return "", fmt.Errorf("%s, wait for %q: %w", p.name, words, ctx.Err())
		}
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// output is what a process wrote, by lines.
type output struct {
	mu      sync.Mutex
	lines   []string
	part    []byte // of a line that has not ended
	changed chan struct{}
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(b)
	for {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		o.part = append(o.part, line...)
		if !whole {
			break
		}
		o.lines, o.part, b = append(o.lines, string(o.part)), o.part[:0], rest
	}
	close(o.changed)
	o.changed = make(chan struct{})
	return n, nil
}

func (o *output) since(next int) ([]string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.lines[next:]...), o.changed
}

func (o *output) all() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(append(slices.Clone(o.lines), string(o.part)), "\n")
}

// tail is the newest n lines, but for the queue's regular remarks.
func (o *output) tail(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := append(slices.DeleteFunc(slices.Clone(o.lines), isRemark), string(o.part))
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func isRemark(line string) bool {
	for _, s := range []string{"leadership.Elector: ", "Client: Job stats", "producer: Reporting"} {
		if strings.Contains(line, s) {
			return true
		}
	}
	return false
}
