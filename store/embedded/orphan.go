package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// orderlyStop is how long a server that was left running gets to shut down in order.
const orderlyStop = 30 * time.Second

// evict makes the data free for a server of ours. We hold the directory's lock, so a server that runs on it was left by a
// process that is gone (or was started by hand): it is shut down, rather than used, since nobody would own it. A pid file
// that no such server stands behind is removed, because Postgres itself goes by the number alone, and would refuse to
// start when the number is in use again, as it mostly is in a container.
func (c *cluster) evict(ctx context.Context) error {
	pidFile := filepath.Join(c.data, "postmaster.pid")
	b, err := os.ReadFile(pidFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	pid, err := strconv.Atoi(strings.TrimSpace(string(line)))
	if err == nil && pid > 0 && serves(pid, c.data) {
		c.cfg.Log.Warn("shutting down a Postgres that was left running", "dir", c.data, "pid", pid)
		if err := endOrphan(ctx, pid, c.data); err != nil {
			return err
		}
	}
	if err := os.Remove(pidFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func endOrphan(ctx context.Context, pid int, data string) error {
	orderly, cancel := context.WithTimeout(ctx, orderlyStop)
	defer cancel()
	for _, step := range []struct {
		ctx context.Context
		sig syscall.Signal
	}{{orderly, syscall.SIGINT}, {ctx, syscall.SIGQUIT}} {
		if err := syscall.Kill(pid, step.sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop the server (process %d) that still runs on %s: %w", pid, data, err)
		}
		for serves(pid, data) {
			if !pause(step.ctx, pollEvery) {
				break
			}
		}
		if !serves(pid, data) {
			return nil
		}
	}
	return fmt.Errorf("the server (process %d) that still runs on %s does not end: %w", pid, data, ctx.Err())
}

// stillInUse reports whether a server refused to start because of one that is about to be gone.
func stillInUse(log string) bool {
	return strings.Contains(log, "pre-existing shared memory block") || strings.Contains(log, `"postmaster.pid" already exists`)
}
