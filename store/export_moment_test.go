package store

import (
	"context"

	"fanline/delivery/live"
)

// Moment is the moment for a test.
func (s *Store) Moment(ctx context.Context) (live.Moment, error) { return s.moment(ctx) }
