package providers

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// WebPushConfig of a fake.
type WebPushConfig struct {
	Addr   string // "" is a free port of loopback
	Phones *Phones
	Now    func() time.Time
}

// WebPush is a browser's push service, with the browsers.
type WebPush struct {
	service
	server *server

	mu       sync.Mutex
	browsers map[string]*browser // by the name that ends the endpoint
	sent     int
}

// Subscription is what a browser gives a page.
type Subscription struct{ Endpoint, P256dh, Auth string }

type browser struct {
	key  *ecdh.PrivateKey
	auth []byte
	// vapid is the key that the subscription was made for; "" takes the first shown.
	vapid string
	seen  string // the newest header that was good: each is checked once
	until time.Time
}

// StartWebPush starts it.
func StartWebPush(cfg WebPushConfig) (*WebPush, error) {
	p := &WebPush{service: newService(cfg.Phones, cfg.Now), browsers: map[string]*browser{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /push/{browser}", p.push)
	var err error
	p.server, err = listen(cfg.Addr, mux, nil, nil)
	return p, err
}

// URL is its base address.
func (p *WebPush) URL() string { return p.server.url() }

// Close ends it.
func (p *WebPush) Close() { p.server.close() }

// Subscribe makes a browser of that name, which gets a new endpoint's keys each time.
// vapidKey is the public key that it is for; "" takes any.
func (p *WebPush) Subscribe(name, vapidKey string) (Subscription, error) {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return Subscription{}, err
	}
	b := &browser{key: key, auth: make([]byte, 16), vapid: vapidKey}
	_, _ = rand.Read(b.auth) // never fails
	p.mu.Lock()
	defer p.mu.Unlock()
	p.browsers[name] = b
	enc := base64.RawURLEncoding
	return Subscription{p.URL() + "/push/" + name, enc.EncodeToString(key.PublicKey().Bytes()), enc.EncodeToString(b.auth)}, nil
}

// Unsubscribe ends a browser's subscription.
func (p *WebPush) Unsubscribe(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.browsers, name)
}

func (p *WebPush) push(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	if err != nil {
		return
	}
	p.mu.Lock()
	b := p.browsers[r.PathValue("browser")]
	p.sent++
	id := p.URL() + "/message/" + strconv.Itoa(p.sent)
	p.mu.Unlock()
	g := Got{Channel: ChannelWebPush, Address: p.URL() + r.URL.Path, Key: r.Header.Get("Topic"), ID: id}
	if ttl, err := strconv.Atoi(r.Header.Get("TTL")); err == nil {
		g.Expires = p.now().Add(time.Duration(ttl) * time.Second)
	}
	status := p.check(r, b, body)
	if status == 0 && !p.phones.counting() {
		status = b.open(&g, body)
	}
	var answer Answer
	if status != 0 {
		answer = p.refuse(g, Answer{Status: status})
	} else {
		answer = p.take(g, http.StatusCreated)
	}
	if !answer.think(r.Context()) {
		return
	}
	if answer.Status == 0 {
		w.Header().Set("Location", id)
		w.WriteHeader(http.StatusCreated)
		return
	}
	answer.write(w, "")
}

var topic = regexp.MustCompile(`^[A-Za-z0-9_-]{0,32}$`)

// check is the status of a refusal, or 0.
func (p *WebPush) check(r *http.Request, b *browser, body []byte) int {
	ttl, err := strconv.Atoi(r.Header.Get("TTL"))
	switch urgency := r.Header.Get("Urgency"); {
	case b == nil:
		return http.StatusGone
	case err != nil || ttl < 0, !topic.MatchString(r.Header.Get("Topic")), r.Header.Get("Content-Encoding") != "aes128gcm":
		return http.StatusBadRequest
	case urgency != "" && urgency != "very-low" && urgency != "low" && urgency != "normal" && urgency != "high":
		return http.StatusBadRequest
	case len(body) > 4096:
		return http.StatusRequestEntityTooLarge
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return b.vouch(r.Header.Get("Authorization"), p.URL(), p.now())
}

// vouch checks VAPID: "vapid t=<JWT>, k=<key>".
func (b *browser) vouch(header, origin string, now time.Time) int {
	if header != "" && header == b.seen && now.Before(b.until) {
		return 0
	}
	rest, ok := strings.CutPrefix(header, "vapid t=")
	token, key, both := strings.Cut(rest, ", k=")
	if !ok || !both {
		return http.StatusUnauthorized
	}
	point, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil || b.vapid != "" && key != b.vapid {
		return http.StatusForbidden
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return http.StatusForbidden
	}
	var claims jwt.RegisteredClaims
	_, err = jwt.NewParser(jwt.WithValidMethods([]string{"ES256"}), jwt.WithAudience(origin), jwt.WithExpirationRequired(),
		jwt.WithTimeFunc(func() time.Time { return now })).ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return public, nil })
	if err != nil || claims.ExpiresAt.Sub(now) > 24*time.Hour || !strings.HasPrefix(claims.Subject, "mailto:") && !strings.HasPrefix(claims.Subject, "https:") {
		return http.StatusForbidden
	}
	b.seen, b.until, b.vapid = header, claims.ExpiresAt.Time, key
	return 0
}

// open decrypts a message; what cannot be read is a 400.
func (b *browser) open(g *Got, body []byte) int {
	text, err := b.decrypt(body)
	if err != nil {
		return http.StatusBadRequest
	}
	var m struct{ ID, Title, Body, URL string }
	if json.Unmarshal(text, &m) == nil {
		g.ItemID, g.Title, g.Body, g.URL = m.ID, m.Title, m.Body, m.URL
	}
	g.Payload = text
	return 0
}

var errSealed = errors.New("not a message for this browser")

// decrypt is RFC 8291 from the browser's side.
func (b *browser) decrypt(body []byte) ([]byte, error) {
	if len(body) < 21 || len(body) < 21+int(body[20]) || binary.BigEndian.Uint32(body[16:20]) < uint32(len(body)-21-int(body[20])) {
		return nil, errSealed
	}
	salt, sender, sealed := body[:16], body[21:21+int(body[20])], body[21+int(body[20]):]
	public, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return nil, err
	}
	secret, err := b.key.ECDH(public)
	if err != nil {
		return nil, err
	}
	info := "WebPush: info\x00" + string(b.key.PublicKey().Bytes()) + string(sender)
	ikm, err := hkdf.Key(sha256.New, secret, b.auth, info, 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	return unseal(key, nonce, sealed)
}

func unseal(key, nonce, sealed []byte) ([]byte, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	padded, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, err
	}
	text := strings.TrimRight(string(padded), "\x00")
	if !strings.HasSuffix(text, "\x02") {
		return nil, errSealed
	}
	return []byte(text[:len(text)-1]), nil
}
