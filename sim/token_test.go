package sim

import (
	"errors"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func TestTokenNamesTheFanAndEnds(t *testing.T) {
	key := func(*jwt.Token) (any, error) { return []byte("secret"), nil }
	var claims jwt.RegisteredClaims
	_, err := jwt.ParseWithClaims(Token("secret", "a|b", time.Hour), &claims, key,
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired())
	if err != nil || claims.Subject != "a|b" {
		t.Errorf("claims %+v, %v", claims, err)
	}
	_, err = jwt.ParseWithClaims(Token("secret", "ada", -time.Minute), &claims, key)
	if !errors.Is(err, jwt.ErrTokenExpired) {
		t.Errorf("an old token: %v", err)
	}
	_, err = jwt.ParseWithClaims(Token("other", "ada", time.Hour), &claims, key)
	if !errors.Is(err, jwt.ErrTokenSignatureInvalid) {
		t.Errorf("another secret: %v", err)
	}
}
