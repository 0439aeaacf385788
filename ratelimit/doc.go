// Package ratelimit keeps limits that all instances share: at most N in any window
// of time, wherever the window lies.
//
// It is a sliding-window log: Redis keeps the moment of each permit of the last
// window in one sorted set a limiter, and one script counts and adds, by Redis's
// clock alone, so that instances whose clocks differ or whose calls cross cannot
// make it leak. Members are unique for each permit, a refused call leaves nothing
// behind, and a limiter is one key, in one slot of a cluster.
//
// When Redis does not answer, each instance keeps its share of the limit by itself,
// as long as that lasts; Stats counts it. Everything may be called concurrently.
// The package imports go-redis.
package ratelimit
