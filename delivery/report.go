package delivery

import (
	"errors"
	"net/http"
	"time"

	"fanline/notifier"
)

// Call is a call that came for a service, as it came.
type Call struct {
	Query  string // what stood behind the "?"
	Header http.Header
	Body   []byte
}

// ErrNotGenuine: a call was not made by the service that it names, or is too old, or
// uses a nonce again for something else.
var ErrNotGenuine = errors.New("the call is not genuine")

// CallReader knows the calls of one service. Read changes nothing; its error for one
// that the service did not make is ErrNotGenuine, and for one that it did make but
// that says nothing a *BadInput.
type CallReader interface {
	Read(now time.Time, c *Call) (Told, error)
}

// Told is what one call says. Without a report and a wish it says nothing of
// interest.
type Told struct {
	Service string
	// Nonce is the call's own id, which a service uses once; "" without one.
	Nonce string
	// Body is a hash of what the call said: another body with the nonce is forged.
	Body   []byte
	Report *Report
	Wish   *Wish
}

// Report is what became of a delivery after its provider took it. It holds no text,
// and an address only where the provider's verdict is about that.
type Report struct {
	Channels []notifier.Channel `json:"channels"` // one of which is the delivery's
	// ProviderID or else Key names it.
	ProviderID string                `json:"provider_id,omitempty"`
	Key        *notifier.DeliveryKey `json:"key,omitempty"`
	Phase      notifier.Phase        `json:"phase"`
	Reason     string                `json:"reason,omitempty"` // short, of letters and digits
	// Verdict is AddressDead or OptedOut where the report is about the address too,
	// from Sender; Throttled where the provider wants less of us.
	Verdict Outcome `json:"verdict,omitempty"`
	Sender  string  `json:"sender,omitempty"`
	// Complaint: the owner called it spam. Nothing goes there any more, from anybody.
	Complaint bool `json:"complaint,omitempty"`
	// Address is where the provider says that it went; "" as it does not.
	Address string `json:"address,omitempty"`
}

// Wish is that the owner of an address wants nothing from a sender any more, or
// wants it again.
type Wish struct {
	ID      string // of the message that says so
	Channel notifier.Channel
	Address string
	Sender  string
	Stop    bool
}

// Heard is what a report came to.
type Heard struct {
	// Found: the delivery is there and was sent. Else it is tried again for a while.
	Found bool
	// News: it was not known before.
	News    bool
	Channel notifier.Channel
	Phase   notifier.Phase
	// Complained: an address that was in use is not any more.
	Complained bool
	// Opened is the id of the fan who opened the item; "" without one.
	Opened string
}
