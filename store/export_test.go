package store

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Exec runs a statement for a test.
func (s *Store) Exec(ctx context.Context, sql string, args ...any) error {
	_, err := s.pool.Exec(ctx, sql, args...)
	return err
}

// Pool is the store's pool, for a test that looks behind it.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }
