package storetest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests, stops the servers they started and returns the exit code. When the tests pass, it fails on
// goroutines that are left, except for those that opts allow.
func Main(m *testing.M, opts ...goleak.Option) int {
	code := m.Run()
	shared.stop()
	if code != 0 {
		return code
	}
	if err := goleak.Find(opts...); err != nil {
		fmt.Fprintf(os.Stderr, "goroutines were left when all tests had ended: %v\n", err)
		return 1
	}
	return 0
}

// IgnoreServers is for goleak.VerifyNone within one test: the shared server has a goroutine that waits for it.
func IgnoreServers() goleak.Option {
	return goleak.IgnoreAnyFunction("fanline/store/embedded.(*child).run")
}
