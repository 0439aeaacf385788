package embedded

import (
	"fmt"
	"sync"

	"github.com/alicebob/miniredis/v2"
)

// Redis is a Redis inside this process. It keeps nothing over a restart, and runs a script a thousand times a second or
// two, so it is for `fanline dev` and for tests.
type Redis struct {
	mini *miniredis.Miniredis
	once sync.Once
}

// StartRedis listens on addr, or on a free port of the loopback interface when addr is empty.
func StartRedis(addr string) (*Redis, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	mini := miniredis.NewMiniRedis()
	// Keys expire with the clock of the machine; without this, they never do.
	mini.ClockTTL(true)
	if err := mini.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("start redis on %s: %w", addr, err)
	}
	return &Redis{mini: mini}, nil
}

// URL is a connection string for go-redis.
func (r *Redis) URL() string { return "redis://" + r.mini.Addr() + "/0" }

// Stop closes every connection and returns when they have ended. It may be called twice.
func (r *Redis) Stop() { r.once.Do(r.mini.Close) }
