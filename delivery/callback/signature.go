package callback

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fanline/delivery"
)

const (
	// window is how far a call's time may be from ours.
	window = 5 * time.Minute
	// mostID and mostSignatures bound what is looked at.
	mostID         = 256
	mostSignatures = 8
)

// Prefix stands before a secret as people get it.
const Prefix = "whsec_"

// SecretText is a secret as people get it.
func SecretText(secret []byte) string { return Prefix + base64.StdEncoding.EncodeToString(secret) }

// secretOf makes the secret of a kind of calls out of the database's: who holds that
// of one kind cannot sign another.
func secretOf(root []byte, kind string) []byte {
	mac := hmac.New(sha256.New, root)
	mac.Write([]byte("callbacks " + kind))
	return mac.Sum(nil)
}

// EmailSecret and PushSecret are those of the two kinds, made of the database's.
func EmailSecret(root []byte) []byte { return secretOf(root, "email") }

// PushSecret is that of calls about pushes.
func PushSecret(root []byte) []byte { return secretOf(root, "push") }

// verify returns the call's id, when the call is genuine and of now.
func verify(secret []byte, now time.Time, c *delivery.Call) (id string, err error) {
	id, stamp := only(c.Header, "Webhook-Id"), only(c.Header, "Webhook-Timestamp")
	at, err := strconv.ParseInt(stamp, 10, 64)
	if id == "" || len(id) > mostID || err != nil || len(secret) == 0 || !near(now, at) {
		return "", delivery.ErrNotGenuine
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(c.Body)
	want := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	genuine := false
	for i, given := range strings.Fields(only(c.Header, "Webhook-Signature")) {
		if i == mostSignatures {
			break
		}
		genuine = hmac.Equal(want, []byte(given)) || genuine
	}
	if !genuine {
		return "", delivery.ErrNotGenuine
	}
	return id, nil
}

// near says whether a time is within the window, however far away it is.
func near(now time.Time, at int64) bool {
	early, late := now.Add(-window).Unix(), now.Add(window).Unix()
	return early <= at && at <= late
}

// only is the value of a header that stands once; else "".
func only(h http.Header, name string) string {
	if v := h.Values(name); len(v) == 1 {
		return v[0]
	}
	return ""
}

// told is what a genuine call with that id says.
func told(id string, c *delivery.Call, r *delivery.Report) delivery.Told {
	sum := sha256.Sum256(c.Body)
	return delivery.Told{Nonce: id, Body: sum[:], Report: r}
}

// decode reads a body strictly.
func decode(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return &delivery.BadInput{Field: "body", Detail: "the body must be one JSON object with the fields of this call"}
	}
	if _, err := d.Token(); err != io.EOF {
		return &delivery.BadInput{Field: "body", Detail: "the body must be one JSON object and nothing more"}
	}
	return nil
}
