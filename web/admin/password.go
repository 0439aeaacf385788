package admin

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// What new hashes cost: 32 MiB and about 50 ms.
const (
	argonMemory = 32 << 10 // KiB
	argonTime   = 3
	argonKey    = 32
	argonSalt   = 16
)

// What a configured hash may cost: a wrong one must not take the machine down.
const (
	argonMostMemory  = 256 << 10
	argonMostTime    = 16
	argonMostThreads = 16
)

const maxPassword = 1000

// passwordHash is an argon2id hash with what it was made with.
type passwordHash struct {
	memory, time uint32
	threads      uint8
	salt, key    []byte
}

// HashPassword makes the hash of a password for ParseUsers, in PHC form.
func HashPassword(password string) (string, error) {
	h, err := newHash(password)
	if err != nil {
		return "", err
	}
	enc := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.time, h.threads, enc(h.salt), enc(h.key)), nil
}

func newHash(password string) (passwordHash, error) {
	switch {
	case password == "":
		return passwordHash{}, errors.New("the password is empty")
	case len(password) > maxPassword:
		return passwordHash{}, fmt.Errorf("the password is longer than %d bytes", maxPassword)
	}
	h := passwordHash{memory: argonMemory, time: argonTime, threads: 1, salt: make([]byte, argonSalt)}
	_, _ = rand.Read(h.salt) // never fails
	h.key = h.derive(password, argonKey)
	return h, nil
}

func parseHash(s string) (h passwordHash, err error) {
	bad := errors.New("the hash is not one that fanline admin-hash makes ($argon2id$...)")
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return h, bad
	}
	if _, err := fmt.Sscanf(parts[3]+"\n", "m=%d,t=%d,p=%d\n", &h.memory, &h.time, &h.threads); err != nil {
		return h, bad
	}
	var err1, err2 error
	h.salt, err1 = base64.RawStdEncoding.DecodeString(parts[4])
	h.key, err2 = base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || len(h.salt) < 8 || len(h.key) < 16 || len(h.key) > 64 {
		return h, bad
	}
	if h.time < 1 || h.threads < 1 || h.memory < 8*uint32(h.threads) ||
		h.memory > argonMostMemory || h.time > argonMostTime || h.threads > argonMostThreads {
		return h, fmt.Errorf("the hash costs too much or too little (at most m=%d,t=%d,p=%d)", argonMostMemory, argonMostTime, argonMostThreads)
	}
	return h, nil
}

func (h passwordHash) derive(password string, n uint32) []byte {
	return argon2.IDKey([]byte(password), h.salt, h.time, h.memory, h.threads, n)
}

// matches takes as long for any password of the same length.
func (h passwordHash) matches(password string) bool {
	return subtle.ConstantTimeCompare(h.derive(password, uint32(len(h.key))), h.key) == 1
}

// another is a hash of the same cost that no password has.
func (h passwordHash) another() passwordHash {
	h.salt, h.key = make([]byte, len(h.salt)), make([]byte, len(h.key))
	_, _ = rand.Read(h.salt)
	_, _ = rand.Read(h.key)
	return h
}
