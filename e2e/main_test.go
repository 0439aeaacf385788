package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"fanline/store/storetest"
)

var (
	rounds = flag.Int("e2e.rounds", 1, "how many random moments each kill test draws")
	seed   = flag.Uint64("e2e.seed", 0, "of the random moments; 0 draws one")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	code := storetest.Main(m)
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

var buildDir string

// program is the path of the built program. It is built once, by the first test
// that asks, and with the race detector where the tests have it too.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fanline-e2e-")
	if err != nil {
		return "", err
	}
	buildDir = dir
	path := filepath.Join(dir, "fanline")
	args := []string{"build", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", append(args, ".")...)
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
})

// built is program for a test.
func built(t testing.TB) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// random is a generator of this test's own, the same again for the same seed.
func random(t testing.TB) *rand.Rand {
	t.Helper()
	t.Logf("random moments of -e2e.seed=%d", *seed)
	return rand.New(rand.NewPCG(*seed, uint64(len(t.Name()))))
}
