package embedded

import (
	"bytes"
	"context"
	"os/exec"
	"runtime"
	"syscall"
)

// child is a server process of ours. It has its own process group, so that a Ctrl-C in the terminal is ours to answer, and
// it gets a signal when this process dies.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the process has been waited for
	err  error         // how it ended; readable after done
}

// startChild returns once the program runs. onDeath is what the kernel sends it when this process dies (Linux only).
func startChild(cmd *exec.Cmd, onDeath syscall.Signal) (*child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	setDeathSignal(cmd.SysProcAttr, onDeath)
	c := &child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go c.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// run owns the process from start to end, on one thread: the kernel takes the end of the thread that started a child for
// the death of its parent, and Go ends threads as it likes, except for those that are locked.
func (c *child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	err := c.cmd.Start()
	started <- err
	if err == nil {
		c.err = c.cmd.Wait()
	}
}

// signal does nothing when the process has ended.
func (c *child) signal(sig syscall.Signal) { _ = c.cmd.Process.Signal(sig) }

// output runs a program to its end, or kills it when ctx ends, and returns what it wrote.
func output(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	c, err := startChild(cmd, syscall.SIGKILL)
	if err != nil {
		return "", err
	}
	select {
	case <-c.done:
		return out.String(), c.err
	case <-ctx.Done():
		// The whole group: what it started holds our pipe open.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-c.done
		return out.String(), ctx.Err()
	}
}
