package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/delivery"
)

var _ delivery.Followers = (*Store)(nil)

// LeaseFollower makes owner the one who follows the stream for name.
func (s *Store) LeaseFollower(ctx context.Context, name, owner string, d time.Duration) (after string, ok bool, err error) {
	err = s.pool.QueryRow(ctx, `
		UPDATE followers SET owner = $2, lease_until = clock_timestamp() + $3
		WHERE name = $1 AND (owner = $2 OR lease_until <= clock_timestamp()) RETURNING after`, name, owner, d).Scan(&after)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	return after, err == nil, err
}

// Advance notes how far the owner got.
func (s *Store) Advance(ctx context.Context, name, owner, after string, d time.Duration) (bool, error) {
	tag, err := s.pool.Exec(ctx, `
		UPDATE followers SET after = $3, lease_until = clock_timestamp() + $4 WHERE name = $1 AND owner = $2`, name, owner, after, d)
	return tag.RowsAffected() == 1, err
}

// ReleaseFollower gives the lease back.
func (s *Store) ReleaseFollower(ctx context.Context, name, owner string) error {
	_, err := s.pool.Exec(ctx, `UPDATE followers SET owner = '', lease_until = '-infinity' WHERE name = $1 AND owner = $2`, name, owner)
	return err
}

// AddFollower makes a follower, who begins with the oldest that is kept, unless
// there is one.
func (s *Store) AddFollower(ctx context.Context, name string) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO followers (name, after) VALUES ($1, '') ON CONFLICT DO NOTHING`, name)
	return err
}
