package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	"fanline/delivery/dial"
	"fanline/notifier"
)

const (
	// callTime bounds a call.
	callTime = 10 * time.Second
	// mostAnswer is how much of an answer is read, so that its connection can be
	// used again.
	mostAnswer = 16 << 10
)

// schedule is how long to wait after each failed attempt: that of Standard Webhooks,
// about three days in all.
var schedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// wait is how long to wait after that many failures before another one, up to a
// fifth longer than the schedule says, so that not all come back at once. last says
// that the schedule is at its end.
func wait(failed int) (d time.Duration, last bool) {
	if failed >= len(schedule) {
		return 0, true
	}
	d = schedule[failed]
	return d + rand.N(d/5), false
}

// errGone: the endpoint says that it wants no more.
var errGone = errors.New("answered 410")

// Sign is the signature of a body, as the header webhook-signature has it.
func Sign(secret []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	_, _ = fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// send makes one attempt. Its error says briefly what went wrong, and nothing of
// the address.
func (s *Sender) send(ctx context.Context, e *notifier.Endpoint, ev *notifier.StreamEvent) error {
	body, err := json.Marshal(ev)
	if err != nil {
		return errors.New("the event cannot be written")
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL cannot be called")
	}
	now := time.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Fanline")
	req.Header.Set("Webhook-Id", ev.ID)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("Webhook-Signature", Sign(e.Secret, ev.ID, now, body))
	res, err := s.client.Do(req)
	if err != nil {
		return reasonOf(err)
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, mostAnswer)
	switch {
	case res.StatusCode == http.StatusGone:
		return errGone
	case res.StatusCode < 200 || res.StatusCode > 299:
		return fmt.Errorf("answered %d", res.StatusCode)
	}
	return nil
}

// reasonOf is what went wrong in a call without an answer.
func reasonOf(err error) error {
	var timeout net.Error
	var name *net.DNSError
	switch {
	case errors.Is(err, dial.ErrForbidden):
		return dial.ErrForbidden
	case errors.As(err, &name):
		return errors.New("its name was not found")
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("no answer in time")
	}
	return errors.New("no connection")
}
