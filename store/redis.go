package store

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/redis/go-redis/v9"
)

// OpenRedis returns a client of a Redis, of a cluster (an address with more
// addresses, ?addr=host:port) or of what sentinels watch (?master_name=name, with
// the sentinels as addresses). It does not connect.
func OpenRedis(address string) (redis.UniversalClient, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return nil, fmt.Errorf("it looks like redis://:password@host:6379/0")
	}
	q := u.Query()
	switch {
	case q.Has("master_name"):
		opt, err := redis.ParseFailoverURL(address)
		if err != nil {
			return nil, cleanURLError(err)
		}
		opt.ContextTimeoutEnabled = true
		return redis.NewFailoverClient(opt), nil
	case q.Has("addr"):
		opt, err := redis.ParseClusterURL(address)
		if err != nil {
			return nil, cleanURLError(err)
		}
		opt.ContextTimeoutEnabled = true
		return redis.NewClusterClient(opt), nil
	}
	opt, err := redis.ParseURL(address)
	if err != nil {
		return nil, cleanURLError(err)
	}
	opt.ContextTimeoutEnabled = true
	return redis.NewClient(opt), nil
}

// cleanURLError drops what may repeat a password.
func cleanURLError(err error) error {
	if e, ok := err.(*url.Error); ok {
		return e.Err
	}
	return err
}

// LogRedis sends what the Redis library says of itself to log, at level debug:
// whoever calls Redis says what a fault means. The library has one logger for the
// whole process.
func LogRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, "redis: "+fmt.Sprintf(format, v...))
}
