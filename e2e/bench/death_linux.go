package main

import "syscall"

// dieWithUs has the kernel end an instance when this process is killed.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
