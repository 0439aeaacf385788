package store

import (
	"context"
	"fmt"
)

// The secrets that the migrations made.
const (
	secretAddresses   = "addresses"   // hashes addresses of opt-outs
	secretUnsubscribe = "unsubscribe" // signs one-click opt-outs
	secretCallbacks   = "callbacks"   // makes those that calls are signed with
)

func (s *Store) secret(ctx context.Context, name string) ([]byte, error) {
	if v, ok := s.secrets.Load(name); ok {
		return v.([]byte), nil
	}
	var v []byte
	if err := s.pool.QueryRow(ctx, `SELECT value FROM secrets WHERE name = $1`, name).Scan(&v); err != nil {
		return nil, fmt.Errorf("read the secret %s: %w", name, err)
	}
	s.secrets.Store(name, v)
	return v, nil
}
