package e2e_test

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fanline/sim"
	"fanline/store/storetest"
)

// setting returns env with a variable set anew, or without it where value is "".
func setting(env []string, name, value string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(s string) bool { return strings.HasPrefix(s, name+"=") })
	if value == "" {
		return env
	}
	return append(env, name+"="+value)
}

func TestABadSettingIsNamedAndEndsWithTwo(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer taken.Close()
	// No database is there: it is not needed to know. Whether a port is free is asked
	// when there is one.
	nowhere := "postgres://fanline@" + freeAddr(t) + "/fanline"
	there := database(t)
	good := []string{
		"DATABASE_URL=" + nowhere, "REDIS_URL=redis://127.0.0.1:1/0", "FANLINE_FAN_JWT_SECRET=" + jwtSecret,
		"FANLINE_API_KEYS=ticketing:" + apiSecret, "FANLINE_ADDR=127.0.0.1:0", "FANLINE_OPS_ADDR=127.0.0.1:0",
	}
	for _, c := range []struct{ name, variable, value string }{
		{"no database", "DATABASE_URL", ""},
		{"a database of another kind", "DATABASE_URL", "mysql://localhost/fanline"},
		{"a database port that is no number", "DATABASE_URL", "postgres://fanline:hunter2@localhost:nowhere/fanline"},
		{"no redis", "REDIS_URL", ""},
		{"a redis that is no URL", "REDIS_URL", "localhost:6379"},
		{"a redis port that is no number", "REDIS_URL", "redis://:hunter2@localhost:nowhere/0"},
		{"no API key", "FANLINE_API_KEYS", ""},
		{"API keys that are none", "FANLINE_API_KEYS", ","},
		{"an API key without a name", "FANLINE_API_KEYS", apiSecret},
		{"two API keys of one name", "FANLINE_API_KEYS", "a:x1,a:x2"},
		{"two keys for the fans' tokens", "FANLINE_FAN_JWKS_URL", "https://shop.example/keys"},
		{"a public key that is none", "FANLINE_FAN_JWT_PUBLIC_KEY", "-----BEGIN NOTHING-----"},
		{"a public key file that is not there", "FANLINE_FAN_JWT_PUBLIC_KEY", "/nowhere/key.pem"},
		{"keys at no address", "FANLINE_FAN_JWKS_URL", "shop.example"},
		{"a public address that is none", "FANLINE_PUBLIC_URL", "tickets.example"},
		{"staff without a hash", "FANLINE_ADMIN_USERS", "ada:hunter2"},
		{"a collector that is no address", "OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318"},
		{"an unknown lane", "FANLINE_LANES", "turns,express"},
		{"a threshold of nobody", "FANLINE_READ_THRESHOLD", "0"},
		{"a threshold that is no number", "FANLINE_READ_THRESHOLD", "many"},
		{"an unknown log level", "FANLINE_LOG", "loud"},
		{"an origin that is none", "FANLINE_ALLOWED_ORIGINS", "shop.example"},
		{"an address that is none", "FANLINE_ADDR", "nowhere"},
		{"an operations port that is none", "FANLINE_OPS_ADDR", "127.0.0.1:70000"},
		{"a port in use", "FANLINE_ADDR", taken.Addr().String()},
		{"an operations port in use", "FANLINE_OPS_ADDR", taken.Addr().String()},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := setting(good, c.variable, c.value)
			if strings.Contains(c.variable, "PUBLIC_KEY") || c.value == "shop.example" {
				env = setting(env, "FANLINE_FAN_JWT_SECRET", "")
			}
			if c.value == taken.Addr().String() {
				env = setting(env, "DATABASE_URL", there)
			}
			code, out := command(t, env, "serve")
			if code != 2 || !strings.Contains(out, c.variable) {
				t.Errorf("exit code %d, want 2 with %s named in:\n%s", code, c.variable, out)
			}
			for _, s := range []string{apiSecret, jwtSecret, "hunter2", "goroutine "} {
				if strings.Contains(out, s) {
					t.Errorf("it says too much: %s", out)
				}
			}
		})
	}
}

