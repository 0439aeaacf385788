package apns

import (
	"crypto/ecdsa"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// APNs takes a provider token for an hour and a new one every 20 minutes.
const (
	tokenAge   = 40 * time.Minute
	tokenEnd   = 60 * time.Minute
	tokenPause = 20 * time.Minute
)

// signer has the one provider token of the process.
type signer struct {
	key           *ecdsa.PrivateKey
	keyID, teamID string

	mu      sync.Mutex
	now     stamped
	before  stamped   // the one that now took the place of
	forced  time.Time // when APNs last made us sign anew
	refused time.Time // when APNs last said that it changed too often
}

// stamped is a token with the moment it was signed.
type stamped struct {
	text string
	at   time.Time
}

// token is the provider token to use, signed anew when the last is old.
func (s *signer) token() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := time.Since(s.now.at)
	if s.now.text != "" && (age < tokenAge || age < tokenEnd && time.Since(s.refused) < tokenPause) {
		return s.now.text, nil
	}
	err := s.sign()
	return s.now.text, err
}

func (s *signer) sign() error {
	at := time.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": s.teamID, "iat": at.Unix()})
	t.Header["kid"] = s.keyID
	text, err := t.SignedString(s.key)
	if err != nil {
		return err
	}
	s.before, s.now = s.now, stamped{text, at}
	return nil
}

// refresh replaces a token that APNs called expired, and says whether there is
// another one now. A token that keeps being called expired means that the clocks
// differ: more tokens would not help, and APNs would not have them.
func (s *signer) refresh(expired string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.text != expired {
		return true
	}
	if !s.forced.IsZero() && time.Since(s.forced) < tokenPause {
		return false
	}
	s.forced = time.Now()
	return s.sign() == nil
}

// goBack uses the token before the refused one again, where it is still good, and
// signs none for a while. It says whether there is another one now.
func (s *signer) goBack(refused string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = time.Now()
	if s.now.text != refused {
		return true
	}
	if s.before.text == "" || time.Since(s.before.at) >= tokenEnd {
		return false
	}
	s.now, s.before = s.before, stamped{}
	return true
}
