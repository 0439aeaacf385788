package web

import (
	"context"
	"time"
)

// ClaimLimit protects the checkout from a stampede: it is asked before each claim.
type ClaimLimit interface {
	// Take is not ok when the show or the fan has had its share of claims for now;
	// retryAfter is when there may be one again.
	Take(ctx context.Context, show, fan string) (retryAfter time.Duration, ok bool, err error)
}

// admitClaim refuses a claim over the limit.
func (s *Server) admitClaim(ctx context.Context, show, fan string) error {
	if s.cfg.ClaimLimit == nil {
		return nil
	}
	after, ok, err := s.cfg.ClaimLimit.Take(ctx, show, fan)
	if err != nil {
		return err
	}
	if !ok {
		return refuse(rateLimited, "too many claims at once; try again after the time in Retry-After").after(after)
	}
	return nil
}
