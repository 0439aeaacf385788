package fcm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"
	oauthjwt "golang.org/x/oauth2/jwt"
	"golang.org/x/sync/singleflight"

	"fanline/delivery"
	"fanline/delivery/call"
)

const scope = "https://www.googleapis.com/auth/firebase.messaging"

// account is what we read of a service account's credentials.
type account struct {
	Type         string `json:"type"`
	ProjectID    string `json:"project_id"`
	ClientEmail  string `json:"client_email"`
	PrivateKey   string `json:"private_key"`
	PrivateKeyID string `json:"private_key_id"`
	TokenURI     string `json:"token_uri"`
}

func readAccount(credentials string) (a account, err error) {
	wrong := func(what string) (account, error) { return a, delivery.BadSetting("Credentials", what) }
	if json.Unmarshal([]byte(credentials), &a) != nil {
		return wrong("are not the JSON of a service account")
	}
	switch u, err := url.Parse(a.TokenURI); {
	case a.Type != "service_account":
		return wrong("must be those of a service account")
	case a.ClientEmail == "":
		return wrong("have no client_email")
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return wrong("have no token_uri")
	}
	if _, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(a.PrivateKey)); err != nil {
		return wrong("have no RSA private_key")
	}
	return a, nil
}

// tokens has the one token of OAuth.
type tokens struct {
	cfg    oauthjwt.Config
	ctx    context.Context // of fetches, which no caller's end may end
	cancel context.CancelFunc
	flight singleflight.Group
	busy   sync.WaitGroup

	mu     sync.Mutex
	token  *oauth2.Token
	closed bool
}

func newTokens(a account, client *http.Client) *tokens {
	// Not the client of sends: a fetch ends after its timeout, whoever waits.
	ctx, cancel := context.WithCancel(context.Background())
	fetching := &http.Client{
		Transport: stoppable{client.Transport, ctx}, CheckRedirect: client.CheckRedirect, Timeout: call.Timeout,
	}
	t := &tokens{cancel: cancel, cfg: oauthjwt.Config{
		Email: a.ClientEmail, PrivateKey: []byte(a.PrivateKey), PrivateKeyID: a.PrivateKeyID,
		Scopes: []string{scope}, TokenURL: a.TokenURI,
	}}
	t.ctx = context.WithValue(ctx, oauth2.HTTPClient, fetching)
	return t
}

// stoppable ends requests with a context of its own: x/oauth2 gives them none.
type stoppable struct {
	http.RoundTripper
	ctx context.Context
}

func (s stoppable) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(s.ctx, cancel)
	res, err := s.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	res.Body = &ending{res.Body, func() { stop(); cancel() }}
	return res, nil
}

// ending is a body that does something when it is closed.
type ending struct {
	io.ReadCloser
	end func()
}

func (e *ending) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}

// get returns the token there is, or fetches one; of many callers one does.
func (t *tokens) get(ctx context.Context) (string, error) {
	if token := t.current(); token != "" {
		return token, nil
	}
	if !t.enter() {
		return "", context.Canceled
	}
	fetched := t.flight.DoChan("", func() (any, error) { return t.fetch() })
	select {
	case r := <-fetched:
		t.busy.Done()
		if r.Err != nil {
			return "", r.Err
		}
		return r.Val.(string), nil
	case <-ctx.Done():
		t.busy.Go(func() { <-fetched })
		t.busy.Done()
		return "", ctx.Err()
	}
}

// enter lets close wait for a caller's fetch.
func (t *tokens) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.busy.Add(1)
	}
	return !t.closed
}

func (t *tokens) current() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token.Valid() { // with some seconds to spare
		return t.token.AccessToken
	}
	return ""
}

func (t *tokens) fetch() (string, error) {
	if token := t.current(); token != "" {
		return token, nil // one who came too late for the flight before
	}
	token, err := t.cfg.TokenSource(t.ctx).Token()
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = token
	return token.AccessToken, nil
}

// drop forgets a token that FCM did not take.
func (t *tokens) drop(refused string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != nil && t.token.AccessToken == refused {
		t.token = nil
	}
}

func (t *tokens) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.busy.Wait()
}

// unauthorized is the verdict where there is no token of OAuth: nothing was sent.
func unauthorized(err error) delivery.Verdict {
	v := delivery.Verdict{Outcome: delivery.Retry, Reason: "OAuth " + call.Reason(err)}
	if e := (*oauth2.RetrieveError)(nil); errors.As(err, &e) && e.Response != nil {
		status := e.Response.StatusCode
		v.Reason = "OAuth " + call.Words(status, e.ErrorCode)
		v.RetryAfter = call.RetryAfter(e.Response.Header, time.Now())
		if status >= 400 && status < 500 && status != http.StatusTooManyRequests {
			v.Outcome = delivery.Misconfigured
		}
	}
	return v
}
