package fcm

import (
	"encoding/json"
	"strconv"
	"time"

	"fanline/delivery"
	"fanline/notifier"
)

// longest is the most that FCM keeps a message.
const longest = 2_419_200 * time.Second

type request struct {
	Message message `json:"message"`
}

type message struct {
	Token        string            `json:"token"`
	Notification notification      `json:"notification"`
	Data         map[string]string `json:"data"`
	Android      android           `json:"android"`
}

type notification struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

type android struct {
	CollapseKey  string `json:"collapse_key"`
	Priority     string `json:"priority"`
	TTL          string `json:"ttl"`
	Notification struct {
		Tag string `json:"tag"`
	} `json:"notification"`
}

// payload is the whole request; all of it is kept within what FCM allows a message.
func payload(e *delivery.Envelope, now time.Time) ([]byte, error) {
	a := android{CollapseKey: e.Key.String(), Priority: "HIGH", TTL: ttl(e.Expires.Sub(now))}
	a.Notification.Tag = e.Key.String()
	if e.Item.Lane == notifier.Bulk {
		a.Priority = "NORMAL"
	}
	extra := strs(delivery.ExtraOf(e))
	return delivery.Fit(delivery.PushBytes, &e.Item, func(title, body string, data json.RawMessage) ([]byte, error) {
		delete(extra, "data")
		if len(data) > 0 {
			extra["data"] = string(data)
		}
		return delivery.JSON(request{message{e.Address.To, notification{title, body}, extra, a}})
	})
}

func ttl(left time.Duration) string {
	left = min(max(left, 0), longest)
	return strconv.FormatInt(int64(left/time.Second), 10) + "s"
}

// strs are the fields as FCM's data has them: strings. None has a reserved name.
func strs(x delivery.Extra) map[string]string {
	all := map[string]string{
		"id": x.ID, "kind": string(x.Kind), "type": x.Type, "lane": string(x.Lane), "show_id": x.ShowID,
		"opening_id": x.OpeningID, "state": string(x.State), "url": x.URL,
	}
	if x.Seats > 0 {
		all["seats"] = strconv.Itoa(x.Seats)
	}
	for name, at := range map[string]*notifier.Stamp{"opens_at": x.OpensAt, "closes_at": x.ClosesAt} {
		if at != nil {
			all[name] = at.String()
		}
	}
	for name, value := range all {
		if value == "" {
			delete(all, name)
		}
	}
	return all
}
