package embedded

import (
	"os"
	"strconv"
)

// serves reports whether the process is a live server on the data: a Postgres works from within its data directory. A
// process that we may not look at is not one, since a server runs as the owner of its data.
func serves(pid int, data string) bool {
	cwd, err := os.Stat("/proc/" + strconv.Itoa(pid) + "/cwd")
	if err != nil {
		return false
	}
	dir, err := os.Stat(data)
	return err == nil && os.SameFile(cwd, dir)
}
