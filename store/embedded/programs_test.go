package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestAMissingPostgresNamesItsInstall(t *testing.T) {
	t.Setenv("FANLINE_PG_BIN", "")
	t.Setenv("PATH", t.TempDir())
	_, err := pick(installed(t.Context(), nil), 0)
	wantSentence(t, err, "apt-get install -y postgresql", "FANLINE_PG_BIN")
}

func TestAMissingRedisServerNamesItsInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := StartRedisServer(t.Context(), RedisConfig{Dir: t.TempDir()})
	wantSentence(t, err, "apt-get install -y redis-server")
}

func TestAPostgresThatWasNotAskedInTimeIsNotCalledMissing(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := findPrograms(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestThePlaceNamedIsTheOnlyOneUsed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FANLINE_PG_BIN", dir)
	_, err := findPrograms(t.Context(), 0)
	wantSentence(t, err, "FANLINE_PG_BIN="+dir)
}

func TestLinksInPathLeadToTheProgramsThemselves(t *testing.T) {
	t.Setenv("FANLINE_PG_BIN", "")
	real, err := findPrograms(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	if err := os.Symlink(real.postgres, filepath.Join(path, "postgres")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path)
	found := installed(t.Context(), nil)
	if len(found) != 1 || found[0].initdb != real.initdb {
		t.Errorf("found %+v, want the one in %s", found, real.dir)
	}
}

func TestScriptsInFrontOfPostgresAreNotUsed(t *testing.T) {
	path := t.TempDir()
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(path, name), []byte("#!/bin/sh\necho 'postgres (PostgreSQL) 15'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", path)
	if found := installed(t.Context(), nil); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
}

func TestTheVersionThatMadeTheDataIsPreferred(t *testing.T) {
	t.Parallel()
	found := []programs{{dir: "path", major: 16}, {dir: "new", major: 17}, {dir: "old", major: 15}}
	for wanted, want := range map[int]string{0: "path", 15: "old", 17: "new", 12: "path"} {
		got, err := pick(found, wanted)
		if err != nil || got.dir != want {
			t.Errorf("for version %d: %s, %v; want %s", wanted, got.dir, err, want)
		}
	}
}
