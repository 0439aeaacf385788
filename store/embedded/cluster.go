package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// cluster is a data directory with everything needed to run a server on it: the programs, the account and the lock. It
// knows nothing of a running child, except for those that others left behind (orphan.go).
type cluster struct {
	cfg       Config
	bin       programs
	as        account
	data      string
	socketDir string
	lock      *os.File
}

// openCluster locks the directory and makes the data in it when there is none. Close undoes the lock.
func openCluster(ctx context.Context, cfg Config) (_ *cluster, err error) {
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, err
	}
	c := &cluster{cfg: cfg, data: filepath.Join(cfg.Dir, "data")}
	if c.as, err = accountFor(c.data); err != nil {
		return nil, err
	}
	if err := makeDir(cfg.Dir, c.as); err != nil {
		return nil, err
	}
	if c.lock, err = lockDir(ctx, cfg.Dir, c.as); err != nil {
		return nil, err
	}
	if err := c.prepare(ctx); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *cluster) close() {
	// One in a shared temporary directory is litter; it must be empty, or it is in use.
	if c.socketDir != "" && filepath.Dir(c.socketDir) != c.cfg.Dir {
		_ = os.Remove(c.socketDir)
	}
	c.lock.Close()
}

func (c *cluster) prepare(ctx context.Context) (err error) {
	have, err := dataVersion(c.data)
	if err != nil {
		return err
	}
	if c.bin, err = findPrograms(ctx, have); err != nil {
		return err
	}
	if c.socketDir, err = makeSocketDir(c.cfg.Dir, c.as); err != nil {
		return err
	}
	if have == 0 {
		return c.initdb(ctx)
	}
	if have != c.bin.major {
		return fmt.Errorf("the data in %s were written by PostgreSQL %d, but the one found in %s is %d; install %d"+
			" (%s-%d) or name its bin directory in FANLINE_PG_BIN, or move %s away to start empty",
			c.data, have, c.bin.dir, c.bin.major, have, installPostgres, have, c.data)
	}
	return nil
}

// dataVersion returns the major version that made the data, or 0 when there are none yet.
func dataVersion(data string) (int, error) {
	b, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		// initdb fills a directory of another name, so data/ without a version is not ours to overwrite.
		if entries, err := os.ReadDir(data); err == nil && len(entries) > 0 {
			return 0, fmt.Errorf("%s has files in it but no PG_VERSION; move it away to start empty", data)
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("%s is not the version of a Postgres data directory that this program can use: %w", filepath.Join(data, "PG_VERSION"), err)
	}
	return version, nil
}

// initdb makes the data under another name and renames them when they are whole, so that a process killed half-way leaves
// nothing that looks usable.
func (c *cluster) initdb(ctx context.Context) error {
	c.cfg.Log.Info("making a new Postgres data directory", "dir", c.data, "version", c.bin.major)
	fresh := c.data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := makeDir(fresh, c.as); err != nil {
		return err
	}
	cmd, release, err := c.command(c.bin.initdb, fresh)
	if err != nil {
		return err
	}
	defer release()
	cmd.Args = append(cmd.Args, "--username", superuser, "--auth", "trust", "--encoding", "UTF8", "--no-locale")
	if c.cfg.Fast {
		cmd.Args = append(cmd.Args, "--no-sync")
	}
	if out, err := output(ctx, cmd); err != nil {
		return fmt.Errorf("initdb in %s: %w; it wrote:\n%s", fresh, err, out)
	}
	// An empty directory may be there; one that is not makes the removal fail.
	if err := os.Remove(c.data); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(fresh, c.data)
}

// run starts the server and returns without waiting for it to be ready.
func (c *cluster) run() (*child, error) {
	log, err := openLog(c.logFile(), c.as)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd, release, err := c.command(c.bin.postgres, c.data, c.socketDir)
	if err != nil {
		return nil, err
	}
	defer release()
	sockets := c.socketDir
	if c.as.foreign() {
		sockets = inherited(1)
	}
	cmd.Args = append(cmd.Args, settings(sockets, c.cfg.Fast)...)
	cmd.Stdout, cmd.Stderr = log, log
	return startChild(cmd, c.deathSignal())
}

