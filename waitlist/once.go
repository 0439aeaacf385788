package waitlist

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// MaxKeyed is how many requests with an idempotency key one transaction serves:
// each takes a lock of the database, which has room for so many a connection.
const MaxKeyed = 50

// Once is a request with an idempotency key. It takes effect once, however often
// and wherever its caller sends it: the Store keeps its answer in the transaction
// of its effect, and finds it there when the request comes again.
//
// It travels in the context of a call of Service that changes something. Reply
// says afterwards what became of it; the call's own results mean nothing when it
// was not this call that took effect. All methods may be called concurrently.
type Once struct {
	// Caller is the API key's name, or Fan the fan who asks. Keys of different
	// callers have nothing to do with each other.
	Caller, Fan string
	Key         string
	// Request is a hash of what is asked: the same key with another one is
	// refused.
	Request [sha256.Size]byte
	// Step numbers the steps of a request that takes several transactions, from
	// 1. Each is kept by itself, until the whole is settled.
	Step int
	// Steps is how many the whole has.
	Steps int
	// Encode makes the answer from the result of the change: a Claim, Claimed,
	// Joined, Opening, a number of unread items, or nil. It is called within the
	// transaction, from any goroutine, and must not ask the Store for anything.
	Encode func(result any) (Reply, error)

	mu      sync.Mutex
	outcome onceOutcome
	reply   Reply
}

type onceOutcome int

const (
	onceOpen onceOutcome = iota
	onceKept
	onceReplayed
	onceBusy
	onceClashed
)

// Reply is an answer as it is kept and repeated.
type Reply struct {
	Status                            int
	ContentType, Location, RetryAfter string
	Body                              []byte
}

// The refusals of the Store to go on with a request that has a key. Callers learn
// more from Once.
var (
	// errOnceReplayed: it was answered before.
	errOnceReplayed = Refuse(Conflict, "this request was answered before")
	// errOnceBusy: the same key is at work elsewhere; it may be tried again.
	errOnceBusy = &Error{
		Code: Conflict, RetryAfter: time.Second,
		Detail: "a request with this Idempotency-Key is still at work; send it again in a moment",
	}
	errOnceClashed = &Error{
		Code: Conflict, Field: "Idempotency-Key",
		Detail: "this Idempotency-Key came with another request before; use a new key for a new request",
	}
)

type onceKey struct{}

// WithOnce returns a context whose one change has an idempotency key.
func WithOnce(ctx context.Context, o *Once) context.Context {
	return context.WithValue(ctx, onceKey{}, o)
}

// OnceOf returns the idempotency key that a call carries, or nil.
func OnceOf(ctx context.Context) *Once {
	o, _ := ctx.Value(onceKey{}).(*Once)
	return o
}

// AtStep is the request's step n, from 1.
func (o *Once) AtStep(n int) *Once {
	return &Once{Caller: o.Caller, Fan: o.Fan, Key: o.Key, Request: o.Request, Step: n}
}

// Again forgets that the key was at work elsewhere.
func (o *Once) Again() { o.set(onceOpen, Reply{}) }

// Keep notes, after the commit, that r was kept as the answer.
func (o *Once) Keep(r Reply) { o.set(onceKept, r) }

// Replay notes that r was kept before, and returns the refusal to go on.
func (o *Once) Replay(r Reply) error {
	o.set(onceReplayed, r)
	return errOnceReplayed
}

// Wait notes that the same key is at work elsewhere, and returns the refusal.
func (o *Once) Wait() error {
	o.set(onceBusy, Reply{})
	return errOnceBusy
}

// Clash notes that the key came with another request, and returns the refusal.
func (o *Once) Clash() error {
	o.set(onceClashed, Reply{})
	return errOnceClashed
}

func (o *Once) set(outcome onceOutcome, r Reply) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outcome, o.reply = outcome, r
}

// Reply is the kept answer, if there is one; replayed says that it is that of an
// earlier request.
func (o *Once) Reply() (r Reply, replayed, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reply, o.outcome == onceReplayed, o.outcome == onceKept || o.outcome == onceReplayed
}

// Busy says that the same key was at work elsewhere.
func (o *Once) Busy() bool { return o.is(onceBusy) }

// Clashed says that the key came with another request before.
func (o *Once) Clashed() bool { return o.is(onceClashed) }

func (o *Once) is(outcome onceOutcome) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.outcome == outcome
}
