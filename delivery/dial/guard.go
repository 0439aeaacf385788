package dial

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// ErrForbidden is that of an address that is not of the public network.
var ErrForbidden = errors.New("not an address of the public network")

// Guard says where connections may go.
type Guard struct {
	// AllowLoopback also lets in this machine, and http:// to it: for development.
	AllowLoopback bool
}

// reserved are the networks, beside private, loopback and link-local ones, that are
// not public, or through which others could be reached.
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "fec0::/10",
)

func prefixes(list ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(list))
	for i, p := range list {
		all[i] = netip.MustParsePrefix(p)
	}
	return all
}

// Allows says whether a connection to ip may be made.
func (g Guard) Allows(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if ip.IsLoopback() {
		return g.AllowLoopback
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// CheckURL refuses a URL that is not https, or that names a forbidden address.
// What its name resolves to is looked at when it is dialled.
func (g Guard) CheckURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("not a URL that can be called")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	isIP := err == nil
	if isIP && !g.Allows(ip) {
		return ErrForbidden
	}
	switch {
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && g.AllowLoopback && (u.Hostname() == "localhost" || isIP && ip.Unmap().IsLoopback()):
		return nil
	}
	return errors.New("not an https URL")
}

// Control is a net.Dialer's: it refuses a socket to a forbidden address.
func (g Guard) Control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForbidden, err)
	}
	if !g.Allows(to.Addr()) {
		return ErrForbidden
	}
	return nil
}

// Client is an HTTP client that connects to allowed addresses alone. A redirect is
// its answer, not followed. The caller closes its idle connections at the end.
func (g Guard) Client() *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second, Control: g.Control}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConns: 200, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
