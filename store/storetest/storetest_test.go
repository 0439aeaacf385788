package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

var migrations atomic.Int32

func migrate(ctx context.Context, url string) error {
	migrations.Add(1)
	return execute(ctx, url, "CREATE TABLE fan (id text PRIMARY KEY)")
}

func TestEachTestGetsItsOwnMigratedDatabase(t *testing.T) {
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			// Unique within a database, so a shared one would refuse the second.
			if err := execute(t.Context(), Database(t, migrate), "INSERT INTO fan VALUES ('one')"); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Cleanup(func() {
		if n := migrations.Load(); n != 1 {
			t.Errorf("migrated %d times, want once", n)
		}
	})
}

func TestTwoMigrationsHaveTwoTemplates(t *testing.T) {
	t.Parallel()
	other := func(ctx context.Context, url string) error {
		return execute(ctx, url, "CREATE TABLE show (id text PRIMARY KEY)")
	}
	if err := execute(t.Context(), Database(t, other), "INSERT INTO show VALUES ('one')"); err != nil {
		t.Fatal(err)
	}
}

func TestAnUnmigratedDatabaseIsEmpty(t *testing.T) {
	t.Parallel()
	if err := execute(t.Context(), Postgres(t), "CREATE TABLE fan (id text)"); err != nil {
		t.Fatal(err)
	}
}

func TestADatabaseIsDroppedWhateverIsConnected(t *testing.T) {
	t.Parallel()
	var url string
	var conn *pgx.Conn
	t.Run("one", func(t *testing.T) {
		url = Postgres(t)
		var err error
		if conn, err = pgx.Connect(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	})
	defer conn.Close(t.Context())
	if err := execute(t.Context(), url, "SELECT 1"); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("the database is still there after its test: %v", err)
	}
}

func TestAFailedMigrationFailsEveryTestThatAsks(t *testing.T) {
	t.Parallel()
	want := errors.New("no such column")
	runs := 0
	broken := func(context.Context, string) error { runs++; return want }
	for range 2 {
		if _, err := shared.template(broken); !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
	}
	if runs != 1 {
		t.Errorf("migrated %d times, want once", runs)
	}
}

func TestEachTestGetsItsOwnRedis(t *testing.T) {
	for name, start := range map[string]func(testing.TB) string{"server": Redis, "mini": MiniRedis} {
		for range 2 {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				opt, err := redis.ParseURL(start(t))
				if err != nil {
					t.Fatal(err)
				}
				c := redis.NewClient(opt)
				defer c.Close()
				if first, err := c.SetNX(t.Context(), "hold", 1, 0).Result(); err != nil || !first {
					t.Errorf("set %v, %v; want the first to do so", first, err)
				}
			})
		}
	}
}

func TestTheServerIsNoLeak(t *testing.T) {
	Postgres(t)
	waiting := goleak.IgnoreAnyFunction("testing.(*T).Parallel")
	if err := goleak.Find(waiting); err == nil {
		t.Error("the server has no goroutine, so IgnoreServers ignores nothing")
	}
	if err := goleak.Find(waiting, IgnoreServers()); err != nil {
		t.Error(err)
	}
}

func TestOnlyDirectoriesOfDeadProcessesAreSwept(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	make := func(name string, held bool) {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := os.Create(filepath.Join(dir, "lock"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { lock.Close() })
		if held {
			if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
		}
	}
	make(dirPrefix+"dead", false)
	make(dirPrefix+"alive", true)
	make("somebody-elses", false)

	sweep(base, time.Now().Add(-time.Minute))
	wantDirs(t, base, dirPrefix+"alive", dirPrefix+"dead", "somebody-elses")
	sweep(base, time.Now().Add(time.Minute))
	wantDirs(t, base, dirPrefix+"alive", "somebody-elses")
}

func wantDirs(t *testing.T, base string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(base)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("directories %v, want %v", got, want)
	}
}

func BenchmarkDatabase(b *testing.B) {
	for b.Loop() {
		Database(b, migrate)
	}
}

func BenchmarkRedis(b *testing.B) {
	for b.Loop() {
		Redis(b)
	}
}
