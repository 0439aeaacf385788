package storetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"fanline/store/embedded"
)

// startTimeout is generous: tests of several packages start their servers at the same time.
const startTimeout = time.Minute

// shared is the one exception to "nothing is global": what the tests of one process have in common has no other place.
var shared process

// process holds what is started once a test process.
type process struct {
	mu        sync.Mutex
	dir       string
	lock      *os.File // held while dir is in use
	postgres  *embedded.Postgres
	databases int // made so far, for their names
	servers   int // redis-servers made so far, for their directories

	// templatesMu is above postgres: a template is made while it is held, with mu taken and let go within.
	templatesMu sync.Mutex
	templates   map[uintptr]template
}

// server returns the shared server and a number for a new database on it.
func (p *process) server() (*embedded.Postgres, int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.databases++
	if p.postgres != nil {
		return p.postgres, p.databases, nil
	}
	if err := p.makeDir(); err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	pg, err := embedded.StartPostgres(ctx, embedded.Config{Dir: filepath.Join(p.dir, "pg"), Fast: true})
	if err != nil {
		return nil, 0, err
	}
	p.postgres = pg
	return pg, p.databases, nil
}

// redisDir returns a directory for one more redis-server.
func (p *process) redisDir() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.makeDir(); err != nil {
		return "", err
	}
	p.servers++
	return filepath.Join(p.dir, fmt.Sprintf("redis%d", p.servers)), nil
}

// makeDir makes the process's directory, once, and removes those of processes that were killed. mu is held.
func (p *process) makeDir() error {
	if p.dir != "" {
		return nil
	}
	base := baseDir()
	sweep(base, time.Now().Add(-time.Minute))
	dir, err := os.MkdirTemp(base, dirPrefix)
	if err != nil {
		return err
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		lock.Close()
		return err
	}
	p.dir, p.lock = dir, lock
	return nil
}

const dirPrefix = "fanline-test-"

// sweep removes the directories below base that were made before a time and whose process is gone: nobody has the lock.
// The time spares a directory that is just being made. What cannot be removed is somebody else's.
func sweep(base string, before time.Time) {
	dirs, _ := filepath.Glob(filepath.Join(base, dirPrefix+"*")) // fails on a malformed pattern alone
	for _, dir := range dirs {
		if fi, err := os.Stat(dir); err != nil || fi.ModTime().After(before) {
			continue
		}
		lock, err := os.Open(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		lock.Close()
	}
}

// stop ends the shared server and removes all files. The process can start anew after it.
func (p *process) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.postgres != nil {
		// Nobody needs the data, so there is nothing to do in order.
		p.postgres.Kill()
		_ = p.postgres.Stop(context.Background())
		p.postgres = nil
	}
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
		p.lock.Close()
		p.dir = ""
	}
}
