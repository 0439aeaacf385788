package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"fanline/notifier"
	"fanline/waitlist"
)

// Config configures a Store.
type Config struct {
	// URL of the Postgres database. The pool's size may stand in it, as
	// pool_max_conns; without one, or with one below 8, it is 24.
	URL string
	// ReadThreshold: more fans than this waiting, and strategy auto means read.
	// 0 is 10,000.
	ReadThreshold int64
	// Senders are whom opt-outs go by, by channel: one of another sender does not
	// count. Without a sender, all count.
	Senders map[notifier.Channel]string
	// Tracer follows each statement; nil: nothing does.
	Tracer pgx.QueryTracer
	// Middleware is around each insert of jobs.
	Middleware []rivertype.Middleware
	Log        *slog.Logger
}

// Store is the database. Close it when nothing uses it any more.
type Store struct {
	pool      *pgxpool.Pool
	jobs      *river.Client[pgx.Tx] // inserts alone
	due       *jobTime              // its hook
	threshold int64
	senders   map[notifier.Channel]string
	secrets   sync.Map // by name; they never change
	log       *slog.Logger
	cache     *Cache // nil: there is none

	clockBehind atomic.Int64 // ns, at the last sweep
}

// Open connects to the database, which Migrate must have prepared.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	pc, err := parseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	if pc.MaxConns < 8 {
		pc.MaxConns = 24
	}
	// The session names itself, so that readers of pg_stat_activity can tell
	// Fanline's sessions from others.
	pc.ConnConfig.RuntimeParams["application_name"] = "fanline"
	// Every statement has its index. Without this, one that was planned while its
	// table was small reads the whole table until Postgres plans it anew, which
	// may be a minute and a million joins later.
	pc.ConnConfig.RuntimeParams["enable_seqscan"] = "off"
	// Nor is an index read through to sort what it found, for a page of fifty.
	pc.ConnConfig.RuntimeParams["enable_bitmapscan"] = "off"
	// Where a table has no index to read it by, that makes a plan look dear enough to
	// be compiled, which takes half a second.
	pc.ConnConfig.RuntimeParams["jit"] = "off"
	if err := checkSessions(ctx, pc.ConnConfig); err != nil {
		return nil, err
	}
	pc.ConnConfig.Tracer = cfg.Tracer
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	due := &jobTime{}
	jobs, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Logger: cfg.Log, Hooks: []rivertype.Hook{due}, Middleware: cfg.Middleware,
		// Also how seldom an insert wakes a queue's workers: by default every tenth
		// of a second, for which urgent messages then wait at each hop.
		FetchCooldown: 10 * time.Millisecond,
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("make the job inserter: %w", err)
	}
	if cfg.ReadThreshold == 0 {
		cfg.ReadThreshold = 10_000
	}
	return &Store{pool: pool, jobs: jobs, due: due, threshold: cfg.ReadThreshold, senders: cfg.Senders, log: cfg.Log}, nil
}

// parseURL reads a database's URL. Its error does not repeat it: there may be a
// password in it.
func parseURL(url string) (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("DATABASE_URL cannot be read; it looks like postgres://user:password@host:5432/name")
	}
	return pc, nil
}

// Close waits for the connections in use.
func (s *Store) Close() { s.pool.Close() }

// Driver is the database as River's workers use it.
func (s *Store) Driver() *riverpgxv5.Driver { return riverpgxv5.New(s.pool) }

// Ping says whether the database can be reached.
func (s *Store) Ping(ctx context.Context) error { return s.pool.Ping(ctx) }

// tries is how often a transaction that lost a deadlock is run.
const tries = 5

// inTx runs f in a transaction, again when it lost a deadlock, and commits it
// unless f fails, with the audit that ctx carries. What it made stale is out of
// the cache when it returns. f must have no effect outside of tx.
func (s *Store) inTx(ctx context.Context, what string, f func(tx pgx.Tx) error) error {
	for try := 1; ; try++ {
		var t *staleTx
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			t = &staleTx{Tx: tx}
			if err := f(t); err != nil {
				return err
			}
			return audited(ctx, t)
		})
		if t != nil { // also after an error: the commit may have come through
			s.cache.stale(ctx, slices.Collect(maps.Keys(t.keys)))
		}
		var pg *pgconn.PgError
		if errors.As(err, &pg) && (pg.Code == "40P01" || pg.Code == "40001") && try < tries {
			continue
		}
		var refusal *waitlist.Error
		if err == nil || errors.As(err, &refusal) {
			return err
		}
		return fmt.Errorf("%s: %w", what, err)
	}
}

// The classes of advisory locks; the second number is the show's, or 0.
const (
	lockShow   = 1 // the show's lock, shared or exclusive
	lockDecide = 2 // tried by a decider before it waits for the show's lock
	lockFold   = 3 // one owner folds the positions
	lockLogin  = 4 // tries to log in are counted one by one
	lockRemove = 5 // one owner of each removal; the second number is of its name
	// one makes and drops partitions; the second number is of the table's name, and
	// make_partition takes it too
	lockPartitions = 6
	lockOpened     = 8 // one tells the stream of a show's opened turns
	lockEndpoints  = 7 // webhook endpoints are made one by one, so that they can be counted
)

// lockShared takes the show's lock for a change that others may make beside it.
func lockShared(ctx context.Context, tx pgx.Tx, showNo int32) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock_shared($1, $2)`, lockShow, showNo)
	return err
}

// lockExclusive takes the show's lock alone.
func lockExclusive(ctx context.Context, tx pgx.Tx, showNo int32) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, $2)`, lockShow, showNo)
	return err
}

// moment is what a change under the show's shared lock goes by.
type moment struct {
	now      time.Time // never behind the last decision
	decision int64     // the last one: later ones will see the change
}

// look reads the moment; for a change, call it after the lock, in a statement of
// its own.
func look(ctx context.Context, q querier, showNo int32) (m moment, err error) {
	err = q.QueryRow(ctx,
		`SELECT greatest(clock_timestamp(), last_decided_at), decision FROM lines WHERE show_no = $1`, showNo).
		Scan(&m.now, &m.decision)
	return m, err
}

func notFound(err error, what, id string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return waitlist.Refuse(waitlist.NotFound, "there is no %s %q", what, id)
	}
	return err
}

// all collects the rows of a query, unless it failed.
func all[T any](rows pgx.Rows, err error, scan func(row pgx.CollectableRow) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// now is the database's time.
func (s *Store) now(ctx context.Context) (time.Time, error) { return nowIn(ctx, s.pool) }

func nowIn(ctx context.Context, q querier) (now time.Time, err error) {
	err = q.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
	return now, err
}
