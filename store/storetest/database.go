package storetest

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres returns the URL of an empty database of this test's own.
func Postgres(t testing.TB) string {
	t.Helper()
	return fresh(t, "template1")
}

// Database returns the URL of a database of this test's own, as migrate leaves it. migrate runs once a process, for the
// first test that asks, on the database whose URL it is given, and must leave no connection open. It is told from others by
// its code, so pass a plain function and not a closure that differs in what it captured.
func Database(t testing.TB, migrate func(ctx context.Context, url string) error) string {
	t.Helper()
	name, err := shared.template(migrate)
	if err != nil {
		t.Fatalf("storetest: migrated template: %v", err)
	}
	return fresh(t, name)
}

// template is the name of a migrated database, or why there is none.
type template struct {
	name string
	err  error
}

func (p *process) template(migrate func(ctx context.Context, url string) error) (string, error) {
	p.templatesMu.Lock()
	defer p.templatesMu.Unlock()
	key := reflect.ValueOf(migrate).Pointer()
	made, ok := p.templates[key]
	if !ok {
		made.name, made.err = p.makeTemplate(migrate)
		if p.templates == nil {
			p.templates = map[uintptr]template{}
		}
		p.templates[key] = made
	}
	return made.name, made.err
}

func (p *process) makeTemplate(migrate func(ctx context.Context, url string) error) (string, error) {
	pg, n, err := p.server()
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("template_%d", n)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := execute(ctx, pg.URL(), "CREATE DATABASE "+name+" TEMPLATE template1"); err != nil {
		return "", err
	}
	if err := migrate(ctx, withDatabase(pg.URL(), name)); err != nil {
		return "", err
	}
	// A connection that is left would make every copy fail, and far from the one who left it.
	return name, execute(ctx, pg.URL(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false")
}

// fresh copies a template for the time of the test.
func fresh(t testing.TB, template string) string {
	t.Helper()
	pg, n, err := shared.server()
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	name := fmt.Sprintf("test_%d", n)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := execute(ctx, pg.URL(), "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatalf("storetest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		if err := execute(ctx, pg.URL(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("storetest: %v", err)
		}
	})
	return withDatabase(pg.URL(), name)
}

// execute runs one statement on a connection of its own.
func execute(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(err) // the server's own URL
	}
	u.Path = "/" + name
	return u.String()
}
