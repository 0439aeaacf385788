package webtest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

const key = "Idempotency-Key"

func (a answer) replayed() bool { return a.header.Get("Idempotency-Replayed") == "true" }

// same fails unless both answers are the same in everything that is kept.
func same(t *testing.T, first, again answer) {
	t.Helper()
	if first.replayed() || !again.replayed() {
		t.Errorf("replayed %t, then %t; want false, then true", first.replayed(), again.replayed())
	}
	for _, name := range []string{"Content-Type", "Location", "Retry-After"} {
		if a, b := first.header.Get(name), again.header.Get(name); a != b {
			t.Errorf("%s %q, then %q", name, a, b)
		}
	}
	if first.status != again.status || first.body != again.body {
		t.Errorf("answered %d %s\nthen %d %s", first.status, first.body, again.status, again.body)
	}
}

// rows counts the rows that a query selects.
func (in *instance) rows(sql string, args ...any) (n int) {
	in.t.Helper()
	in.sql(func(c *pgx.Conn) error {
		return c.QueryRow(in.t.Context(), "SELECT count(*) FROM "+sql, args...).Scan(&n)
	})
	return n
}

func (in *instance) exec(sql string, args ...any) {
	in.t.Helper()
	in.sql(func(c *pgx.Conn) error {
		_, err := c.Exec(in.t.Context(), sql, args...)
		return err
	})
}

func (in *instance) sql(f func(*pgx.Conn) error) {
	in.t.Helper()
	c, err := pgx.Connect(in.t.Context(), in.url)
	if err != nil {
		in.t.Fatal(err)
	}
	defer c.Close(in.t.Context())
	if err := f(c); err != nil {
		in.t.Fatal(err)
	}
}

// scene is a show with ada's turn open, ben's claimed and cyd told of nothing.
func scene(t *testing.T) (in *instance, claim string) {
	t.Helper()
	in = newInstance(t)
	in.show("s1")
	in.join("s1", "ada", "ben", "cyd")
	in.app("POST", "/v1/shows/s1/announcements", `{"id":"a0","title":"T","body":"B"}`).want(202)
	in.free("s1", "o1", `{"quantity":2,"reason":"returned"}`)
	in.opened("s1", "o1", "ada")
	in.opened("s1", "o1", "ben")
	claim, _ = in.app("POST", "/v1/shows/s1/openings/o1/claims", `{"fan_id":"ben"}`).want(201).get("id").(string)
	return in, claim
}