func TestAnUnreachablePostgresEndsWithOne(t *testing.T) {
	t.Parallel()
	env := []string{
		"DATABASE_URL=postgres://fanline:hunter2@" + freeAddr(t) + "/fanline", "REDIS_URL=redis://127.0.0.1:1/0",
		"FANLINE_FAN_JWT_SECRET=" + jwtSecret, "FANLINE_API_KEYS=ticketing:" + apiSecret,
		"FANLINE_ADDR=127.0.0.1:0", "FANLINE_OPS_ADDR=127.0.0.1:0",
	}
	for _, args := range [][]string{{"serve"}, {"serve", "--migrate=false"}, {"migrate"}} {
		start := time.Now()
		code, out := command(t, env, args...)
		if code != 1 || out == "" || strings.Contains(out, "hunter2") {
			t.Errorf("%v: exit code %d, want 1 and why, without the password:\n%s", args, code, out)
		}
		t.Logf("%v: after %v: %s", args, time.Since(start).Round(time.Millisecond), out)
	}
}

func TestMigratingTwiceIsMigratingOnce(t *testing.T) {
	t.Parallel()
	built(t)
	env := []string{"DATABASE_URL=" + storetest.Postgres(t)}
	for range 2 {
		if code, out := command(t, env, "migrate"); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
	}
	// Two at once on an empty database, as two instances that start together do.
	env = []string{"DATABASE_URL=" + storetest.Postgres(t)}
	for i, p := range together(2, func(int) *process { return run(t, "migrate", env, "migrate") }) {
		if code, err := p.code(t.Context()); code != 0 || err != nil {
			t.Errorf("migration %d at once with another: %d, %v:\n%s", i+1, code, err, p.out.all())
		}
	}
}

func TestServeRefusesADatabaseThatWasNotMigrated(t *testing.T) {
	t.Parallel()
	built(t)
	w := newWorldOn(t, 0, storetest.Postgres(t))
	in := w.newInstance("unmigrated")
	env := append(w.env(), "FANLINE_ADDR="+in.addr, "FANLINE_OPS_ADDR="+in.ops)
	p := run(t, "serve --migrate=false", env, "serve", "--migrate=false")
	w.until(startPatience, "it ends, or says that it is not ready", func() bool {
		status, _, err := w.tryGet(in.base + "/readyz")
		return p.ended() || err == nil && status == http.StatusServiceUnavailable
	})
}

func TestATokenLetsItsFanIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	l := w.newLine(t, 1, sim.Policy{})
	code, out := command(t, []string{"FANLINE_FAN_JWT_SECRET=" + jwtSecret}, "token", "--fan", l.fans[0])
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	me := sim.NewMe(w.app.BaseURLs(), strings.TrimSpace(out), sim.WithHTTPClient(w.http))
	entries := must(me.Entries(w.ctx))(t)
	if len(entries) != 1 || entries[0].FanID != l.fans[0] && entries[0].ShowID != l.show {
		t.Errorf("the fan of the token is in %+v", entries)
	}
	for _, args := range [][]string{{"token"}, {"token", "--fan", ""}, {"token", "--fan", "no spaces"}} {
		if code, out := command(t, nil, args...); code != 2 || !strings.Contains(out, "--fan") {
			t.Errorf("%q: exit code %d, want 2 with --fan named in:\n%s", args, code, out)
		}
	}
}

func TestVersionSaysWhatItIs(t *testing.T) {
	t.Parallel()
	code, out := command(t, nil, "version")
	if code != 0 || !strings.HasPrefix(out, "fanline ") || !strings.Contains(out, "go1.") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if code, out := command(t, nil, "no-such-command"); code != 2 {
		t.Errorf("an unknown command ends with %d:\n%s", code, out)
	}
}
