package providers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// What the fake's own key is called.
const (
	APNsKeyID  = "FAKEKEY123"
	APNsTeamID = "FAKETEAM12"
	APNsTopic  = "example.fanline"
)

// APNsConfig of a fake.
type APNsConfig struct {
	Addr   string // "" is a free port of loopback
	Phones *Phones
	Now    func() time.Time // the fake's clock; nil is the machine's
}

// APNs is Apple's push service, over HTTP/2 in clear.
type APNs struct {
	service
	server *server
	key    *ecdsa.PrivateKey
	pem    string

	mu     sync.Mutex
	tokens []string             // the good provider tokens, in the order they were shown
	issued map[string]time.Time // when each was issued
}

// StartAPNs starts it, with a key of its own.
func StartAPNs(cfg APNsConfig) (*APNs, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	a := &APNs{
		service: newService(cfg.Phones, cfg.Now), key: key, issued: map[string]time.Time{},
		pem: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	}
	a.server, err = listen(cfg.Addr, http.HandlerFunc(a.push), nil, func() any { return new(apnsConn) })
	return a, err
}

// URL is its base address.
func (a *APNs) URL() string { return a.server.url() }

// Key is the p8 key that it knows as APNsKeyID of APNsTeamID.
func (a *APNs) Key() string { return a.pem }

// Close ends it.
func (a *APNs) Close() { a.server.close() }

// ProviderTokens are the different good provider tokens it was shown, in order.
func (a *APNs) ProviderTokens() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.tokens...)
}

// apnsConn is what APNs knows of a connection.
type apnsConn struct {
	mu      sync.Mutex
	token   string
	changed time.Time
}

// tokenPause is how long a connection must keep its provider token.
const tokenPause = 20 * time.Minute

// show notes the provider token of a request; false when it changed too soon.
func (c *apnsConn) show(token string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token == token {
		return true
	}
	if c.token != "" && now.Sub(c.changed) < tokenPause {
		return false
	}
	c.token, c.changed = token, now
	return true
}

// expire makes room for another token at once.
func (c *apnsConn) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = ""
}

func (a *APNs) push(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	if err != nil {
		return
	}
	token, _ := strings.CutPrefix(r.URL.Path, "/3/device/")
	g := a.read(r, token, body)
	answer, bad := a.check(r, token, body)
	if bad {
		answer = a.refuse(g, answer)
	} else {
		answer = a.take(g, http.StatusOK)
	}
	if answer.Reason == "ExpiredProviderToken" {
		r.Context().Value(connKey{}).(*apnsConn).expire()
	}
	if !answer.think(r.Context()) {
		return
	}
	w.Header().Set("apns-id", g.ID)
	if answer.Status == 0 {
		w.WriteHeader(http.StatusOK)
		return
	}
	reason := map[string]any{"reason": answer.Reason}
	if !answer.Since.IsZero() {
		reason["timestamp"] = answer.Since.UnixMilli()
	}
	text, _ := json.Marshal(reason)
	answer.write(w, string(text))
}

func (a *APNs) read(r *http.Request, token string, body []byte) Got {
	g := Got{Channel: ChannelAPNs, Address: token, Key: r.Header.Get("apns-collapse-id"), ID: r.Header.Get("apns-id"), Payload: body}
	if s, err := strconv.ParseInt(r.Header.Get("apns-expiration"), 10, 64); err == nil && s > 0 {
		g.Expires = time.Unix(s, 0)
	}
	if a.phones.counting() {
		g.Payload = nil
		return g
	}
	var p struct {
		APS struct {
			Alert struct{ Title, Body string }
		}
		ID, URL string
	}
	if json.Unmarshal(body, &p) == nil {
		g.Title, g.Body, g.ItemID, g.URL = p.APS.Alert.Title, p.APS.Alert.Body, p.ID, p.URL
	}
	return g
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// check is what the real one checks before it looks at the device.
func (a *APNs) check(r *http.Request, token string, body []byte) (Answer, bool) {
	h := r.Header
	bad := func(status int, reason string) (Answer, bool) { return Answer{Status: status, Reason: reason}, true }
	if answer, refused := a.checkProvider(r); refused {
		return answer, true
	}
	switch {
	case r.Method != http.MethodPost:
		return bad(405, "MethodNotAllowed")
	case !strings.HasPrefix(r.URL.Path, "/3/device/"):
		return bad(404, "BadPath")
	case token == "":
		return bad(400, "MissingDeviceToken")
	case len(body) == 0:
		return bad(400, "PayloadEmpty")
	case len(body) > 4096:
		return bad(413, "PayloadTooLarge")
	case h.Get("apns-topic") == "":
		return bad(400, "MissingTopic")
	case h.Get("apns-push-type") != "alert":
		return bad(400, "InvalidPushType")
	case len(h.Get("apns-collapse-id")) > 64:
		return bad(400, "BadCollapseId")
	case h.Get("apns-priority") != "10" && h.Get("apns-priority") != "5":
		return bad(400, "BadPriority")
	case !uuid.MatchString(h.Get("apns-id")):
		return bad(400, "BadMessageId")
	case !json.Valid(body):
		return bad(400, "PayloadEmpty")
	}
	if at, err := strconv.ParseInt(h.Get("apns-expiration"), 10, 64); err != nil || at < 0 {
		return bad(400, "BadExpirationDate")
	}
	return Answer{}, false
}

func (a *APNs) checkProvider(r *http.Request) (Answer, bool) {
	bearer, ok := strings.CutPrefix(r.Header.Get("authorization"), "bearer ")
	if !ok {
		return Answer{Status: 403, Reason: "MissingProviderToken"}, true
	}
	issued, ok := a.genuine(bearer)
	switch now := a.now(); {
	case !ok:
		return Answer{Status: 403, Reason: "InvalidProviderToken"}, true
	case now.Sub(issued) > time.Hour:
		return Answer{Status: 403, Reason: "ExpiredProviderToken"}, true
	case !r.Context().Value(connKey{}).(*apnsConn).show(bearer, now):
		return Answer{Status: 429, Reason: "TooManyProviderTokenUpdates"}, true
	}
	return Answer{}, false
}

// genuine says when a provider token was issued. A good one is verified once.
func (a *APNs) genuine(bearer string) (issued time.Time, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if issued, ok = a.issued[bearer]; ok {
		return issued, true
	}
	var claims jwt.RegisteredClaims
	parser := jwt.NewParser(jwt.WithoutClaimsValidation(), jwt.WithValidMethods([]string{"ES256"}))
	token, err := parser.ParseWithClaims(bearer, &claims, func(*jwt.Token) (any, error) { return &a.key.PublicKey, nil })
	if err != nil || token.Header["kid"] != APNsKeyID || claims.Issuer != APNsTeamID || claims.IssuedAt == nil {
		return issued, false
	}
	a.issued[bearer] = claims.IssuedAt.Time
	a.tokens = append(a.tokens, bearer)
	return claims.IssuedAt.Time, true
}
