package embedded

import (
	"context"
	"crypto/sha256"
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

// maxSocketDir leaves room for the file's name in the 104 bytes that the smallest system allows for a socket's path.
const maxSocketDir = 85

// makeDir makes a directory that only the account can open, unless something is there already.
func makeDir(dir string, as account) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	case as.foreign():
		return os.Lchown(dir, int(as.uid), int(as.gid))
	}
	return nil
}

// makeSocketDir returns a directory that only the account (and root) can enter, which is what keeps strangers out of a
// server that asks for no password. It stays the same for one dir.
func makeSocketDir(dir string, as account) (string, error) {
	sockets := filepath.Join(dir, "run")
	// A comma parts several servers in an address, and several directories in a setting.
	if len(sockets) > maxSocketDir || strings.Contains(sockets, ",") {
		sockets = filepath.Join(shortTemp(), fmt.Sprintf("fanline-%x", sha256.Sum256([]byte(dir)))[:24])
	}
	if err := makeDir(sockets, as); err != nil {
		return "", err
	}
	// In a shared temporary directory, somebody else may have been first.
	fi, err := os.Lstat(sockets)
	if err != nil {
		return "", err
	}
	owner, err := ownerOf(sockets)
	if err != nil {
		return "", err
	}
	if !fi.IsDir() || fi.Mode().Perm() != 0o700 || owner == nil || owner.uid != as.uid {
		return "", fmt.Errorf("%s should be a directory for the server's socket, of mode 0700 and owned by %s; remove it", sockets, as.name)
	}
	return sockets, nil
}

func shortTemp() string {
	if t := os.TempDir(); len(t) <= maxSocketDir-25 {
		return t
	}
	return "/tmp"
}

// openFile makes the account the owner of a file that this process writes for it: what root made must not be in the way
// when that account runs Fanline itself. It follows no link, since under root the directory is of somebody less trusted.
func openFile(name string, flag int, as account) (*os.File, error) {
	f, err := os.OpenFile(name, flag|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil || !as.foreign() {
		return f, err
	}
	if err := f.Chown(int(as.uid), int(as.gid)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// dyingHolder is how long a process that was just killed may take to be gone, and its lock with it.
const dyingHolder = 2 * time.Second

// ErrInUse is in what StartPostgres returns for a directory that another process has.
var ErrInUse = errors.New("in use")

// lockDir takes the directory for this process. The kernel lets go of it when the process ends, however it ends.
func lockDir(ctx context.Context, dir string, as account) (*os.File, error) {
	name := filepath.Join(dir, "lock")
	f, err := openFile(name, os.O_RDWR, as)
	if errors.Is(err, fs.ErrPermission) {
		return nil, foreignDir(dir, "another user")
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dyingHolder)
	defer cancel()
	err = flock(f)
	for errors.Is(err, syscall.EWOULDBLOCK) && pause(ctx, pollEvery) {
		err = flock(f)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := os.ReadFile(name)
		f.Close()
		return nil, fmt.Errorf("%s is %w by process %s; stop that one or choose another directory", dir, ErrInUse, strings.TrimSpace(string(holder)))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	// The number is for the sentence above alone, so failing to write it is no failure.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
