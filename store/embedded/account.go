package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
)

// account is who a server runs as. Postgres refuses to run as root, so root has to find it somebody else.
type account struct {
	uid, gid uint32
	name     string
}

// accountFor returns our own account, or under root: the owner of the data, or, when there are none yet, postgres or nobody.
func accountFor(data string) (account, error) {
	owner, err := ownerOf(data)
	if err != nil {
		return account{}, err
	}
	self := ourselves()
	if self.uid != 0 {
		if owner != nil && owner.uid != self.uid {
			return account{}, foreignDir(data, owner.name)
		}
		return self, nil
	}
	if owner != nil && owner.uid != 0 {
		return *owner, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if a, err := lookup(name); err == nil {
			return a, nil
		}
	}
	return account{}, errors.New("root may not run Postgres, and there is neither a user postgres nor a user nobody to run it as;" +
		" start Fanline as another user")
}

func ourselves() account {
	return account{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid()), name: "uid " + strconv.Itoa(os.Geteuid())}
}

func lookup(name string) (account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return account{}, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return account{}, err
	}
	return account{uid: uint32(uid), gid: uint32(gid), name: name}, nil
}

// ownerOf returns nil when there is no such directory.
func ownerOf(dir string) (*account, error) {
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, foreignDir(dir, "another user")
	case err != nil:
		return nil, err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, fmt.Errorf("the owner of %s cannot be read on %s", dir, runtime.GOOS)
	}
	return &account{uid: st.Uid, gid: st.Gid, name: "uid " + strconv.Itoa(int(st.Uid))}, nil
}

func foreignDir(dir, owner string) error {
	return fmt.Errorf("%s belongs to %s, so this user cannot run a server on it; start Fanline as that user or give it another directory", dir, owner)
}

// foreign reports whether the account is not the one this process runs as.
func (a account) foreign() bool { return int(a.uid) != os.Geteuid() }

// apply makes the program run under the account.
func (a account) apply(cmd *exec.Cmd) {
	if a.foreign() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.uid, Gid: a.gid}}
	}
}
