package e2e_test

import "syscall"

// childAttr gives a child a group of its own, so that a Ctrl-C in the terminal ends
// the test and the test ends it; when the test is killed, so is the child.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
