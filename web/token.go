package web

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"

	"fanline/waitlist"
)

const (
	// tokenLeeway is how far clocks may be apart.
	tokenLeeway = 5 * time.Second
	maxToken    = 8 << 10
	// jwksPatience bounds one fetch of the keys; jwksEvery how often an unknown
	// key id may cause one.
	jwksPatience = 10 * time.Second
	jwksEvery    = 10 * time.Second
)

// FanAuth says which fan tokens are genuine. At most one of Secret, PublicKey and
// JWKSURL is set; with none of them no fan gets in.
type FanAuth struct {
	Secret    string // HS256
	PublicKey string // PEM; RS256, ES256 or EdDSA by its type
	JWKSURL   string // RS256, ES256 and EdDSA keys
	Audience  string // checked when set
	Issuer    string // checked when set
}

// Check says what is wrong with a. It fetches nothing.
func (a FanAuth) Check() error {
	if one(a.Secret, a.PublicKey, a.JWKSURL) > 1 {
		return errors.New("fan tokens: set one of secret, public key and JWKS URL")
	}
	if a.PublicKey != "" {
		if _, _, err := parsePublicKey(a.PublicKey); err != nil {
			return fmt.Errorf("fan tokens: public key: %w", err)
		}
	}
	if u, err := url.Parse(a.JWKSURL); a.JWKSURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return errors.New("fan tokens: the JWKS URL must be like https://shop.example/keys")
	}
	return nil
}

// TokenVerifier checks fan tokens. The algorithm is pinned by the kind of key,
// never chosen by the token. Close stops fetching keys.
type TokenVerifier struct {
	parser *jwt.Parser
	key    func(ctx context.Context) jwt.Keyfunc
	stop   context.CancelFunc
	known  tokenCache
}

// NewTokenVerifier returns a verifier for a. With a JWKS URL it fetches the keys,
// which may take 10 s, and goes on fetching them until Close; while they cannot
// be had, no token is genuine.
func NewTokenVerifier(a FanAuth, log *slog.Logger) (*TokenVerifier, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	v := &TokenVerifier{stop: func() {}}
	var algs []string
	switch {
	case a.Secret != "":
		algs, v.key = []string{"HS256"}, fixed([]byte(a.Secret))
	case a.PublicKey != "":
		key, alg, err := parsePublicKey(a.PublicKey)
		if err != nil {
			return nil, fmt.Errorf("fan tokens: public key: %w", err)
		}
		algs, v.key = []string{alg}, fixed(key)
	case a.JWKSURL != "":
		algs = []string{"RS256", "ES256", "EdDSA"}
		if err := v.fetch(a.JWKSURL, log); err != nil {
			return nil, fmt.Errorf("fan tokens: JWKS: %w", err)
		}
	}
	opts := []jwt.ParserOption{
		jwt.WithValidMethods(algs), jwt.WithExpirationRequired(), jwt.WithLeeway(tokenLeeway), jwt.WithStrictDecoding(),
	}
	if a.Audience != "" {
		opts = append(opts, jwt.WithAudience(a.Audience))
	}
	if a.Issuer != "" {
		opts = append(opts, jwt.WithIssuer(a.Issuer))
	}
	v.parser = jwt.NewParser(opts...)
	return v, nil
}

func one(words ...string) (n int) {
	for _, w := range words {
		if w != "" {
			n++
		}
	}
	return n
}

func fixed(key any) func(context.Context) jwt.Keyfunc {
	return func(context.Context) jwt.Keyfunc {
		return func(*jwt.Token) (any, error) { return key, nil }
	}
}

