package delivery

import (
	"context"
	"time"
)

// Followers keeps how far those are who follow the event stream, and lets one
// process at a time do it for each. store implements it.
type Followers interface {
	// LeaseFollower makes owner the one who follows for name, for as long as d, and
	// returns where to go on; ok is false while somebody else is, or where there is
	// no such follower.
	LeaseFollower(ctx context.Context, name, owner string, d time.Duration) (after string, ok bool, err error)
	// Advance notes how far owner got and renews the lease; ok is false when it is
	// not owner's any more, and then nothing was noted.
	Advance(ctx context.Context, name, owner, after string, d time.Duration) (ok bool, err error)
	// ReleaseFollower gives the lease back.
	ReleaseFollower(ctx context.Context, name, owner string) error
}
