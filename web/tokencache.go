package web

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// knownTokens is how many tokens are known at a time, and knownFor how long one
	// is: a key that was withdrawn lets nobody in for longer.
	knownTokens = 20_000
	knownFor    = time.Minute
)

// tokenCache knows tokens that were found genuine by their hash, so that a fan who
// polls has the signature checked once a minute. It may be used concurrently.
type tokenCache struct {
	mu    sync.RWMutex // guards known
	known map[[sha256.Size]byte]knownToken
}

type knownToken struct {
	fan     string
	expires time.Time // the token
	until   time.Time // that it is known
}

// find returns what a token says that is known and has not expired.
func (c *tokenCache) find(hash [sha256.Size]byte, now time.Time) (t knownToken, ok bool) {
	c.mu.RLock()
	t, ok = c.known[hash]
	c.mu.RUnlock()
	return t, ok && now.Before(t.until) && now.Before(t.expires.Add(tokenLeeway))
}

// add knows a token. With as many as there may be it begins anew.
func (c *tokenCache) add(hash [sha256.Size]byte, fan string, expires, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= knownTokens {
		c.known = map[[sha256.Size]byte]knownToken{}
	}
	c.known[hash] = knownToken{fan, expires, now.Add(knownFor)}
}
