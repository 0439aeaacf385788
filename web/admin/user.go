package admin

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"fanline/waitlist"
)

// argonAtOnce bounds the passwords that are hashed at the same time, and so the
// memory that logins can take.
const argonAtOnce = 2

// Users are who may log in.
type Users struct {
	byName map[string]user
	// other is checked for names that are not known, so that they take as long.
	other  passwordHash
	hashes chan struct{}
}

type user struct {
	hash passwordHash
	// credential is mixed into the keys of the user's sessions, which so end when
	// it changes.
	credential string
}

// userPattern is one name:hash; the hash has commas of its own.
var userPattern = regexp.MustCompile(`^([^:,]+):(\$[^$]*\$[^$]*\$[^$]*\$[^$]*\$[^$,]*)(?:,|$)`)

// ParseUsers reads "name:hash,...", the hashes as HashPassword makes them. Its
// errors name users, never hashes.
func ParseUsers(s string) (*Users, error) {
	u := newUsers()
	for n := 1; strings.TrimSpace(s) != ""; n++ {
		s = strings.TrimLeft(s, " \n")
		m := userPattern.FindStringSubmatch(s)
		if m == nil {
			return nil, fmt.Errorf("user %d is not name:hash with a hash that fanline admin-hash makes", n)
		}
		name := m[1]
		if err := waitlist.CheckID("name", name); err != nil {
			return nil, fmt.Errorf("user %d: a name has 1 to 64 characters of A-Z a-z 0-9 . _ -", n)
		}
		if _, ok := u.byName[name]; ok {
			return nil, fmt.Errorf("user %s stands there twice", name)
		}
		hash, err := parseHash(m[2])
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		u.add(name, hash, m[2])
		s = s[len(m[0]):]
	}
	return u, nil
}

// SingleUser is the one user admin with a password.
func SingleUser(password string) (*Users, error) {
	hash, err := newHash(password)
	if err != nil {
		return nil, err
	}
	u := newUsers()
	u.add("admin", hash, password)
	return u, nil
}

func newUsers() *Users {
	return &Users{byName: map[string]user{}, hashes: make(chan struct{}, argonAtOnce)}
}

func (u *Users) add(name string, h passwordHash, credential string) {
	if len(u.byName) == 0 {
		u.other = h.another()
	}
	u.byName[name] = user{h, credential}
}

// names are all of them, in order.
func (u *Users) names() []string { return slices.Sorted(maps.Keys(u.byName)) }

// none says that nobody may log in.
func (u *Users) none() bool { return len(u.byName) == 0 }

var errBusy = errors.New("too many logins at once")

// check says whether the password is the user's. It takes as long for a name that
// is not known.
func (u *Users) check(ctx context.Context, name, password string) (bool, error) {
	select {
	case u.hashes <- struct{}{}:
		defer func() { <-u.hashes }()
	case <-ctx.Done():
		return false, errBusy
	}
	known, ok := u.byName[name]
	if !ok {
		known.hash = u.other
	}
	return known.hash.matches(password) && ok, nil
}

// keys are what a session's token may be stored under: one for each user, since
// the token alone does not say whose it is.
func (u *Users) keys(token string) [][]byte {
	keys := make([][]byte, 0, len(u.byName))
	for name := range u.byName {
		keys = append(keys, u.key(name, token))
	}
	return keys
}

// key mixes the token with the user's credential. Whoever reads it can find
// neither: the token is random and as long as a key.
func (u *Users) key(name, token string) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s", token, name, u.byName[name].credential)
	return h.Sum(nil)
}
