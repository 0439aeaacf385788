package dial

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestOnlyThePublicNetworkIsDialled(t *testing.T) {
	t.Parallel()
	for ip, allowed := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "172.32.0.1": true, "100.128.0.1": true,
		"127.0.0.1": false, "127.8.8.8": false, "::1": false, "::ffff:127.0.0.1": false,
		"10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "::ffff:10.0.0.1": false, "fd00::1": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "0.0.0.0": false, "::": false, "100.64.0.1": false,
		"224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "64:ff9b::a00:1": false, "2002:a00:1::": false,
		"::7f00:1": false, "192.0.2.1": false, "198.18.0.1": false,
	} {
		if got := (Guard{}).Allows(netip.MustParseAddr(ip)); got != allowed {
			t.Errorf("%s: allowed %v, want %v", ip, got, allowed)
		}
	}
}

func TestOnlyHTTPSURLsAreCalled(t *testing.T) {
	t.Parallel()
	for u, allowed := range map[string]bool{
		"https://push.example/a": true, "https://push.example:8443/a": true, "https://8.8.8.8/": true,
		"http://push.example/a": false, "ftp://push.example": false, "push.example": false, "": false,
		"https://127.0.0.1/": false, "https://[::1]/": false, "https://10.0.0.1/": false, "http://127.0.0.1/": false,
		"https://user:pass@push.example/": false, "http://localhost/": false, "file:///etc/passwd": false,
	} {
		if err := (Guard{}).CheckURL(u); (err == nil) != allowed {
			t.Errorf("%s: %v, want allowed %v", u, err, allowed)
		}
	}
	if err := (Guard{AllowLoopback: true}).CheckURL("http://10.0.0.1/"); err == nil {
		t.Error("the allowance for loopback lets in a private address")
	}
}

// The name is fine, what it resolves to is not: only the dialler sees that.
func TestWhatANameResolvesToIsLookedAtWhenDialling(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	url := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	client := Guard{}.Client()
	if _, err := client.Get(url); !errors.Is(err, ErrForbidden) {
		t.Errorf("localhost was dialled: %v", err)
	}
	client = Guard{AllowLoopback: true}.Client()
	defer client.CloseIdleConnections()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect))
	defer s.Close()
	client := Guard{AllowLoopback: true}.Client()
	defer client.CloseIdleConnections()
	res, err := client.Post(s.URL, "text/plain", strings.NewReader("secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("%d", res.StatusCode)
	}
}
