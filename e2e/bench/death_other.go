//go:build !linux

package main

import "syscall"

// dieWithUs does nothing: only Linux signals the children of a dead process.
func dieWithUs(*syscall.SysProcAttr) {}
