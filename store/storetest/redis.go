package storetest

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"fanline/store/embedded"
)

// Redis returns the URL of a redis-server of this test's own. A server starts in some 10 ms and shares neither keys nor
// channels nor FLUSHALL with another test, which a database number or a prefix would.
func Redis(t testing.TB) string {
	t.Helper()
	return RedisServer(t).URL()
}

// DialRedis is a client of a Redis, as the program makes them: calls end with their context.
func DialRedis(t testing.TB, url string) *redis.Client {
	t.Helper()
	opt, err := redis.ParseURL(url)
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	opt.ContextTimeoutEnabled = true
	c := redis.NewClient(opt)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// RedisServer is Redis for tests that kill and restart it.
func RedisServer(t testing.TB) *embedded.RedisServer {
	t.Helper()
	dir, err := shared.redisDir()
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	r, err := embedded.StartRedisServer(ctx, embedded.RedisConfig{Dir: dir})
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	t.Cleanup(r.Stop)
	return r
}

// MiniRedis returns the URL of a Redis inside the process, of this test's own.
func MiniRedis(t testing.TB) string {
	t.Helper()
	r, err := embedded.StartRedis("")
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	t.Cleanup(r.Stop)
	return r.URL()
}
