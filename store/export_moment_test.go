package store

import (
	"context"

	"fanline/delivery"
)

// Moment is the moment for a test.
func (s *Store) Moment(ctx context.Context) (delivery.Moment, error) { return s.moment(ctx) }
