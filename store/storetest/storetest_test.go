package storetest

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func migrate(ctx context.Context, url string) error {
	return execute(ctx, url, "CREATE TABLE fan (id text PRIMARY KEY)")
}

func TestEachTestGetsItsOwnMigratedDatabase(t *testing.T) {
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			conn, err := pgx.Connect(ctx, Database(t, migrate))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(ctx)
			if _, err := conn.Exec(ctx, "INSERT INTO fan VALUES ('one')"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func BenchmarkDatabase(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		b.StartTimer()
		Database(b, migrate)
	}
}

func BenchmarkRedis(b *testing.B) {
	for b.Loop() {
		Redis(b)
	}
}