// TestEveryPostIsAnsweredOnce sends each POST twice with one key, the second time
// to another instance: that is what a caller does whose first answer was lost with
// the process that made it.
func TestEveryPostIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fan, path, body string
		status          int
	}{
		"join":                     {"", "/v1/shows/s1/entries", `{"fan_id":"dan","party_size":2}`, 201},
		"join again":               {"", "/v1/shows/s1/entries", `{"fan_id":"cyd"}`, 200},
		"join, refused":            {"", "/v1/shows/s1/entries", `{"fan_id":"cyd","party_size":21}`, 422},
		"join, unreadable":         {"", "/v1/shows/s1/entries", `{"fan_id":`, 400},
		"join, unknown show":       {"", "/v1/shows/s9/entries", `{"fan_id":"cyd"}`, 404},
		"claim":                    {"", "/v1/shows/s1/openings/o1/claims", `{"fan_id":"ada"}`, 201},
		"claim again":              {"", "/v1/shows/s1/openings/o1/claims", `{"fan_id":"ben"}`, 200},
		"claim without a turn":     {"", "/v1/shows/s1/openings/o1/claims", `{"fan_id":"cyd"}`, 409},
		"claim, unknown opening":   {"", "/v1/shows/s1/openings/o9/claims", `{"fan_id":"cyd"}`, 404},
		"confirm":                  {"", "/v1/claims/{claim}/confirm", "", 200},
		"confirm, unknown":         {"", "/v1/claims/none/confirm", "", 404},
		"release":                  {"", "/v1/claims/{claim}/release", `{"reason":"changed their mind"}`, 200},
		"extend":                   {"", "/v1/claims/{claim}/extend", `{"by_s":60}`, 200},
		"extend too far":           {"", "/v1/claims/{claim}/extend", `{"by_s":86400}`, 409},
		"give a turn":              {"", "/v1/shows/s1/openings/o2/turns", `{"fan_id":"cyd","reason":"promised"}`, 204},
		"give a turn, told":        {"", "/v1/shows/s1/openings/o1/turns", `{"fan_id":"ada","reason":"promised"}`, 409},
		"give a turn, no entry":    {"", "/v1/shows/s1/openings/o1/turns", `{"fan_id":"zoe","reason":"promised"}`, 404},
		"batch":                    {"", "/v1/shows/s1/openings:batch", `{"openings":[{"id":"b1","quantity":1,"reason":"returned"},{"id":"b2"},{"id":"o1","quantity":2,"reason":"returned"}]}`, 200},
		"announce":                 {"", "/v1/shows/s1/announcements", `{"title":"T","body":"B"}`, 202},
		"announce again":           {"", "/v1/shows/s1/announcements", `{"id":"a0","title":"T","body":"B"}`, 200},
		"announce another":         {"", "/v1/shows/s1/announcements", `{"id":"a0","title":"U","body":"B"}`, 409},
		"announce badly":           {"", "/v1/shows/s1/announcements", `{"title":"T"}`, 422},
		"own claim":                {"ada", "/v1/me/turns/s1/o1/claim", "", 201},
		"own claim without a turn": {"cyd", "/v1/me/turns/s1/o1/claim", "", 409},
		"own decline":              {"ada", "/v1/me/turns/s1/o1/decline", "", 204},
		"own decline, no turn":     {"cyd", "/v1/me/turns/s1/o1/decline", "", 409},
		"read":                     {"ada", "/v1/me/inbox/read", `{"ids":["turn:s1:o1"]}`, 200},
		"read all":                 {"ada", "/v1/me/inbox/read", `{"all_before":"2100-01-01T00:00:00Z"}`, 200},
		"read nothing":             {"ada", "/v1/me/inbox/read", `{}`, 422},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, claim := scene(t)
			in.app("PUT", "/v1/shows/s1/openings/o2", `{"quantity":1,"reason":"returned","tier":"floor"}`).want(201)
			path := strings.ReplaceAll(c.path, "{claim}", claim)
			send := func(in *instance) answer {
				if c.fan != "" {
					return in.fan(c.fan, "POST", path, c.body, key, "k 1")
				}
				return in.app("POST", path, c.body, key, "k 1")
			}
			first := send(in).want(c.status)
			events := in.rows("events")
			other := instanceOn(t, in.url)
			same(t, first, send(other))
			if n := in.rows("events"); n != events {
				t.Errorf("%d events, then %d: the repeat had an effect", events, n)
			}
			if n := in.rows("answers"); n != 1 {
				t.Errorf("%d answers are kept, want 1", n)
			}
			// The same key asks for nothing else, and is another caller's own.
			a := other.app("POST", path, c.body+" ", key, "k 1")
			if c.fan == "" {
				a.want(409)
				if a.get("code") != "conflict" {
					t.Errorf("code %v", a.get("code"))
				}
			} else if a.replayed() {
				t.Error("the app got the fan's answer")
			}
		})
	}
}

func TestAnAnswerWithAKeyIsTheOneWithoutIt(t *testing.T) {
	t.Parallel()
	without, claim := scene(t)
	with, claim2 := scene(t)
	for _, c := range []struct{ path, body string }{
		{"/v1/shows/s1/entries", `{"fan_id":"dan"}`},
		{"/v1/shows/s1/entries", `{"fan_id":"cyd"}`},
		{"/v1/claims/{claim}/extend", `{"by_s":60}`},
		{"/v1/claims/{claim}/confirm", ``},
		{"/v1/shows/s1/openings/o1/claims", `{"fan_id":"cyd"}`},
		{"/v1/shows/s1/openings:batch", `{"openings":[{"id":"b1","quantity":1,"reason":"returned"}]}`},
		{"/v1/shows/s1/announcements", `{"id":"a1","title":"T","body":"B"}`},
	} {
		a := without.app("POST", strings.ReplaceAll(c.path, "{claim}", claim), c.body)
		b := with.app("POST", strings.ReplaceAll(c.path, "{claim}", claim2), c.body, key, c.path+c.body)
		if a.status != b.status || a.header.Get("Content-Type") != b.header.Get("Content-Type") || names(a.body) != names(b.body) {
			t.Errorf("%s: %d %s\nwith a key %d %s", c.path, a.status, a.body, b.status, b.body)
		}
	}
}

