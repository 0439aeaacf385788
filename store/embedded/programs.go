package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

const (
	installPostgres = "apt-get install -y postgresql"
	installRedis    = "apt-get install -y redis-server"
)

// programs are the two of one Postgres installation that we run.
type programs struct {
	dir, initdb, postgres string
	major                 int
}

// places are where an installation may be, in the order of preference within one major version.
var places = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// findPrograms returns the installation to use: the one in $FANLINE_PG_BIN, else one of the major version wanted (0: any),
// else the one in PATH, else the newest. When none is of that version the caller is left to refuse it.
func findPrograms(ctx context.Context, wanted int) (programs, error) {
	if dir := os.Getenv("FANLINE_PG_BIN"); dir != "" {
		p, err := programsIn(ctx, dir)
		if err != nil {
			return programs{}, fmt.Errorf("FANLINE_PG_BIN=%s: %w", dir, err)
		}
		return p, nil
	}
	found := installed(ctx, places)
	if err := ctx.Err(); err != nil {
		return programs{}, err // what was not asked in time may be there all the same
	}
	return pick(found, wanted)
}

func pick(found []programs, wanted int) (programs, error) {
	if len(found) == 0 {
		return programs{}, fmt.Errorf("no Postgres server is installed here; install one with: %s (or name its bin directory in FANLINE_PG_BIN)", installPostgres)
	}
	for _, p := range found {
		if p.major == wanted {
			return p, nil
		}
	}
	return found[0], nil
}

// installed lists what is in PATH and then in the places, the newest first.
func installed(ctx context.Context, places []string) []programs {
	var found []programs
	for _, dir := range dirsInPath() {
		if p, err := programsIn(ctx, dir); err == nil {
			found = append(found, p)
		}
	}
	var known []programs
	for _, place := range places {
		dirs, _ := filepath.Glob(place) // fails on a malformed pattern alone
		for _, dir := range dirs {
			if p, err := programsIn(ctx, dir); err == nil {
				known = append(known, p)
			}
		}
	}
	slices.SortStableFunc(known, func(a, b programs) int { return b.major - a.major })
	return append(found, known...)
}

// dirsInPath follows the links that distributions put in PATH to where the programs really are.
func dirsInPath() []string {
	var dirs []string
	for _, name := range []string{"postgres", "initdb"} {
		file, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if file, err = filepath.EvalSymlinks(file); err == nil && !slices.Contains(dirs, filepath.Dir(file)) {
			dirs = append(dirs, filepath.Dir(file))
		}
	}
	return dirs
}

// programsIn fails unless both programs are there and are programs: the scripts that version managers and distributions
// put in front of them pick another version, or none, depending on where they are run.
func programsIn(ctx context.Context, dir string) (programs, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return programs{}, err
	}
	p := programs{dir: dir, initdb: filepath.Join(dir, "initdb"), postgres: filepath.Join(dir, "postgres")}
	for _, file := range []string{p.initdb, p.postgres} {
		if err := isProgram(file); err != nil {
			return programs{}, err
		}
	}
	p.major, err = majorOf(ctx, p.postgres)
	return p, err
}

func isProgram(file string) error {
	if _, err := exec.LookPath(file); err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 2)
	if _, err := io.ReadFull(f, head); err != nil || bytes.Equal(head, []byte("#!")) {
		return fmt.Errorf("%s is a script, not the server's own program", file)
	}
	return nil
}

var versionLine = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`)

func majorOf(ctx context.Context, postgres string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, postgres, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("%s --version: %w", postgres, err)
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s does not say which PostgreSQL it is", postgres)
	}
	major, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return 0, errors.New("unreadable version of PostgreSQL")
	}
	return major, nil
}
