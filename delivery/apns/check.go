package apns

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
)

// Check connects. It sends nothing: APNs looks at the provider token only with an
// alert, and counts those to devices that do not exist.
func (p *Provider) Check(ctx context.Context) error {
	u, err := url.Parse(p.cfg.URL)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	address := net.JoinHostPort(u.Hostname(), port)
	dial := (&net.Dialer{}).DialContext
	if u.Scheme == "https" {
		dial = (&tls.Dialer{Config: &tls.Config{NextProtos: []string{"h2"}}}).DialContext
	}
	c, err := dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return c.Close()
}