// names are an answer without what differs between two databases' clocks.
func names(body string) string {
	var out []string
	for _, part := range strings.Split(body, ",") {
		name, value, _ := strings.Cut(part, ":")
		if strings.Contains(value, "T") || strings.Contains(value, "clm_") {
			value = "..."
		}
		out = append(out, name+":"+value)
	}
	return strings.Join(out, ",")
}

func TestTwinsOnTwoInstancesTakeEffectOnce(t *testing.T) {
	t.Parallel()
	in, _ := scene(t)
	instances := []*instance{in, instanceOn(t, in.url)}
	for _, c := range []struct{ fan, path, body string }{
		{"", "/v1/shows/s1/entries", `{"fan_id":"dan"}`},
		{"", "/v1/shows/s1/openings/o1/claims", `{"fan_id":"ada"}`},
		{"", "/v1/shows/s1/openings:batch", `{"openings":[{"id":"b1","quantity":1,"reason":"returned"},{"id":"b2","quantity":1,"reason":"returned"}]}`},
		{"", "/v1/shows/s1/announcements", `{"title":"T","body":"B"}`},
		{"eve", "/v1/me/inbox/read", `{"all_before":"2100-01-01T00:00:00Z"}`},
	} {
		answers := make([]answer, 16)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				if c.fan != "" {
					answers[i] = instances[i%2].fan(c.fan, "POST", c.path, c.body, key, "twin")
				} else {
					answers[i] = instances[i%2].app("POST", c.path, c.body, key, "twin "+c.path)
				}
			})
		}
		wg.Wait()
		first := 0
		for _, a := range answers {
			if !a.replayed() {
				first++
			}
			if a.status != answers[0].status || a.body != answers[0].body || a.status >= 300 {
				t.Errorf("%s: %d %s, and %d %s", c.path, answers[0].status, answers[0].body, a.status, a.body)
			}
		}
		if first != 1 {
			t.Errorf("%s: %d were answered as the first", c.path, first)
		}
	}
	if n := in.rows("entries WHERE eno = 4"); n != 1 {
		t.Errorf("%d entries of dan", n)
	}
	if n := in.rows("claims WHERE eno = 1"); n != 1 {
		t.Errorf("%d claims of ada", n)
	}
}

// TestKeysOfOneBatchAreTheirOwn sends many joins with a key each at once, so that
// they are gathered, twice over.
func TestKeysOfOneBatchAreTheirOwn(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.show("s1")
	instances := []*instance{in, instanceOn(t, in.url)}
	const fans = 300
	answers := make([]answer, 2*fans)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			n := i % fans
			answers[i] = instances[i/fans].app("POST", "/v1/shows/s1/entries", fmt.Sprintf(`{"fan_id":"fan-%d"}`, n), key, fmt.Sprint(n))
		})
	}
	wg.Wait()
	positions := map[any]bool{}
	for n := range fans {
		a, b := answers[n].want(201), answers[n+fans].want(201)
		if a.body != b.body || a.replayed() == b.replayed() || a.get("fan_id") != fmt.Sprintf("fan-%d", n) {
			t.Errorf("fan %d: %s (%t), and %s (%t)", n, a.body, a.replayed(), b.body, b.replayed())
		}
		if a.get("position") != a.get("place") {
			t.Errorf("fan %d: position %v at place %v", n, a.get("position"), a.get("place"))
		}
		positions[a.get("position")] = true
	}
	if len(positions) != fans {
		t.Errorf("%d fans have %d positions", fans, len(positions))
	}
}

