package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// APIKey is a ticketing app's credential. The secret alone is the bearer token.
type APIKey struct{ Name, Secret string }

// ParseAPIKeys reads "name:secret,...". Its errors name keys, never secrets.
func ParseAPIKeys(s string) ([]APIKey, error) {
	var keys []APIKey
	names, secrets := map[string]bool{}, map[string]bool{}
	for i, item := range strings.Split(s, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, secret, ok := strings.Cut(item, ":")
		switch {
		case !ok || name == "" || secret == "":
			return nil, fmt.Errorf("API key %d is not name:secret", i+1)
		case names[name]:
			return nil, fmt.Errorf("API key %s stands there twice", name)
		case secrets[secret]:
			return nil, fmt.Errorf("API key %s has the secret of another", name)
		}
		names[name], secrets[secret] = true, true
		keys = append(keys, APIKey{name, secret})
	}
	return keys, nil
}

// keyring knows API keys by the hash of their secret.
type keyring []struct {
	name string
	hash [sha256.Size]byte
}

func newKeyring(keys []APIKey) keyring {
	ring := make(keyring, len(keys))
	for i, k := range keys {
		ring[i].name, ring[i].hash = k.Name, sha256.Sum256([]byte(k.Secret))
	}
	return ring
}

// find returns the name of the key. It takes as long for any secret.
func (ring keyring) find(secret string) (name string, ok bool) {
	hash := sha256.Sum256([]byte(secret))
	for i := range ring {
		if subtle.ConstantTimeCompare(hash[:], ring[i].hash[:]) == 1 {
			name, ok = ring[i].name, true
		}
	}
	return name, ok
}

// area is who may call a path.
type area int

const (
	areaOpen area = iota
	areaApp       // an API key
	areaFan       // a fan's token
)

// areaOf goes by the path alone, also where no route is: nothing under /v1 can be
// left open by mistake.
func areaOf(path string) area {
	if path == webPushKeyPath || callbackPaths[path] != "" {
		return areaOpen
	}
	segments := strings.SplitN(path, "/", 4)
	switch {
	case len(segments) < 2 || segments[1] != "v1":
		return areaOpen
	case len(segments) > 2 && segments[2] == "me":
		return areaFan
	}
	return areaApp
}

// authenticate lets in who has the credentials that the path asks for.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.admit(r); err != nil {
			challenge := `Bearer realm="fanline"`
			if r.Header.Get("Authorization") != "" {
				challenge += `, error="invalid_token"`
			}
			refuse(unauthenticated, err.Error()).header("WWW-Authenticate", challenge).write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) admit(r *http.Request) error {
	where := areaOf(r.URL.RawPath)
	if where == areaOpen {
		return nil
	}
	bearer, err := bearerOf(r)
	if err != nil {
		return err
	}
	m := metaOf(r.Context())
	if where == areaApp {
		name, ok := s.keys.find(bearer)
		if !ok {
			return errors.New("this needs a valid API key")
		}
		m.key = name
		return nil
	}
	if s.cfg.Fans == nil {
		return errors.New("no fan tokens are accepted here")
	}
	m.fan, m.expires, err = s.cfg.Fans.Verify(r.Context(), bearer)
	return err
}

// bearerOf is the token of the request. A browser cannot set a header on a
// WebSocket, so that the stream takes it from the subprotocols too.
func bearerOf(r *http.Request) (string, error) {
	given := r.Header.Values("Authorization")
	if len(given) == 0 && r.URL.RawPath == streamPath {
		if token, ok := protocolToken(r.Header); ok {
			return token, nil
		}
	}
	if len(given) == 0 {
		return "", errors.New("this needs an Authorization header with a bearer token")
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	if len(given) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", errors.New("the Authorization header must be Bearer and one token")
	}
	return token, nil
}

// fanOf is the fan whose token let the request in.
func fanOf(ctx context.Context) string { return metaOf(ctx).fan }
