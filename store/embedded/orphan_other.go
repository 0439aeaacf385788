//go:build !linux

package embedded

import (
	"os/exec"
	"strconv"
	"strings"
)

// serves reports whether the process is a live server on the data, by the directory on its command line.
func serves(pid int, data string) bool {
	out, err := exec.Command("ps", "-o", "stat=,command=", "-p", strconv.Itoa(pid)).Output()
	line := strings.TrimSpace(string(out))
	return err == nil && !strings.HasPrefix(line, "Z") && strings.Contains(line, data)
}