// TestATwinAtWorkIsWaitedFor holds the key's lock as a transaction in progress does.
func TestATwinAtWorkIsWaitedFor(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.show("s1")
	const body = `{"fan_id":"ada"}`
	in.app("POST", "/v1/shows/s1/entries", body, key, "k").want(201)
	in.sql(func(c *pgx.Conn) error {
		tx, err := c.Begin(t.Context())
		if err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), `
			SELECT pg_advisory_xact_lock(('x' || encode(substr(id, 1, 8), 'hex'))::bit(64)::bigint) FROM answers`); err != nil {
			return err
		}
		in.exec(`DELETE FROM answers`)
		busy := in.app("POST", "/v1/shows/s1/entries", body, key, "k").want(409)
		if busy.get("code") != "conflict" || busy.header.Get("Retry-After") == "" {
			t.Errorf("a twin at work: %s, Retry-After %q", busy.body, busy.header.Get("Retry-After"))
		}
		done := make(chan answer)
		go func() { done <- in.app("POST", "/v1/shows/s1/entries", body, key, "k") }()
		if err := tx.Commit(t.Context()); err != nil {
			return err
		}
		if a := (<-done).want(200); a.replayed() {
			t.Error("nothing was kept, and yet it was repeated")
		}
		return nil
	})
}

// TestABatchThatBrokeOffGoesOn leaves a batch as a process that was killed after
// its second opening does.
func TestABatchThatBrokeOffGoesOn(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.show("s1")
	const path = "/v1/shows/s1/openings:batch"
	const body = `{"openings":[{"id":"b1","quantity":1,"reason":"returned"},{"id":"b2","quantity":2,"reason":"returned"},{"id":"b3","quantity":3,"reason":"returned"}]}`
	in.exec(`
		CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'killed'; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON openings FOR EACH ROW WHEN (NEW.opening_id = 'b3') EXECUTE FUNCTION fail()`)
	in.app("POST", path, body, key, "k").want(500)
	in.exec(`DROP TRIGGER fail ON openings`)
	if n := in.rows("openings"); n != 2 {
		t.Fatalf("%d openings, want 2", n)
	}
	in.app("POST", path, body+" ", key, "k").want(409)
	in = instanceOn(t, in.url)
	first := in.app("POST", path, body, key, "k").want(200)
	if n := strings.Count(first.body, `"status":201`); n != 3 {
		t.Errorf("%d openings answered as recorded, want 3: %s", n, first.body)
	}
	same(t, first, in.app("POST", path, body, key, "k"))
	if n := in.rows("answers"); n != 1 {
		t.Errorf("%d answers are kept, want the whole alone", n)
	}
}

func TestAKeyIsADaysAndACallersOwn(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.show("s1")
	send := func(bearer, body string) answer {
		return in.call(bearer, "POST", "/v1/shows/s1/entries", body, key, "k")
	}
	send(appKey, `{"fan_id":"ada"}`).want(201)
	if a := send(otherKey, `{"fan_id":"ben"}`).want(201); a.replayed() {
		t.Error("another API key got this one's answer")
	}
	in.exec(`UPDATE answers SET at = at - interval '24 hours'`)
	if a := send(appKey, `{"fan_id":"cyd"}`).want(201); a.replayed() {
		t.Error("the answer was repeated after a day")
	}
	if err := in.store.RemoveOld(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := in.rows("answers"); n != 1 {
		t.Errorf("%d answers are kept, want the new one alone", n)
	}
}

func TestAFaultIsNotKept(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.show("s1")
	in.exec(`
		CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'out of order'; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON answers FOR EACH ROW EXECUTE FUNCTION fail()`)
	in.app("POST", "/v1/shows/s1/entries", `{"fan_id":"ada"}`, key, "k").want(500)
	if n := in.rows("entries"); n != 0 {
		t.Error("the effect stands without its answer")
	}
	in.exec(`DROP TRIGGER fail ON answers`)
	if a := in.app("POST", "/v1/shows/s1/entries", `{"fan_id":"ada"}`, key, "k").want(201); a.replayed() {
		t.Error("a fault was repeated")
	}
}

func TestAKeyIsOneWordOfASCII(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.show("s1")
	for _, k := range []string{"", strings.Repeat("k", 256), "ключ", "a\tb"} {
		a := in.app("POST", "/v1/shows/s1/entries", `{"fan_id":"ada"}`, key, k).want(http.StatusBadRequest)
		if a.get("code") != "invalid" || !strings.Contains(a.body, key) {
			t.Errorf("key %q: %s", k, a.body)
		}
	}
	in.app("POST", "/v1/shows/s1/entries", `{"fan_id":"ada"}`, key, strings.Repeat("k", 255)).want(201)
	in.app("POST", "/v1/shows/s1/entries:import", `{"fan_id":"ada"}`, key, "", "Content-Type", "application/x-ndjson").want(200)
}