// command prepares a program on the first of dirs, with "-D". The caller releases once it has started.
//
// A server that runs under another account than ours may not be allowed to walk to its own directory: below /root, say,
// or in the 0700 directory of a test. So it gets its directories open, and reaches them without walking.
func (c *cluster) command(program string, dirs ...string) (_ *exec.Cmd, release func(), err error) {
	cmd := exec.Command(program, "-D", dirs[0])
	// Wherever we are, that account need not be able to be there.
	cmd.Dir = "/"
	cmd.Env = childEnv()
	c.as.apply(cmd)
	release = func() {
		for _, f := range cmd.ExtraFiles {
			f.Close()
		}
	}
	if !c.as.foreign() {
		return cmd, release, nil
	}
	cmd.Args[2] = inherited(0)
	for _, dir := range dirs {
		f, err := os.Open(dir)
		if err != nil {
			release()
			return nil, nil, err
		}
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	return cmd, release, nil
}

// inherited is the path by which a child reaches the i-th of its ExtraFiles.
func inherited(i int) string { return "/proc/self/fd/" + strconv.Itoa(3+i) }

// childEnv keeps what is in our environment, secrets and PG* settings, from the servers.
func childEnv() []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	if v, ok := os.LookupEnv("LD_LIBRARY_PATH"); ok {
		env = append(env, "LD_LIBRARY_PATH="+v)
	}
	return env
}

// settings come as arguments, not in postgresql.conf, so that a change of them reaches directories made before it.
func settings(socketDir string, fast bool) []string {
	s := []string{
		"listen_addresses=",
		"port=" + socketPort,
		"unix_socket_directories=" + socketDir,
		"unix_socket_permissions=0700",
		"max_connections=200",
		"shared_buffers=256MB",
		"wal_level=minimal",
		"max_wal_senders=0",
		"jit=off",
		"timezone=UTC",
		"log_timezone=UTC",
		"log_line_prefix=%m [%p] %d ",
		"log_checkpoints=off",
		"lc_messages=C",
	}
	// A commit reaches the kernel before it is answered in any case, so that Kill loses none.
	durable, wal := "on", "4GB"
	if fast {
		// Files that a test keeps few and small may live in memory.
		durable, wal = "off", "256MB"
	}
	s = append(s, "max_wal_size="+wal, "synchronous_commit=on", "fsync="+durable, "full_page_writes="+durable)
	args := make([]string, 0, 2*len(s))
	for _, v := range s {
		args = append(args, "-c", v)
	}
	return args
}

// maxLog is where postgres.log starts anew, in bytes; one older file is kept.
const maxLog = 16 << 20

func (c *cluster) logFile() string    { return filepath.Join(c.cfg.Dir, "postgres.log") }
func (c *cluster) socketFile() string { return filepath.Join(c.socketDir, ".s.PGSQL."+socketPort) }

func openLog(name string, as account) (*os.File, error) {
	if fi, err := os.Stat(name); err == nil && fi.Size() > maxLog {
		if err := os.Rename(name, name+".1"); err != nil {
			return nil, err
		}
	}
	return openFile(name, os.O_APPEND|os.O_WRONLY, as)
}

func (c *cluster) logSize() int64 {
	fi, err := os.Stat(c.logFile())
	if err != nil || fi.Size() > maxLog {
		return 0
	}
	return fi.Size()
}

// logSince returns what the server wrote from an offset on, for an error message.
func (c *cluster) logSince(offset int64) string {
	b, err := os.ReadFile(c.logFile())
	if err != nil || int64(len(b)) < offset {
		return ""
	}
	return string(bytes.TrimSpace(b[offset:]))
}

// deathSignal is sent to the server when this process dies: shut down in order, or at once where nobody needs the data.
func (c *cluster) deathSignal() syscall.Signal {
	if c.cfg.Fast {
		return syscall.SIGQUIT
	}
	return syscall.SIGINT
}
