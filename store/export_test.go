package store

import (
	"context"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"fanline/notifier"
)

// MigrateTo brings an empty database to the tables of an older release.
func MigrateTo(ctx context.Context, url string, version int64) error {
	cfg, err := parseURL(url)
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*cfg.ConnConfig)
	defer db.Close()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		return err
	}
	_, err = p.UpTo(ctx, version)
	return err
}

// Exec runs a statement for a test.
func (s *Store) Exec(ctx context.Context, sql string, args ...any) error {
	_, err := s.pool.Exec(ctx, sql, args...)
	return err
}

// ForgetAll empties the cache, for a test that changes the database behind its back.
func (c *Cache) ForgetAll(ctx context.Context) error {
	c.forgetAll()
	return c.cfg.Redis.FlushAll(ctx).Err()
}

// Pool is the store's pool, for a test that looks behind it.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// SetThreshold sets the waiting count above which auto means read.
func (s *Store) SetThreshold(n int64) { s.threshold = n }

// ItemsSQL are a fan's items.
var ItemsSQL = itemsSQL

// WriteSQL writes an announcement.
const WriteSQL = writeSQL

// WalkedForChunk is how many entries are read to find the end of a blast's chunk.
func (s *Store) WalkedForChunk(ctx context.Context, show int32, a notifier.BlastArgs) (to, read int64, err error) {
	err = s.inTx(ctx, "walk", func(tx pgx.Tx) error {
		const count = `SELECT coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_xact_user_tables WHERE relname LIKE 'entries%'`
		var before int64
		err := tx.QueryRow(ctx, count).Scan(&before)
		if err == nil {
			to, err = blastEnd(ctx, tx, &blast{channel: a.Channel, show: show, cursor: a.To})
		}
		if err == nil {
			err = tx.QueryRow(ctx, count).Scan(&read)
		}
		read -= before
		return err
	})
	return to, read, err
}
