package apns

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fanline/delivery/call"
)

// line is the way to one address of APNs.
type line struct {
	base string

	mu   sync.Mutex
	link *link
}

// link is one connection, in which APNs has accepted a provider token or not yet.
type link struct {
	client *http.Client
	first  chan struct{} // held by the one request until then
	proven atomic.Bool
}

func newLine(base string) *line { return &line{base: base, link: newLink(base)} }

func newLink(base string) *link {
	protocols := new(http.Protocols)
	if strings.HasPrefix(base, "http://") {
		protocols.SetUnencryptedHTTP2(true)
	} else {
		protocols.SetHTTP2(true)
	}
	return &link{first: make(chan struct{}, 1), client: &http.Client{
		Transport: &http.Transport{
			Protocols: protocols, Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 5 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			HTTP2: &http.HTTP2Config{
				StrictMaxConcurrentRequests: true, SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second,
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (l *line) current() *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.link
}

// renew leaves a connection: requests under way on it finish, later ones take
// another.
func (l *line) renew(left *link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.link != left {
		return
	}
	l.link = newLink(l.base)
	left.client.CloseIdleConnections()
}

func (l *line) close() { l.current().client.CloseIdleConnections() }

func (l *line) do(req *http.Request) (*call.Answer, *link, error) {
	k := l.current()
	if !k.proven.Load() {
		select {
		case k.first <- struct{}{}:
		case <-req.Context().Done():
			return nil, k, errNotYet
		}
		if !k.proven.Load() {
			defer func() { <-k.first }()
		} else {
			<-k.first
		}
	}
	a, err := call.Do(k.client, req)
	if err == nil && a.Status != http.StatusForbidden {
		k.proven.Store(true)
	}
	return a, k, err
}
