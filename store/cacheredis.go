package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fanline/delivery/live"
	"fanline/notifier"
)

const (
	// cacheForm names the form of keys and values. Another form needs another name, so
	// that two releases beside each other do not read each other's.
	cacheForm = "fl:cache2:"
	// redisPatience bounds a call, and redisAway is how long none is tried after one
	// failed: both are short beside the life of a value.
	redisPatience = 250 * time.Millisecond
	redisAway     = time.Second
	// toldAtOnce is how many keys go in one round trip.
	toldAtOnce = 1000
	// earPatience is how long the others may be silent before the subscription is
	// asked whether it lives, and then again.
	earPatience = time.Second
)

// A key's string is 'T' and a ticket, or 'D', the moment of its end in Unix
// milliseconds and a checksum, and the payload.
const (
	ticketMark = 'T'
	valueMark  = 'D'
	valueHead  = 1 + 8 + 4
)

var (
	// ticketScript returns what stands there, after putting a ticket where nothing
	// does.
	ticketScript = redis.NewScript(`
		if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return ARGV[1] end
		return redis.call('GET', KEYS[1])`)
	// fillScript puts a value over the ticket that its reader found, and over nothing
	// else.
	fillScript = redis.NewScript(`
		if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
		redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
		return 1`)
)

// topic is where instances on the same database tell each other what they made stale.
func (c *Cache) topic() string { return cacheForm + c.cfg.Database }

// name is a key as Redis has it.
func (c *Cache) name(key string) string { return cacheForm + c.cfg.Database + ":" + key }

// sharedValue is a value in Redis.
type sharedValue struct {
	raw     string
	expires time.Time
	payload []byte
}

func encodeShared(expires time.Time, payload []byte) []byte {
	b := make([]byte, valueHead, valueHead+len(payload))
	b[0] = valueMark
	binary.BigEndian.PutUint64(b[1:], uint64(expires.UnixMilli()))
	binary.BigEndian.PutUint32(b[9:], crc32.ChecksumIEEE(payload))
	return append(b, payload...)
}

// decodeShared returns nil for what is no value.
func decodeShared(raw string) *sharedValue {
	if len(raw) < valueHead || raw[0] != valueMark {
		return nil
	}
	v := &sharedValue{raw: raw, payload: []byte(raw[valueHead:])}
	if crc32.ChecksumIEEE(v.payload) != binary.BigEndian.Uint32([]byte(raw[9:valueHead])) {
		return nil
	}
	v.expires = time.UnixMilli(int64(binary.BigEndian.Uint64([]byte(raw[1:9]))))
	return v
}

// get returns a key's value, or what a fill must find in its place; neither when
// Redis is away.
func (c *Cache) get(ctx context.Context, key string) (v *sharedValue, lease string) {
	err := c.redis(ctx, func(ctx context.Context) error {
		raw, err := c.cfg.Redis.Get(ctx, c.name(key)).Result()
		if errors.Is(err, redis.Nil) {
			ticket := string(ticketMark) + rand.Text()
			raw, err = ticketScript.Run(ctx, c.cfg.Redis, []string{c.name(key)}, ticket, ticketFor.Milliseconds()).Text()
		}
		if err != nil {
			return err
		}
		if v = decodeShared(raw); v == nil {
			lease = raw
		}
		return nil
	})
	if err != nil {
		return nil, ""
	}
	return v, lease
}

func (c *Cache) fill(ctx context.Context, key, lease string, ttl time.Duration, payload []byte) {
	_ = c.redis(ctx, func(ctx context.Context) error {
		value := encodeShared(c.cfg.Clock.Now().Add(ttl), payload)
		return fillScript.Run(ctx, c.cfg.Redis, []string{c.name(key)}, lease, value, max(1, ttl.Milliseconds())).Err()
	})
}

// tell removes values and tickets from Redis, so that no load of before is filled in
// any more, and lets the other instances know.
func (c *Cache) tell(ctx context.Context, keys []string) {
	for some := range slices.Chunk(keys, toldAtOnce) {
		_ = c.redis(ctx, func(ctx context.Context) error {
			_, err := c.cfg.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
				c.remove(ctx, p, some)
				p.Publish(ctx, c.topic(), strings.Join(some, "\n"))
				return nil
			})
			return err
		})
	}
}

// remove removes keys with one command, or with one each where they lie on several
// nodes.
func (c *Cache) remove(ctx context.Context, p redis.Pipeliner, keys []string) {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = c.name(key)
	}
	if _, cluster := c.cfg.Redis.(*redis.ClusterClient); !cluster {
		p.Del(ctx, names...)
		return
	}
	for _, name := range names {
		p.Del(ctx, name)
	}
}

// redis runs f, or fails at once when Redis failed a moment ago.
func (c *Cache) redis(ctx context.Context, f func(context.Context) error) error {
	if time.Since(time.Unix(0, c.awayAt.Load())) < redisAway {
		return errRedisAway
	}
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	err := f(ctx)
	if err != nil {
		c.stats.faults.Add(1)
		c.awayAt.Store(time.Now().UnixNano())
	}
	return err
}

var errRedisAway = errors.New("redis did not answer a moment ago")

// listenLoop keeps a subscription to what others made stale.
func (c *Cache) listenLoop(ctx context.Context) {
	for ctx.Err() == nil {
		err := live.Listen(ctx, c.cfg.Redis, []string{c.topic()}, earPatience, func() {
			c.forgetAll() // what was said before it was not heard
			c.hears.Store(true)
		}, func(keys string) { c.forget(strings.Split(keys, "\n")...) })
		if c.hears.Swap(false) && ctx.Err() == nil {
			c.cfg.Log.Warn("the cache does not hear the other instances; nothing is kept in this process", "error", err)
		}
		c.forgetAll()
		notifier.Pause(ctx, 100*time.Millisecond)
	}
}
