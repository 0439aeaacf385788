package e2e_test

import (
	"bufio"
	crand "crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// kind of a word says where it may stand.
type kind string

const (
	urgentText kind = "text of a transactional message" // gone after its last send
	keptText   kind = "text"                            // of what an inbox holds, and of bulk messages
	address    kind = "address"
	secretWord kind = "secret"
	fanID      kind = "fan's id"
)

// word is one that nothing else can be: where it is found, it was written.
type word struct {
	kind       kind
	what, text string
	forms      []string // as it is, and as bytes are written in JSON and by Postgres
}

// words are all that a test used.
type words struct {
	mu   sync.Mutex
	list []word
}

// fresh is a new word.
func (w *words) fresh(k kind, what string) string {
	text := "w" + strings.ToLower(crand.Text())
	w.add(k, what, text)
	return text
}

// add makes a word of something.
func (w *words) add(k kind, what, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	forms := []string{text, hex.EncodeToString([]byte(text))}
	for before, cut := range []int{0, 2, 3} { // by where in a group of three bytes it begins
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), text...))
		forms = append(forms, encoded[cut:(before+len(text))*8/6])
	}
	w.list = append(w.list, word{k, what, text, forms})
}

// of are the words of some kinds that stand in a text.
func (w *words) of(text string, kinds ...kind) (found []word) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.list {
		if slices.Contains(kinds, x.kind) && slices.ContainsFunc(x.forms, func(f string) bool { return strings.Contains(text, f) }) {
			found = append(found, x)
		}
	}
	return found
}

var allKinds = []kind{urgentText, keptText, address, secretWord, fanID}

// except are all kinds but some.
func except(may ...kind) []kind {
	return slices.DeleteFunc(slices.Clone(allKinds), func(k kind) bool { return slices.Contains(may, k) })
}

// wantNone fails the test where words of these kinds stand in a text.
func (w *words) wantNone(t *testing.T, where, text string, kinds ...kind) {
	t.Helper()
	for _, x := range w.of(text, kinds...) {
		at := 0
		for _, f := range x.forms {
			if at = strings.Index(text, f); at >= 0 {
				break
			}
		}
		t.Errorf("%s holds a %s, %s:\n%s", where, x.kind, x.what, text[max(0, at-300):min(len(text), at+300)])
	}
}

// redisEar hears every command that a Redis gets, with its keys and values, those that
// are gone soon too.
type redisEar struct {
	mu    sync.Mutex
	lines []string
}

func (w *world) hearRedis() *redisEar {
	w.t.Helper()
	options := must(redis.ParseURL(w.redis.URL()))(w.t)
	conn := must((&net.Dialer{}).DialContext(w.ctx, "tcp", options.Addr))(w.t)
	must(conn.Write([]byte("MONITOR\r\n")))(w.t)
	in := bufio.NewReaderSize(conn, 1<<20)
	must(in.ReadString('\n'))(w.t) // it listens
	ear := &redisEar{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			ear.mu.Lock()
			ear.lines = append(ear.lines, line)
			ear.mu.Unlock()
		}
	}()
	w.t.Cleanup(func() { _ = conn.Close(); <-done })
	return ear
}

func (e *redisEar) heard() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.lines)
}

// keepJobs has the database keep every state of every job: those that are done go.
func (w *world) keepJobs() {
	w.t.Helper()
	w.sql(`
		CREATE TABLE jobs_seen (job text);
		CREATE FUNCTION see_job() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO jobs_seen VALUES (NEW::text); RETURN NULL; END $$;
		CREATE TRIGGER see_job AFTER INSERT OR UPDATE ON river_job FOR EACH ROW EXECUTE FUNCTION see_job()`)
}

// rows are all rows of a database, as text with every column, by table.
func (w *world) rows() map[string]string {
	w.t.Helper()
	conn := w.connect()
	defer func() { _ = conn.Close(w.ctx) }()
	found := must(conn.Query(w.ctx, `SELECT relname FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'm') AND NOT relispartition`))(w.t)
	all := map[string]string{}
	for _, table := range must(pgx.CollectRows(found, pgx.RowTo[string]))(w.t) {
		rows := must(conn.Query(w.ctx, `SELECT x::text FROM `+pgx.Identifier{table}.Sanitize()+` x`))(w.t)
		all[table] = strings.Join(must(pgx.CollectRows(rows, pgx.RowTo[string]))(w.t), "\n")
	}
	return all
}
