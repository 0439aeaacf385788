package web

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func TestAKnownTokenEndsWhenItExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, err := NewTokenVerifier(FanAuth{Secret: fanSecret}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		expires := time.Now().Add(30 * time.Second)
		token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
			Subject: "ada", ExpiresAt: jwt.NewNumericDate(expires),
		}).SignedString([]byte(fanSecret))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // checked, then known
			if fan, until, err := v.Verify(t.Context(), token); err != nil || fan != "ada" || !until.Equal(expires.Truncate(time.Second)) {
				t.Fatalf("%q, %v, %v", fan, until, err)
			}
		}
		if _, _, err := v.Verify(t.Context(), token+"x"); err == nil {
			t.Error("another token is let in with a known one")
		}
		time.Sleep(30*time.Second + tokenLeeway)
		if _, _, err := v.Verify(t.Context(), token); err == nil {
			t.Error("a known token is let in after it expired")
		}
	})
}

func TestATokenIsKnownForAMinute(t *testing.T) {
	t.Parallel()
	var c tokenCache
	now := time.Now()
	hash := sha256.Sum256([]byte("token"))
	c.add(hash, "ada", now.Add(time.Hour), now)
	if _, ok := c.find(hash, now.Add(knownFor-1)); !ok {
		t.Error("it is not known")
	}
	if _, ok := c.find(hash, now.Add(knownFor)); ok {
		t.Error("it is known for longer")
	}
}

func TestNoMoreTokensAreKnownThanMayBe(t *testing.T) {
	t.Parallel()
	var c tokenCache
	now := time.Now()
	for i := range 3 * knownTokens {
		c.add(sha256.Sum256(fmt.Append(nil, i)), "ada", now.Add(time.Hour), now)
		if len(c.known) > knownTokens {
			t.Fatalf("%d are known", len(c.known))
		}
	}
}
