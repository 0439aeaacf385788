package web

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func soon() int64 { return time.Now().Add(time.Hour).Unix() }

func unsigned(t *testing.T, sub string) string {
	t.Helper()
	s, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"sub": sub, "exp": soon()}).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNobodyGetsInWithoutTheRightCredentials(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) {
		var err error
		c.Fans, err = NewTokenVerifier(FanAuth{Secret: fanSecret, Audience: "fans", Issuer: "shop"}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
	})
	good := func(change jwt.MapClaims) string {
		c := jwt.MapClaims{"sub": "ada", "exp": soon(), "aud": "fans", "iss": "shop"}
		for k, v := range change {
			c[k] = v
			if v == nil {
				delete(c, k)
			}
		}
		return sign(t, c)
	}
	rs512 := jwt.NewWithClaims(jwt.SigningMethodHS512, jwt.MapClaims{"sub": "ada", "exp": soon(), "aud": "fans", "iss": "shop"})
	otherAlg, _ := rs512.SignedString([]byte(fanSecret))
	crit := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "ada", "exp": soon(), "aud": "fans", "iss": "shop"})
	crit.Header["crit"] = []string{"b64"}
	withCrit, _ := crit.SignedString([]byte(fanSecret))

	if w := r.as(good(nil), "GET", "/v1/me/entries", ""); w.Code != 200 {
		t.Fatalf("the good token: %d %s", w.Code, w.Body)
	}
	bad := map[string]string{
		"none":            "",
		"garbage":         "abc.def.ghi",
		"api key":         appSecret,
		"wrong key":       good(nil)[:20] + "x" + good(nil)[21:],
		"expired":         good(jwt.MapClaims{"exp": time.Now().Add(-10 * time.Second).Unix()}),
		"no exp":          good(jwt.MapClaims{"exp": nil}),
		"not yet":         good(jwt.MapClaims{"nbf": soon()}),
		"other audience":  good(jwt.MapClaims{"aud": "staff"}),
		"no audience":     good(jwt.MapClaims{"aud": nil}),
		"other issuer":    good(jwt.MapClaims{"iss": "mallory"}),
		"no sub":          good(jwt.MapClaims{"sub": nil}),
		"bad sub":         good(jwt.MapClaims{"sub": "a b"}),
		"number as sub":   good(jwt.MapClaims{"sub": 7}),
		"unsigned":        unsigned(t, "ada"),
		"other algorithm": otherAlg,
		"critical header": withCrit,
		"too long":        good(jwt.MapClaims{"x": strings.Repeat("x", maxToken)}),
	}
	before := len(r.store.asked())
	for name, token := range bad {
		for _, c := range calls {
			if !c.fan {
				continue
			}
			w := r.as(token, c.method, c.path, c.body)
			w.problem(401, "unauthenticated", "")
			if h := w.Header().Get("WWW-Authenticate"); !strings.HasPrefix(h, "Bearer") {
				t.Errorf("%s: WWW-Authenticate %q", name, h)
			}
		}
	}
	for _, token := range []string{"", "wrong", appSecret + "x", "shop:" + appSecret, good(nil), unsigned(t, "ada")} {
		for _, c := range calls {
			if !c.fan {
				r.as(token, c.method, c.path, c.body).problem(401, "unauthenticated", "")
			}
		}
		r.as(token, "GET", "/v1/nothing/here", "").problem(401, "unauthenticated", "")
		r.as(token, "POST", "/v1/shows", "").problem(401, "unauthenticated", "")
		r.as(token, "GET", "/v1", "").problem(401, "unauthenticated", "")
	}
	if got := r.store.asked()[before:]; len(got) > 0 {
		t.Errorf("the store was called: %v", got)
	}
}

func TestWithoutKeysEverythingUnderV1IsClosed(t *testing.T) {
	t.Parallel()
	for _, fans := range []*TokenVerifier{nil, value(NewTokenVerifier(FanAuth{}, slog.New(slog.DiscardHandler)))} {
		r := newRig(t, func(c *Config) { c.APIKeys, c.Fans = nil, fans })
		for _, bearer := range []string{"", appSecret, "undefined", r.fanToken("ada"), unsigned(t, "ada")} {
			for _, c := range calls {
				r.as(bearer, c.method, c.path, c.body).problem(401, "unauthenticated", "")
			}
		}
		for _, path := range []string{"/healthz", "/readyz", "/openapi.json"} {
			if w := r.as("", "GET", path, ""); w.Code != 200 {
				t.Errorf("%s: %d", path, w.Code)
			}
		}
	}
}

func value[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestAuthorizationHeaderForms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{[]string{"Bearer " + appSecret}, 200},
		{[]string{"bearer " + appSecret}, 200},
		{[]string{appSecret}, 401},
		{[]string{"Basic " + base64.StdEncoding.EncodeToString([]byte("shop:"+appSecret))}, 401},
		{[]string{"Bearer  " + appSecret}, 401},
		{[]string{"Bearer"}, 401},
		{[]string{"Bearer " + appSecret, "Bearer " + appSecret}, 401},
	} {
		req := httptest.NewRequest("GET", "/v1/shows", nil)
		req.Header["Authorization"] = c.headers
		if w := r.send(req); w.Code != c.status {
			t.Errorf("%q: %d, want %d", c.headers, w.Code, c.status)
		}
	}
}

