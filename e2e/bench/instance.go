package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// What the instances and their callers share.
const (
	apiKey    = "bench-api-key-0123456789abcdef"
	fanSecret = "bench-fan-secret-0123456789abcdef"
)

// instance is a running `fanline serve`.
type instance struct {
	cmd  *exec.Cmd
	url  string
	ops  string
	done chan error // how it ended, once
}

// serve starts one more instance, with settings in place of the usual ones, and returns when it serves.
func (b *bench) serve(ctx context.Context, env ...string) (*instance, error) {
	log, err := os.Create(filepath.Join(b.dir, fmt.Sprintf("instance-%s-%d.log", b.progress.name, len(b.running))))
	if err != nil {
		return nil, err
	}
	i := &instance{cmd: exec.Command(b.program, "serve"), done: make(chan error, 1)}
	i.cmd.Env = append(os.Environ(),
		"DATABASE_URL="+b.url, "REDIS_URL="+b.redis.URL(),
		"FANLINE_ADDR=127.0.0.1:0", "FANLINE_OPS_ADDR=127.0.0.1:0",
		"FANLINE_API_KEYS=bench:"+apiKey, "FANLINE_FAN_JWT_SECRET="+fanSecret,
		// What is measured is not the limit that guards a checkout.
		"FANLINE_CLAIMS_PER_S=1000000", "FANLINE_LOG=info",
	)
	i.cmd.Env = append(i.cmd.Env, env...)
	i.cmd.Stderr = log // itself: a pipe would have us read each line on the server's machine
	// A Ctrl-C in the terminal is ours to answer.
	i.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithUs(i.cmd.SysProcAttr)
	started, serving := make(chan error), make(chan served, 1)
	go i.own(started, log)
	if err := <-started; err != nil {
		return nil, err
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	go follow(following, log.Name(), serving)
	b.running = append(b.running, i)
	return i, i.ready(ctx, serving, log.Name())
}

// served are the addresses of an instance.
type served struct {
	Msg, Addr string
	OpsAddr   string `json:"ops_addr"`
}

// own keeps the process from start to end on one thread: the kernel takes the end of the thread that started it for the
// death of its parent.
func (i *instance) own(started chan<- error, log *os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer log.Close()
	err := i.cmd.Start()
	started <- err
	if err == nil {
		i.done <- i.cmd.Wait()
	}
}

// follow finds the addresses that an instance serves in what it logs.
func follow(ctx context.Context, log string, serving chan<- served) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		said, _ := os.ReadFile(log)
		for line := range bytes.Lines(said) {
			var at served
			if json.Unmarshal(line, &at) == nil && at.Msg == "serving" {
				serving <- at
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (i *instance) ready(ctx context.Context, serving <-chan served, log string) error {
	select {
	case at := <-serving:
		i.url, i.ops = "http://"+at.Addr, "http://"+at.OpsAddr
		return nil
	case err := <-i.done:
		i.done <- err
		said, _ := os.ReadFile(log)
		return fmt.Errorf("fanline serve ended: %w\n%s", err, said)
	case <-time.After(30 * time.Second):
		return errors.New("fanline serve does not serve after 30 s")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stopInstances asks all of them to stop, in order of their start, and insists after a while.
func (b *bench) stopInstances() error {
	var errs []error
	for _, i := range b.running {
		_ = i.cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, i := range b.running {
		select {
		case err := <-i.done:
			errs = append(errs, err)
		case <-time.After(15 * time.Second):
			_ = i.cmd.Process.Kill()
			<-i.done
			errs = append(errs, errors.New("an instance did not stop in 15 s"))
		}
	}
	b.running = nil
	return errors.Join(errs...)
}
