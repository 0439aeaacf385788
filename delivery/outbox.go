package delivery

import (
	"context"
	"time"

	"fanline/notifier"
)

// Outbox is where the pipeline keeps what it does. store implements it.
type Outbox interface {
	// Members are the fans with the turns from to to-1 of a wave.
	Members(ctx context.Context, opening int64, n, from, to int) ([]int64, error)
	// Parcels reads parcels as they are now, with what was tried where asked for;
	// in a number of statements that does not grow with them. Those that no longer
	// are, for an erased fan for one, are left out.
	Parcels(ctx context.Context, b Batch, tried bool) ([]Parcel, error)
	// Dispatch stores a plan, in one transaction.
	Dispatch(ctx context.Context, p *Planned) error
	// Lease asks for deliveries to attempt, in one statement that decides: whoever
	// asks at the same time, and whatever was lost of the keys in Redis, one has it
	// for as long as the lease.
	Lease(ctx context.Context, drafts []Draft, lease time.Duration) ([]Lease, error)
	// Renew has leases last as long again from now, and returns those that are nobody
	// else's by now.
	Renew(ctx context.Context, keys []LeaseKey, lease time.Duration) ([]notifier.DeliveryKey, error)
	// Put stores results with their events in one transaction, and the jobs that
	// follow. One that is sent or over stays so. Of one that somebody else has leased
	// only that it was sent is stored, which is true whoever says it.
	Put(ctx context.Context, results []Result, then []notifier.PlanArgs) error
	// Deduplicated records that deliveries were asked for again.
	Deduplicated(ctx context.Context, drafts []Draft) error
	// MakeDigests queues the chunk that follows, once, and makes the digests of a chunk
	// of fans that were not made: for those with something new that is unread. Again,
	// it returns those that it made, and none a second time.
	MakeDigests(ctx context.Context, a notifier.DigestArgs) ([]int64, error)
	// NextChunk queues the chunk of an announcement that follows one, once, unless
	// enough of its chunks are under way. ChunkThrough says that one is not any more.
	NextChunk(ctx context.Context, a notifier.BlastArgs) error
	ChunkThrough(ctx context.Context, a notifier.BlastArgs) error
}

// Planned is what a plan comes to.
type Planned struct {
	Sends []notifier.SendArgs
	// Results are what needs no send: told over a socket, or skipped.
	Results []Result
	// Later are messages of which more may be due at a later step.
	Later []LaterPlan
	// Through are messages of which nothing will be sent any more.
	Through []int64
}

// Online says which fans have a live socket. live.Registry is one.
type Online interface {
	// Online returns those of the fans who are connected to any instance; with an
	// error, those of whom it is known.
	Online(ctx context.Context, fans []int64) (map[int64]bool, error)
}

// permits is what Limits do.
type permits interface {
	Take(ctx context.Context, c notifier.Channel, l notifier.Lane, n int) (granted int, wait time.Duration)
	Slow(ctx context.Context, c notifier.Channel, retryAfter time.Duration)
}

// retires is what a RetireGuard does.
type retires interface {
	Note(c notifier.Channel, o Outcome)
	May(c notifier.Channel) bool
}

// breaks is what Breakers do.
type breaks interface {
	Allow(c notifier.Channel) (done func(Outcome), wait time.Duration)
}
