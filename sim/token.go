package sim

import (
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Token is a fan's HS256 token, as the ticketing app would sign it. With a ttl
// below zero it has already expired.
func Token(secret, fan string, ttl time.Duration) string {
	now := time.Now()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Subject:   fan,
		IssuedAt:  jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
	})
	signed, err := token.SignedString([]byte(secret))
	if err != nil {
		panic("sim: HS256 with a key of bytes cannot fail: " + err.Error())
	}
	return signed
}
