package admin

import (
	"crypto/sha256"
	"net/http"
	"net/netip"
	"strings"
)

// loginPair are the hashes that tries to log in are counted under.
type loginPair struct{ name, address []byte }

func loginFrom(r *http.Request, name string) loginPair {
	n, a := sha256.Sum256([]byte(name)), sha256.Sum256([]byte("address\x00"+network(r)))
	return loginPair{n[:], a[:]}
}

// network is where a request comes from: its address, or of IPv6 the network that one
// customer has. A proxy of our own side, which has an address that is not public, is
// believed whom it got the request from; what others write into the header is not.
func network(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return "unknown"
	}
	addr := peer.Addr().Unmap()
	if addr.IsLoopback() || addr.IsPrivate() {
		all := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if from, err := netip.ParseAddr(strings.TrimSpace(all[len(all)-1])); err == nil {
			addr = from.Unmap()
		}
	}
	addr = addr.WithZone("")
	if addr.Is6() {
		prefix, _ := addr.Prefix(64) // never fails for 64
		return prefix.String()
	}
	return addr.String()
}