func TestSmallClockDifferencesAreForgiven(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now()
	token := sign(t, jwt.MapClaims{"sub": "ada", "exp": now.Add(-2 * time.Second).Unix(), "nbf": now.Add(2 * time.Second).Unix()})
	if w := r.as(token, "GET", "/v1/me/entries", ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestParseAPIKeys(t *testing.T) {
	t.Parallel()
	keys, err := ParseAPIKeys(" shop:a:b , box:c,")
	if err != nil || len(keys) != 2 || keys[0] != (APIKey{"shop", "a:b"}) || keys[1] != (APIKey{"box", "c"}) {
		t.Errorf("%v, %v", keys, err)
	}
	for _, bad := range []string{"shop", "shop:", ":secret", "a:verysecret,a:x", "a:verysecret,b:verysecret"} {
		if _, err := ParseAPIKeys(bad); err == nil || strings.Contains(err.Error(), "verysecret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// keyPair is a signing key with its public half in PEM.
type keyPair struct {
	alg  jwt.SigningMethod
	priv crypto.Signer
	pem  string
}

func newKeyPair(t *testing.T, alg jwt.SigningMethod, priv crypto.Signer) keyPair {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(priv.Public())
	if err != nil {
		t.Fatal(err)
	}
	return keyPair{alg, priv, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))}
}

func (k keyPair) token(t *testing.T, kid string) string {
	t.Helper()
	token := jwt.NewWithClaims(k.alg, jwt.MapClaims{"sub": "ada", "exp": soon()})
	if kid != "" {
		token.Header["kid"] = kid
	}
	s, err := token.SignedString(k.priv)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func keyPairs(t *testing.T) map[string]keyPair {
	t.Helper()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]keyPair{
		"rsa": newKeyPair(t, jwt.SigningMethodRS256, value(rsa.GenerateKey(rand.Reader, 2048))),
		"ec":  newKeyPair(t, jwt.SigningMethodES256, value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))),
		"ed":  newKeyPair(t, jwt.SigningMethodEdDSA, ed),
	}
}

func TestPublicKeysPinTheAlgorithm(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	pairs := keyPairs(t)
	for name, pair := range pairs {
		v, err := NewTokenVerifier(FanAuth{PublicKey: pair.pem}, log)
		if err != nil {
			t.Fatal(err)
		}
		if fan, _, err := v.Verify(t.Context(), pair.token(t, "")); err != nil || fan != "ada" {
			t.Errorf("%s: %q, %v", name, fan, err)
		}
		// The public key as a secret: the classic confusion.
		confused, _ := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "ada", "exp": soon()}).SignedString([]byte(pair.pem))
		for other, token := range map[string]string{"hs256": confused, "none": unsigned(t, "ada"), "other": pairs[map[string]string{"rsa": "ec", "ec": "ed", "ed": "rsa"}[name]].token(t, "")} {
			if _, _, err := v.Verify(t.Context(), token); err == nil {
				t.Errorf("%s takes %s", name, other)
			}
		}
	}
	weak := newKeyPair(t, jwt.SigningMethodES384, value(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)))
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: value(x509.MarshalPKCS8PrivateKey(pairs["ec"].priv))})
	for _, bad := range []FanAuth{
		{PublicKey: "not PEM"},
		{PublicKey: weak.pem},
		{PublicKey: string(private)},
		{PublicKey: pairs["ec"].pem, Secret: "x"},
	} {
		if _, err := NewTokenVerifier(bad, log); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

func TestJWKSKeysAreFetchedAndPinned(t *testing.T) {
	t.Parallel()
	pairs := keyPairs(t)
	var set struct {
		Keys []map[string]string `json:"keys"`
	}
	b64 := base64.RawURLEncoding.EncodeToString
	ec := pairs["ec"].priv.Public().(*ecdsa.PublicKey)
	point := value(ec.Bytes())
	set.Keys = append(set.Keys,
		map[string]string{"kty": "EC", "kid": "ec", "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])},
		map[string]string{"kty": "OKP", "kid": "ed", "crv": "Ed25519", "x": b64(pairs["ed"].priv.Public().(ed25519.PublicKey))},
		map[string]string{"kty": "oct", "kid": "oct", "k": b64([]byte(fanSecret))},
	)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(set)
	}))
	defer srv.Close()
	v, err := NewTokenVerifier(FanAuth{JWKSURL: srv.URL}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, kid := range []string{"ec", "ed"} {
		if fan, _, err := v.Verify(t.Context(), pairs[kid].token(t, kid)); err != nil || fan != "ada" {
			t.Errorf("%s: %q, %v", kid, fan, err)
		}
	}
	hs := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "ada", "exp": soon()})
	hs.Header["kid"] = "oct"
	symmetric, _ := hs.SignedString([]byte(fanSecret))
	for name, token := range map[string]string{
		"symmetric": symmetric, "swapped": pairs["ed"].token(t, "ec"), "unknown": pairs["rsa"].token(t, "rsa"), "no kid": pairs["rsa"].token(t, ""),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if _, _, err := v.Verify(ctx, token); err == nil || ctx.Err() != nil {
			t.Errorf("%s: %v, %v", name, err, ctx.Err())
		}
		cancel()
	}
}
