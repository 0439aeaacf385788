package providers

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// FCMProject is the fake's project.
const FCMProject = "fake-project"

const fcmError = "type.googleapis.com/google.firebase.fcm.v1.FcmError"

// FCMConfig of a fake.
type FCMConfig struct {
	Addr   string // "" is a free port of loopback
	Phones *Phones
	Now    func() time.Time
}

// FCM is Firebase Cloud Messaging with Google's token address.
type FCM struct {
	service
	// Tokens scripts the token address; its address is "".
	Tokens Script

	server *server
	key    *rsa.PrivateKey

	mu     sync.Mutex
	issued map[string]time.Time // access tokens, with their end
	sent   int
}

// StartFCM starts it, with a service account of its own.
func StartFCM(cfg FCMConfig) (*FCM, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	f := &FCM{service: newService(cfg.Phones, cfg.Now), key: key, issued: map[string]time.Time{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", f.token)
	mux.HandleFunc("POST /v1/projects/{project}/{call}", f.send)
	f.server, err = listen(cfg.Addr, mux, nil, nil)
	return f, err
}

// URL is its base address.
func (f *FCM) URL() string { return f.server.url() }

// Close ends it.
func (f *FCM) Close() { f.server.close() }

// Credentials are those of its service account.
func (f *FCM) Credentials() string {
	der, err := x509.MarshalPKCS8PrivateKey(f.key)
	if err != nil {
		panic(err) // a key that was just made
	}
	b, _ := json.Marshal(map[string]string{
		"type": "service_account", "project_id": FCMProject, "client_email": "fake@fake-project.example",
		"private_key_id": "fake", "token_uri": f.URL() + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	return string(b)
}

// Issued is how many tokens of OAuth were fetched.
func (f *FCM) Issued() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.issued)
}

// Revoke ends every token of OAuth.
func (f *FCM) Revoke() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for token := range f.issued {
		f.issued[token] = time.Time{}
	}
}

const tokenLife = time.Hour

func (f *FCM) token(w http.ResponseWriter, r *http.Request) {
	a := f.Tokens.answer("")
	if !a.think(r.Context()) {
		return
	}
	if a.Status != 0 {
		a.write(w, `{"error":"`+a.Reason+`"}`)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, mostBody)
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithAudience(f.URL()+"/token"), jwt.WithExpirationRequired())
	_, err := parser.Parse(r.PostFormValue("assertion"), func(*jwt.Token) (any, error) { return &f.key.PublicKey, nil })
	if err != nil || r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		Answer{Status: 400}.write(w, `{"error":"invalid_grant"}`)
		return
	}
	token := "ya29." + rand.Text()
	f.mu.Lock()
	f.issued[token] = f.now().Add(tokenLife)
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%d}`, token, int(tokenLife/time.Second))
}

// fcmMessage is what the fake reads of a send.
type fcmMessage struct {
	Message struct {
		Token        string
		Notification struct{ Title, Body string }
		Data         map[string]string
		Android      struct {
			CollapseKey string `json:"collapse_key"`
			TTL         string
		}
	}
}

func (f *FCM) send(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	if err != nil {
		return
	}
	var m fcmMessage
	bad := json.Unmarshal(body, &m) != nil
	g := f.read(&m, body)
	answer, refused := f.check(r, &m, body, bad)
	if refused {
		answer = f.refuse(g, answer)
	} else {
		answer = f.take(g, http.StatusOK)
	}
	if !answer.think(r.Context()) {
		return
	}
	if answer.Status == 0 {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name":%q}`, g.ID)
		return
	}
	answer.write(w, fcmBody(answer))
}

func (f *FCM) read(m *fcmMessage, body []byte) Got {
	f.mu.Lock()
	f.sent++
	id := "projects/" + FCMProject + "/messages/" + strconv.Itoa(f.sent)
	f.mu.Unlock()
	g := Got{
		Channel: ChannelFCM, Address: m.Message.Token, Key: m.Message.Android.CollapseKey, ID: id,
		Title: m.Message.Notification.Title, Body: m.Message.Notification.Body,
		ItemID: m.Message.Data["id"], URL: m.Message.Data["url"],
	}
	if ttl, err := time.ParseDuration(m.Message.Android.TTL); err == nil {
		g.Expires = f.now().Add(ttl)
	}
	if !f.phones.counting() {
		g.Payload = body
	}
	return g
}

func (f *FCM) check(r *http.Request, m *fcmMessage, body []byte, bad bool) (Answer, bool) {
	refuse := func(status int, reason, word string) (Answer, bool) {
		a := Answer{Status: status, Reason: reason}
		a.Body = fmt.Sprintf(`{"error":{"code":%d,"status":%q,"message":"no"}}`, status, word)
		if reason != "" {
			a.Body = ""
		}
		return a, true
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	f.mu.Lock()
	end, known := f.issued[bearer]
	f.mu.Unlock()
	switch {
	case !known || f.now().After(end):
		return refuse(401, "", "UNAUTHENTICATED")
	case r.PathValue("project") != FCMProject || r.PathValue("call") != "messages:send":
		return refuse(404, "", "NOT_FOUND")
	case bad, m.Message.Token == "", len(m.Message.Notification.Title)+len(m.Message.Notification.Body)+weigh(m.Message.Data) > 4096:
		return refuse(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT")
	}
	if ttl, err := time.ParseDuration(m.Message.Android.TTL); err != nil || ttl < 0 || ttl > 2_419_200*time.Second {
		return refuse(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT")
	}
	for name := range m.Message.Data {
		if name == "from" || name == "message_type" || strings.HasPrefix(name, "gcm") || strings.HasPrefix(name, "google") {
			return refuse(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT")
		}
	}
	return Answer{}, false
}

func weigh(data map[string]string) (n int) {
	for k, v := range data {
		n += len(k) + len(v)
	}
	return n
}

// fcmBody is the error that FCM writes for an errorCode.
func fcmBody(a Answer) string {
	status := map[string]string{
		"UNREGISTERED": "NOT_FOUND", "SENDER_ID_MISMATCH": "PERMISSION_DENIED", "THIRD_PARTY_AUTH_ERROR": "UNAUTHENTICATED",
		"QUOTA_EXCEEDED": "RESOURCE_EXHAUSTED",
	}[a.Reason]
	if status == "" {
		status = a.Reason
	}
	if a.Reason == "" {
		return fmt.Sprintf(`{"error":{"code":%d,"message":"no","status":"UNKNOWN"}}`, a.Status)
	}
	return fmt.Sprintf(`{"error":{"code":%d,"message":"no","status":%q,"details":[{"@type":%q,"errorCode":%q}]}}`, a.Status, status, fcmError, a.Reason)
}
