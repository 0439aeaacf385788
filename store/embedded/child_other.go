//go:build !linux

package embedded

import "syscall"

// setDeathSignal does nothing: only Linux signals the children of a dead process. The next start on the same directory
// ends a server that was left.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
