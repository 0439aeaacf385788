package embedded

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRootRunsTheServerAsTheOwnerOfTheData(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	owner, err := lookup("nobody")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := os.Chown(dir, int(owner.uid), int(owner.gid)); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	if err := makeDir(data, owner); err != nil {
		t.Fatal(err)
	}
	startPostgres(t, Config{Dir: dir, Fast: true})
	for _, name := range []string{"data", "data/PG_VERSION", "run", "lock", "postgres.log"} {
		got, err := ownerOf(filepath.Join(dir, name))
		if err != nil || got == nil || got.uid != owner.uid {
			t.Errorf("%s belongs to %+v, %v; want uid %d, who must be able to start it alone", name, got, err, owner.uid)
		}
	}
}

func TestNoLinkIsFollowedInTheDirectory(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	if err := os.Symlink(elsewhere, filepath.Join(dir, "postgres.log")); err != nil {
		t.Fatal(err)
	}
	_, err := StartPostgres(t.Context(), Config{Dir: dir, Fast: true})
	wantSentence(t, err, "postgres.log")
	if _, err := os.Lstat(elsewhere); !os.IsNotExist(err) {
		t.Errorf("the link's target was made: %v", err)
	}
}

func TestTheOwnerOfNothingIsNobody(t *testing.T) {
	t.Parallel()
	if got, err := ownerOf(filepath.Join(t.TempDir(), "none")); got != nil || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}
