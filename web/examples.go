package web

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
)

// examples are of fields by name, or by schema and name where that differs, for
// those that say none themselves: a name means the same everywhere.
var examples = map[string]any{
	"ahead":                     6,
	"all_before":                "2026-08-30T18:00:00.000Z",
	"at":                        "2026-08-30T18:04:12.250Z",
	"body":                      "2 seats at The Locksmith can be yours for 10 minutes, until 20:04 BST.",
	"by_s":                      120,
	"claim_id":                  "clm_4PJ2ZK7Q3XWN",
	"claim_window_s":            600,
	"claimed_at":                "2026-08-30T18:05:40.100Z",
	"closes_at":                 "2026-08-30T18:14:12.250Z",
	"created_at":                "2026-08-30T18:04:12.250Z",
	"data":                      map[string]any{"gate": "B"},
	"detail":                    "party_size must be 1 to 20",
	"entry":                     1042,
	"existing":                  3,
	"expires_at":                "2026-08-30T18:15:40.100Z",
	"fan_id":                    "ada@example.com",
	"fans":                      2,
	"fans_per_seat":             1.5,
	"final_at":                  "2026-08-30T18:09:01.000Z",
	"from_place":                7,
	"hold_s":                    600,
	"imported":                  997,
	"joined_at":                 "2026-07-01T09:00:00.000Z",
	"labels":                    []string{"A-1", "A-2"},
	"line":                      17,
	"max_missed":                3,
	"next_cursor":               "eyJ2IjoxLCJvZiI6InNob3dzIn0",
	"number":                    1,
	"openings_open":             1,
	"opening_id":                "freed-7",
	"opens_at":                  "2026-08-30T18:04:12.250Z",
	"party_size":                2,
	"place":                     1042,
	"position":                  7,
	"quantity":                  2,
	"read_at":                   "2026-08-30T18:05:02.000Z",
	"reason":                    "stood in the wrong line",
	"recorded_at":               "2026-08-30T18:04:11.900Z",
	"rejected":                  1,
	"release_per_s":             50,
	"sales_close_at":            "2026-09-01T18:00:00.000Z",
	"seats":                     2,
	"seats_free":                1,
	"seats_held":                1,
	"seats_left":                2,
	"show_id":                   "tuesday-42",
	"tier":                      "floor",
	"title":                     "Your turn for Tuesday Night",
	"to_place":                  8,
	"told":                      2,
	"type":                      "payment_confirmed",
	"unread":                    1,
	"url":                       "https://tickets.example/{show}/{opening}",
	"version":                   "v1.0.0",
	"waiting":                   1250,
	"announcement":              []string{"live", "push"},
	"auth":                      "BTBZMqHH6r4Tts7J_aSIgg",
	"email":                     "ada@example.com",
	"locale":                    "en-GB",
	"message":                   []string{"live", "push"},
	"phone":                     "+442079460018",
	"registered_at":             "2026-08-12T09:30:00.000Z",
	"time_zone":                 "Europe/London",
	"topic":                     "com.example.fans",
	"turn":                      []string{"live", "push", "sms"},
	"AnnouncementRequest.title": "Doors at eight",
	"AnnouncementRequest.body":  "The support act is on at half past.",
	"Claim.id":                  "clm_4PJ2ZK7Q3XWN",
	"Template.title":            "Your turn for {show}",
	"Template.body":             "{seats} at {venue} until {closes_at}: {url}",
	"ReleaseRequest.reason":     "changed their mind",
	"TurnRequest.reason":        "promised at the box office",
	"Opening.told":              3,
	"Wave.skipped":              map[string]int{"dormant": 1},
	"Health.checks":             map[string]string{"postgres": "ok"},

	"failing_since":               "2026-08-30T18:04:12.250Z",
	"Notification.id":             "msg:ntf_4PJ2ZK7Q3XWN",
	"Notification.kind":           "message",
	"Notification.lane":           "transactional",
	"Notification.state":          "",
	"NotificationResults.results": []any{map[string]any{"status": 202, "id": "ntf_4PJ2ZK7Q3XWN", "duplicate": false}},
}

