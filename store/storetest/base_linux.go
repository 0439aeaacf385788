package storetest

import (
	"os"
	"syscall"
)

const (
	memory = "/dev/shm"
	// memoryNeeded, in bytes, is a multiple of what the tests of a package were seen to use; a container's usual 64 MB is
	// too little.
	memoryNeeded = 2 << 30
)

// baseDir is in memory where there is enough of it: a database is 300 files, and making them took 35 ms in memory, but
// 300 ms on a disk whose file system was slow to reuse deleted files.
func baseDir() string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < memoryNeeded {
		return os.TempDir()
	}
	probe, err := os.MkdirTemp(memory, dirPrefix)
	if err != nil {
		return os.TempDir()
	}
	_ = os.Remove(probe)
	return memory
}
