package email

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"
	"time"

	"fanline/delivery"
	"fanline/delivery/call"
)

// Between attempts there are minutes, which double up to half an hour.
const (
	leastWait = time.Minute
	mostWait  = 30 * time.Minute
)

// dead are the enhanced codes that say that there is no such mailbox.
var dead = map[string]bool{"5.1.1": true, "5.1.10": true, "5.2.1": true}

// verdict is what became of a message.
func (p *Provider) verdict(err error, e *delivery.Envelope, began time.Time) delivery.Verdict {
	if err == nil {
		return delivery.Verdict{Outcome: delivery.Accepted, ID: p.messageID(e), Reason: "250"}
	}
	var f *failure
	if !errors.As(err, &f) {
		return delivery.Verdict{Outcome: delivery.Retry, Reason: call.Reason(err)}
	}
	var said *textproto.Error
	if !errors.As(f.err, &said) {
		return f.silent(e.Attempt)
	}
	code := enhanced(said.Msg)
	v := delivery.Verdict{Outcome: classify(f.stage, said.Code, code), Reason: strings.TrimSpace(strconv.Itoa(said.Code) + " " + code)}
	switch v.Outcome {
	case delivery.AddressDead:
		v.DeadSince = began
	case delivery.Retry:
		v.RetryAfter = wait(e.Attempt)
	}
	return v
}

// silent is the verdict where the server did not answer.
func (f *failure) silent(attempt int) delivery.Verdict {
	v := delivery.Verdict{Outcome: delivery.Retry, Reason: call.Reason(f.err), RetryAfter: wait(attempt)}
	switch {
	case f.stage == answer:
		v.Outcome = delivery.Unsure
	case f.stage == dialling && ours(f.err):
		v = delivery.Verdict{Outcome: delivery.Misconfigured, Reason: "no TLS or login: " + v.Reason}
	}
	return v
}

// ours says whether a connection failed for what is configured: TLS or the login.
func ours(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false
	}
	var (
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		record  tls.RecordHeaderError
		network *net.OpError
	)
	switch {
	case errors.As(err, &cert), errors.As(err, &unknown), errors.As(err, &record):
		return true
	case errors.As(err, &network):
		return false
	}
	text := strings.ToUpper(err.Error()) // go-mail has no types for these
	return strings.Contains(text, "STARTTLS") || strings.Contains(text, "AUTH") || strings.Contains(text, "UNENCRYPTED")
}

var enhancedCode = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}\b`)

// enhanced is the code that a text begins with; "" without one.
func enhanced(text string) string { return enhancedCode.FindString(text) }

func classify(at stage, code int, enhanced string) delivery.Outcome {
	switch {
	case code/100 == 4:
		return delivery.Retry
	case at == dialling:
		return delivery.Misconfigured // the greeting or the login
	case dead[enhanced]:
		return delivery.AddressDead
	case code == 530, code == 535, code == 538:
		return delivery.Misconfigured // it wants TLS or a login
	case at == greeting && code != 552 && !strings.HasPrefix(enhanced, "5.3."):
		return delivery.Misconfigured // our sender's address
	}
	return delivery.Refused
}

func wait(attempt int) time.Duration {
	return min(mostWait, leastWait<<min(max(attempt-1, 0), 10))
}
