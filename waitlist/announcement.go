package waitlist

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"time"
)

// MaxData is the size of the largest data that travels with an item, in bytes.
const MaxData = 4096

// NewAnnouncement is a message to everyone in a show's line, dormant ones too.
type NewAnnouncement struct {
	ID    string // "": one is made
	Title string
	Body  string
	// Data is a JSON object for the fan app, or nil.
	Data json.RawMessage
	// Channels take the place of what the fans prefer; nil: as they prefer. None
	// of them: it is in the inbox alone.
	Channels []string
}

// Announcement is one that was taken.
type Announcement struct {
	No     int64
	ShowNo int32
	ID     string
	// Strategy is how it reaches fans, as with an opening.
	Strategy Strategy
	// Decision and At are the moment to whose line it belongs: changes that the
	// decision did not see came after it.
	Decision int64
	At       time.Time
}

// Check returns an Error that names the first field that is not allowed.
func (a *NewAnnouncement) Check() error {
	if a.ID != "" {
		if err := CheckID("id", a.ID); err != nil {
			return err
		}
	}
	if err := CheckText("title", a.Title, true, MaxTitle); err != nil {
		return err
	}
	if err := CheckLines("body", a.Body, true, MaxBody); err != nil {
		return err
	}
	return CheckData("data", a.Data)
}

// CheckData returns an Error that names field unless data is nil or a JSON object
// of at most MaxData bytes without spaces.
func CheckData(field string, data json.RawMessage) error {
	if data == nil {
		return nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil || b.Bytes()[0] != '{' {
		return Wrong(field, "%s must be an object", field)
	}
	if b.Len() > MaxData {
		return Wrong(field, "%s has %d bytes; at most %d are allowed", field, b.Len(), MaxData)
	}
	return nil
}

// Fingerprint is what makes two announcements the same: all but the id. The order
// of data's fields is nothing.
func (a *NewAnnouncement) Fingerprint() ([]byte, error) {
	var data any
	if a.Data != nil {
		d := json.NewDecoder(bytes.NewReader(a.Data))
		d.UseNumber() // a number keeps all its digits
		if err := d.Decode(&data); err != nil {
			return nil, err
		}
	}
	b, err := json.Marshal([]any{a.Title, a.Body, data, a.Channels})
	sum := sha256.Sum256(b)
	return sum[:], err
}