// bodies are an example of the body of each call that takes one. All of them are
// accepted as they stand.
var bodies = map[string]string{
	"put-show": `{"name": "Tuesday Night", "venue": "The Locksmith", "starts_at": "2026-09-01T19:30:00Z",
		"time_zone": "Europe/London", "url": "https://tickets.example/{show}/{opening}", "policy": {"claim_window_s": 600}}`,
	"join":                 `{"fan_id": "ada@example.com", "party_size": 2}`,
	"change-entry":         `{"move": "front", "reason": "stood in the wrong line"}`,
	"put-opening":          `{"seats": ["A-1", "A-2"], "reason": "card_declined", "adjacent": true}`,
	"batch-openings":       `{"openings": [{"id": "freed-7", "quantity": 2, "reason": "hold_timeout"}, {"id": "freed-8", "seats": ["B-4"], "reason": "returned"}]}`,
	"give-turn":            `{"fan_id": "ada@example.com", "reason": "promised at the box office"}`,
	"claim":                `{"fan_id": "ada@example.com"}`,
	"release-claim":        `{"reason": "changed their mind"}`,
	"extend-claim":         `{"by_s": 120}`,
	"announce":             `{"id": "doors-at-eight", "title": "Doors at eight", "body": "The support act is on at half past.", "data": {"gate": "B"}, "channels": ["live", "push"]}`,
	"sign-out":             `{"device": "adas-phone"}`,
	"put-webhook-endpoint": `{"url": "https://tickets.example/fanline", "types": ["claim.confirmed", "claim.released"]}`,
	"notify": `{"fan_id": "ada@example.com", "lane": "transactional", "type": "login_code", "title": "Your code is 402913",
		"body": "It is good for ten minutes.", "dedup_key": "login-7f3c", "channels": ["live", "push", "sms"]}`,
	"batch-notify": `{"notifications": [{"fan_id": "ada@example.com", "lane": "bulk", "type": "news", "title": "Doors at 7", "body": "Come early."},
		{"fan_id": "grace", "lane": "transactional", "type": "payment_confirmed", "title": "Paid", "body": "See you there."}]}`,
	"put-fan": `{"email": "ada@example.com", "phone": "020 7946 0018", "locale": "en-GB", "time_zone": "Europe/London",
		"channels": {"turn": ["live", "push", "sms"]}, "quiet_hours": {"from": "22:00", "to": "07:00"}, "digest": {"hour": 9}}`,
	"put-preferences": `{"channels": {"announcement": []}, "quiet_hours": {"from": "22:00", "to": "07:00"}, "turn_at_night": false, "digest": null}`,
	"put-device":      `{"platform": "apns", "token": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}`,
	"put-own-device": `{"platform": "webpush", "token": "https://push.example.com/send/dpH5lCsTSSM",
		"keys": {"p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", "auth": "BTBZMqHH6r4Tts7J_aSIgg"}}`,
	"opened-inbox":   `{"ids": ["turn:tuesday-42:freed-7"]}`,
	"callback-email": `{"event": "bounced", "message_id": "<8f14e45fceea167a5a36dedd4bea2543@tickets.example.com>", "bounce": "permanent", "code": "5.1.1"}`,
	"callback-push":  `{"event": "opened", "delivery": "8f14e45fceea167a5a36dedd4bea2543"}`,

	"read-inbox": `{"ids": ["turn:tuesday-42:freed-7"]}`,
}

// exemplify puts the examples into the document.
func exemplify(o *huma.OpenAPI) {
	for name, s := range o.Components.Schemas.Map() {
		for field, p := range s.Properties {
			example, ok := examples[name+"."+field]
			if !ok {
				example, ok = examples[field]
			}
			if ok && bare(p) {
				p.Examples = []any{example}
			}
		}
	}
	for _, item := range o.Paths {
		for _, op := range operations(item) {
			if body, ok := bodies[op.OperationID]; ok {
				op.RequestBody.Content["application/json"].Example = json.RawMessage(body)
			}
		}
	}
}

// bare says that a field has no example, and no list of values that makes one
// needless.
func bare(p *huma.Schema) bool {
	inner := p
	if p.Type == huma.TypeArray && p.Items != nil {
		inner = p.Items
	}
	return p.Ref == "" && inner.Ref == "" && len(p.AnyOf) == 0 && len(p.Examples) == 0 && len(inner.Enum) == 0 && p.Type != huma.TypeBoolean
}