// fetch keeps the keys at url. An unknown key id fetches them anew, now and then,
// and never makes a request wait for its turn to do so.
func (v *TokenVerifier) fetch(url string, log *slog.Logger) error {
	ctx, stop := context.WithCancel(context.Background())
	keys, err := keyfunc.NewDefaultOverrideCtx(ctx, []string{url}, keyfunc.Override{
		HTTPTimeout:       jwksPatience,
		RefreshInterval:   10 * time.Minute,
		RefreshUnknownKID: rate.NewLimiter(rate.Every(jwksEvery), 1),
		RateLimitWaitMax:  time.Millisecond,
		RefreshErrorHandlerFunc: func(string) func(context.Context, error) {
			return func(_ context.Context, err error) { log.Error("fan keys could not be fetched", "error", err) }
		},
	})
	if err != nil {
		stop()
		return err
	}
	v.stop = stop
	v.key = func(ctx context.Context) jwt.Keyfunc {
		find := keys.KeyfuncCtx(ctx)
		return func(t *jwt.Token) (any, error) {
			key, err := find(t)
			if err != nil {
				return nil, err
			}
			if alg, err := algorithm(key); err != nil || alg != t.Method.Alg() {
				return nil, errors.New("the key is not for this algorithm")
			}
			return key, nil
		}
	}
	return nil
}

// Close stops fetching keys. It may be called twice.
func (v *TokenVerifier) Close() { v.stop() }

// Verify returns whose token it is and when it ends, or why it is not genuine, in
// words that may be shown.
func (v *TokenVerifier) Verify(ctx context.Context, token string) (fanID string, expires time.Time, err error) {
	if v.key == nil {
		return "", time.Time{}, errors.New("no fan tokens are accepted here")
	}
	if len(token) > maxToken {
		return "", time.Time{}, errors.New("the token is too long")
	}
	hash := sha256.Sum256([]byte(token))
	if t, ok := v.known.find(hash, time.Now()); ok {
		return t.fan, t.expires, nil
	}
	var claims jwt.RegisteredClaims
	t, err := v.parser.ParseWithClaims(token, &claims, v.key(ctx))
	if err != nil {
		return "", time.Time{}, tokenFault(err)
	}
	if _, ok := t.Header["crit"]; ok {
		return "", time.Time{}, errors.New("the token asks for extensions that are not known here")
	}
	if waitlist.CheckFanID("sub", claims.Subject) != nil {
		return "", time.Time{}, errors.New("the token's sub is not a fan id")
	}
	v.known.add(hash, claims.Subject, claims.ExpiresAt.Time, time.Now())
	return claims.Subject, claims.ExpiresAt.Time, nil
}

// tokenFault says what is wrong without repeating anything of the token.
func tokenFault(err error) error {
	for _, f := range []struct {
		is  error
		say string
	}{
		{jwt.ErrTokenExpired, "the token has expired"},
		{jwt.ErrTokenNotValidYet, "the token is not valid yet"},
		{jwt.ErrTokenInvalidAudience, "the token is for another audience"},
		{jwt.ErrTokenInvalidIssuer, "the token is from another issuer"},
		{jwt.ErrTokenRequiredClaimMissing, "the token lacks exp, or aud or iss where those are asked for"},
	} {
		if errors.Is(err, f.is) {
			return errors.New(f.say)
		}
	}
	return errors.New("the token is not genuine")
}

func parsePublicKey(text string) (key any, alg string, err error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, "", errors.New("not PEM")
	}
	switch block.Type {
	case "PUBLIC KEY":
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		key, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		var cert *x509.Certificate
		if cert, err = x509.ParseCertificate(block.Bytes); err == nil {
			key = cert.PublicKey
		}
	default:
		return nil, "", fmt.Errorf("a PEM block %q is no public key", block.Type)
	}
	if err != nil {
		return nil, "", err
	}
	alg, err = algorithm(key)
	return key, alg, err
}

// algorithm is the one that a public key is for.
func algorithm(key any) (string, error) {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() < 2048 {
			return "", errors.New("an RSA key needs 2048 bits or more")
		}
		return "RS256", nil
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() {
			return "", errors.New("an ECDSA key must be on P-256")
		}
		return "ES256", nil
	case ed25519.PublicKey:
		return "EdDSA", nil
	}
	return "", fmt.Errorf("no algorithm for a key of type %T", key)
}
