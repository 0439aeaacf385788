package apns

import (
	"encoding/json"

	"fanline/delivery"
	"fanline/notifier"
)

// payload is the alert, with what the app needs to open it.
func payload(e *delivery.Envelope) ([]byte, error) {
	return delivery.Fit(delivery.PushBytes, &e.Item, func(title, body string, data json.RawMessage) ([]byte, error) {
		return delivery.JSON(struct {
			APS aps `json:"aps"`
			delivery.Extra
			Data json.RawMessage `json:"data,omitempty"`
		}{
			aps{alert{title, body}, "default", e.Item.ShowID, interruption(e.Item.Lane)}, delivery.ExtraOf(e), data,
		})
	})
}

type aps struct {
	Alert        alert  `json:"alert"`
	Sound        string `json:"sound"`
	ThreadID     string `json:"thread-id,omitempty"`
	Interruption string `json:"interruption-level"`
}

type alert struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// interruption lets what cannot wait through a phone's focus.
func interruption(l notifier.Lane) string {
	if l == notifier.Bulk {
		return "active"
	}
	return "time-sensitive"
}
