package callback

import (
	"encoding/hex"
	"regexp"
	"strings"
	"time"

	"fanline/delivery"
	"fanline/notifier"
)

// EmailCall is what a mail service tells of one mail.
type EmailCall struct {
	Event     string `json:"event"`
	MessageID string `json:"message_id"` // the header as Fanline wrote it
	Bounce    string `json:"bounce,omitempty"`
	Code      string `json:"code,omitempty"` // enhanced, as 5.1.1
	Email     string `json:"email,omitempty"`
}

// Email reads the calls of a mail service.
type Email struct{ Secret []byte }

// dead are the codes that say that there is no such mailbox. A permanent bounce
// without a code is one; with another, it was about us or about that mail.
var (
	dead     = map[string]bool{"": true, "5.1.1": true, "5.1.10": true, "5.2.1": true}
	codeForm = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}$`)
)

// Read takes a call apart.
func (e *Email) Read(now time.Time, c *delivery.Call) (delivery.Told, error) {
	id, err := verify(e.Secret, now, c)
	if err != nil {
		return delivery.Told{}, err
	}
	var call EmailCall
	if err := decode(c.Body, &call); err != nil {
		return delivery.Told{}, err
	}
	r, err := call.report()
	if err != nil {
		return delivery.Told{}, err
	}
	return told(id, c, r), nil
}

func (e *EmailCall) report() (*delivery.Report, error) {
	key, ok := keyOfMessage(e.MessageID)
	if !ok {
		return nil, bad("message_id", "must be the Message-ID that the mail was sent with")
	}
	var to delivery.Profile
	if err := to.SetEmail(e.Email); err != nil {
		return nil, err
	}
	r := &delivery.Report{Channels: []notifier.Channel{notifier.Email}, Key: &key, Address: to.Email}
	switch e.Event {
	case "delivered":
		r.Phase = notifier.PhaseDelivered
	case "complained":
		// It came, or nobody could complain.
		r.Phase, r.Reason, r.Complaint = notifier.PhaseDelivered, "complaint", true
	case "bounced":
		return r, e.bounced(r)
	default:
		return nil, bad("event", "must be delivered, bounced or complained")
	}
	return r, nil
}

// bounced: a permanent bounce is about the mailbox, a transient one about today, and
// one that the service cannot tell about neither until it says more.
func (e *EmailCall) bounced(r *delivery.Report) error {
	if e.Code != "" && !codeForm.MatchString(e.Code) {
		return bad("code", "must be an enhanced status code such as 5.1.1")
	}
	switch e.Bounce {
	case "permanent":
		if dead[e.Code] {
			r.Verdict = delivery.AddressDead
		}
	case "transient", "undetermined":
	default:
		return bad("bounce", "must be permanent, transient or undetermined")
	}
	r.Phase, r.Reason = notifier.PhaseBounced, strings.TrimSpace(e.Bounce+" "+e.Code)
	return nil
}

// keyOfMessage is the delivery's key in a Message-ID.
func keyOfMessage(id string) (notifier.DeliveryKey, bool) {
	id = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(id), "<"), ">")
	local, _, ok := strings.Cut(id, "@")
	key, found := parseKey(local)
	return key, ok && found
}

func parseKey(s string) (key notifier.DeliveryKey, ok bool) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(key) {
		return key, false
	}
	return notifier.DeliveryKey(b), true
}

func bad(field, detail string) error {
	return &delivery.BadInput{Field: field, Detail: field + " " + detail}
}
