//go:build !linux

package storetest

import "os"

func baseDir() string { return os.TempDir() }
