package delivery

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"fanline/notifier"
)

// KeysConfig configures Keys.
type KeysConfig struct {
	// Redis must have ContextTimeoutEnabled.
	Redis redis.UniversalClient
	// Database names the database whose numbers the keys are made of: those of a
	// database that was restored begin anew.
	Database string
	Log      *slog.Logger
	Timeout  time.Duration // of an exchange; 0: 500 ms
}

// Keys remember in Redis for a day which deliveries were sent: the quick answer.
// Postgres decides, also after Redis lost them. Its methods may be called
// concurrently.
type Keys struct {
	cfg   KeysConfig
	fault notifier.Faults

	awayUntil atomic.Int64 // Unix nanoseconds: Redis is not asked before
	errors    atomic.Int64
}

const (
	// keyLease is how long a key is somebody's, keySent how long it is known sent.
	keyLease = 30 * time.Second
	keySent  = 24 * time.Hour
	// keysAway is how long Redis is not asked after it failed: an attempt waits for the answer.
	keysAway = time.Second
)

// errAway is for exchanges that were not tried.
var errAway = errors.New("redis did not answer a moment ago")

// KeyAnswer is what Redis knows of a key.
type KeyAnswer int

// The answers. KeyUnknown is all that is neither: Redis does not answer, or
// somebody has or had the key; Postgres is asked.
const (
	KeyUnknown KeyAnswer = iota
	KeyNew
	KeyDuplicate
)

// NewKeys returns Keys.
func NewKeys(cfg KeysConfig) *Keys {
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	cfg.Timeout = cmp.Or(cfg.Timeout, 500*time.Millisecond)
	return &Keys{cfg: cfg, fault: notifier.Faults{Log: cfg.Log}}
}

const sentMark = "sent"

func (k *Keys) name(key notifier.DeliveryKey) string {
	return "fanline:key:" + k.cfg.Database + ":" + key.String()
}

// Ask takes keys for a while, and says of each what is known. An error is an
// answer too, "don't know", and is counted.
func (k *Keys) Ask(ctx context.Context, keys []notifier.DeliveryKey) []KeyAnswer {
	answers := make([]KeyAnswer, len(keys))
	taken, found := make([]*redis.BoolCmd, len(keys)), make([]*redis.StringCmd, len(keys))
	if k.pipelined(ctx, len(keys), func(p redis.Pipeliner, call context.Context) {
		for i, key := range keys {
			taken[i] = p.SetNX(call, k.name(key), "leased", keyLease)
			found[i] = p.Get(call, k.name(key))
		}
	}) != nil {
		return answers
	}
	for i := range keys {
		switch {
		case taken[i].Err() != nil:
			k.errors.Add(1)
		case taken[i].Val():
			answers[i] = KeyNew
		case found[i].Val() == sentMark:
			answers[i] = KeyDuplicate
		}
	}
	return answers
}

// Sent notes that providers took deliveries. Its error is counted and logged.
func (k *Keys) Sent(ctx context.Context, keys []notifier.DeliveryKey) error {
	return k.pipelined(ctx, len(keys), func(p redis.Pipeliner, call context.Context) {
		for _, key := range keys {
			p.Set(call, k.name(key), sentMark, keySent)
		}
	})
}

// pipelined makes one exchange, unless Redis did not answer a moment ago.
func (k *Keys) pipelined(ctx context.Context, n int, queue func(p redis.Pipeliner, call context.Context)) error {
	if n == 0 {
		return nil
	}
	if time.Now().UnixNano() < k.awayUntil.Load() {
		k.errors.Add(1)
		return errAway
	}
	call, cancel := context.WithTimeout(ctx, k.cfg.Timeout)
	defer cancel()
	p := k.cfg.Redis.Pipeline()
	queue(p, call)
	_, err := p.Exec(call)
	if err == redis.Nil {
		err = nil // an answer: no such key
	}
	if err != nil && ctx.Err() == nil {
		k.errors.Add(1)
		k.awayUntil.Store(time.Now().Add(keysAway).UnixNano())
	}
	k.fault.Note(ctx, "ask redis for the keys of deliveries; postgres decides alone", err)
	return err
}

// Errors counts the exchanges with Redis that failed.
func (k *Keys) Errors() int64 { return k.errors.Load() }
