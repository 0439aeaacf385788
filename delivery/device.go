package delivery

import (
	"crypto/ecdh"
	"encoding/base64"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"fanline/notifier"
)

// MaxDevices is how many devices a fan can have; one more, and the one that was
// registered longest ago is forgotten.
const MaxDevices = 20

// maxToken bounds a token, in bytes. It is indexed.
const maxToken = 2000

// The environments of APNs.
const (
	Production = "production"
	Sandbox    = "sandbox"
)

// Device is where the push channels bring a fan's items.
type Device struct {
	ID       string
	Platform notifier.Channel // apns, fcm or webpush
	Token    string           // of Web Push, the endpoint
	// Environment and Topic are of APNs. An empty topic is the configured one.
	Environment, Topic string
	P256dh, Auth       string // of Web Push, base64url
	RegisteredAt       time.Time
	// Used is false for a device that is kept, but not sent to until it is
	// registered again.
	Used bool
}

// Address is the device as an address.
func (d *Device) Address() Address {
	return Address{
		Channel: d.Platform, To: d.Token, DeviceID: d.ID, Environment: d.Environment, Topic: d.Topic,
		P256dh: d.P256dh, Auth: d.Auth, RegisteredAt: d.RegisteredAt,
	}
}

// Check says with a *BadInput which field is not as it must be, and brings the
// others into the one form that they are stored in. local lets in endpoints of Web
// Push on this machine, in clear too: for development.
func (d *Device) Check(local bool) error {
	if err := d.checkToken(local); err != nil {
		return err
	}
	if d.Platform != notifier.APNs {
		if d.Topic != "" {
			return bad("topic", "is for apns; leave it out")
		}
		if d.Environment == Sandbox {
			return bad("environment", "is for apns; leave it out")
		}
		d.Environment = ""
		return nil
	}
	switch d.Environment {
	case "":
		d.Environment = Production
	case Production, Sandbox:
	default:
		return bad("environment", "must be production or sandbox")
	}
	if len(d.Topic) > 255 || strings.Trim(d.Topic, asciiLetters+"0123456789.-_") != "" {
		return bad("topic", "must be the app's bundle id, such as com.example.fans")
	}
	return nil
}

const asciiLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func (d *Device) checkToken(local bool) error {
	switch {
	case !d.Platform.IsPush():
		return bad("platform", "must be apns, fcm or webpush")
	case d.Token == "":
		return bad("token", "is required: what the platform gave the app; for webpush, the subscription's endpoint")
	case len(d.Token) > maxToken:
		return bad("token", "is longer than %d bytes; it is not what the platform gave", maxToken)
	case strings.ContainsFunc(d.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return bad("token", "holds spaces or other characters that no token has; send it as the platform gave it")
	}
	if d.Platform != notifier.WebPush && (d.P256dh != "" || d.Auth != "") {
		return bad("keys", "is for webpush; leave it out")
	}
	switch d.Platform {
	case notifier.APNs:
		return d.checkAPNs()
	case notifier.WebPush:
		return d.checkWebPush(local)
	}
	return nil
}

// checkAPNs: their tokens are bytes of a length that is not promised; in one case
// they are one token whoever wrote it.
func (d *Device) checkAPNs() error {
	if len(d.Token) < 16 || len(d.Token)%2 != 0 || strings.Trim(d.Token, "0123456789abcdefABCDEF") != "" {
		return bad("token", "must be APNs' token in hexadecimal, without spaces or brackets")
	}
	d.Token = strings.ToLower(d.Token)
	return nil
}

func (d *Device) checkWebPush(local bool) error {
	if err := d.checkEndpoint(local); err != nil {
		return err
	}
	key, err := decodeKey(d.P256dh)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(key)
	}
	if err != nil {
		return bad("keys.p256dh", "must be the subscription's key p256dh, in base64url: a point of P-256, 65 bytes")
	}
	auth, err := decodeKey(d.Auth)
	if err != nil || len(auth) != 16 {
		return bad("keys.auth", "must be the subscription's key auth, in base64url: 16 bytes")
	}
	d.P256dh, d.Auth = base64.RawURLEncoding.EncodeToString(key), base64.RawURLEncoding.EncodeToString(auth)
	return nil
}

func (d *Device) checkEndpoint(local bool) error {
	u, err := url.Parse(d.Token)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return bad("token", "must be the subscription's endpoint, an https address")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); local && err == nil && ip.IsLoopback() && (u.Scheme == "http" || u.Scheme == "https") {
		return nil
	}
	if u.Scheme != "https" {
		return bad("token", "must be the subscription's endpoint, an https address")
	}
	if !publicName(u.Hostname()) {
		return bad("token", "must name the push service's public host")
	}
	return nil
}

// decodeKey reads base64, url-safe or not, padded or not: browsers and their
// libraries differ.
func decodeKey(s string) ([]byte, error) {
	s = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(s, "="))
	return base64.RawURLEncoding.DecodeString(s)
}

// publicName says whether a host can be one of the Internet by its name alone; what
// it resolves to is seen when it is dialled.
func publicName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(host); err == nil || !isDomain(host) {
		return false // no push service goes by a bare address
	}
	for _, suffix := range []string{".localhost", ".local", ".internal", ".home.arpa", ".test", ".invalid", ".onion"} {
		if strings.HasSuffix(host, suffix) {
			return false
		}
	}
	return true
}
