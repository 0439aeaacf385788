package apns

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"time"

	"fanline/delivery"
	"fanline/delivery/call"
)

// remedy is what an answer asks for beside its verdict.
type remedy int

const (
	none remedy = iota
	newToken
	oldToken
	newConnection  // and try again on it
	dropConnection // it is of no use to later ones either
)

// answer is what became of an attempt.
type answer struct {
	env     *delivery.Envelope
	topic   string // the configured one
	began   time.Time
	verdict delivery.Verdict
	remedy  remedy
}

// busyWait is how long Apple says to wait after a 500 or 503.
const busyWait = 15 * time.Minute

func (a *answer) read(res *call.Answer) {
	if res.Status == http.StatusOK {
		a.verdict = delivery.Verdict{Outcome: delivery.Accepted, ID: res.Header.Get("apns-id"), Reason: "200"}
		if a.verdict.ID == "" {
			a.verdict.ID = uuid(a.env.Key)
		}
		return
	}
	var body struct {
		Reason    string `json:"reason"`
		Timestamp int64  `json:"timestamp"`
	}
	_ = json.Unmarshal(res.Body, &body) // without a reason the status alone decides
	a.classify(res.Status, body.Reason)
	a.verdict.Reason = call.Words(res.Status, body.Reason)
	if after := call.RetryAfter(res.Header, time.Now()); after > 0 {
		a.verdict.RetryAfter = after
	}
	if a.verdict.Outcome == delivery.AddressDead {
		a.verdict.DeadSince = a.began
		if body.Timestamp > 0 {
			a.verdict.DeadSince = time.UnixMilli(body.Timestamp).UTC()
		}
	}
}

// classify is what a reason means; one that is not known goes by its status.
func (a *answer) classify(status int, reason string) {
	v := &a.verdict
	switch reason {
	case "BadDeviceToken":
		v.Outcome = delivery.OtherEnvironment
	case "DeviceTokenNotForTopic", "BadTopic", "TopicDisallowed":
		v.Outcome = a.topicFault(reason)
	case "PayloadTooLarge":
		v.Outcome = delivery.Refused
	case "Unregistered", "ExpiredToken":
		v.Outcome = delivery.AddressDead
	case "ExpiredProviderToken":
		v.Outcome, a.remedy = delivery.Misconfigured, newToken
	case "TooManyProviderTokenUpdates":
		v.Outcome, v.RetryAfter, a.remedy = delivery.Retry, time.Minute, oldToken
	case "UnrelatedKeyIdInToken":
		v.Outcome, a.remedy = delivery.Misconfigured, newConnection
	case "InvalidProviderToken", "MissingProviderToken":
		v.Outcome, a.remedy = delivery.Misconfigured, dropConnection
	case "TooManyRequests":
		v.Outcome, v.RetryAfter = delivery.AddressThrottled, time.Minute
	case "IdleTimeout":
		v.Outcome = delivery.Retry
	default:
		a.byStatus(status)
	}
}

// topicFault: a topic that came with the device is that device's trouble, the
// configured one is ours. That a token is not for a topic is about the two of them,
// and never about all devices.
func (a *answer) topicFault(reason string) delivery.Outcome {
	own := a.env.Address.Topic != "" && a.env.Address.Topic != a.topic
	if own || reason == "DeviceTokenNotForTopic" {
		return delivery.Refused
	}
	return delivery.Misconfigured
}

func (a *answer) byStatus(status int) {
	v := &a.verdict
	switch {
	case status == http.StatusGone:
		v.Outcome = delivery.AddressDead
	case status == http.StatusRequestEntityTooLarge:
		v.Outcome = delivery.Refused
	case status == http.StatusTooManyRequests:
		v.Outcome, v.RetryAfter = delivery.AddressThrottled, time.Minute
	case status >= 500:
		// It may have been taken; the collapse id makes one of two.
		v.Outcome, v.RetryAfter = delivery.Unsure, busyWait
	default: // what is left of 400, 403, 404 and 405 is our key or our mistake
		v.Outcome = delivery.Misconfigured
	}
}

// goneAway finds the reason that APNs gives when it ends a connection (GOAWAY). The
// standard library has it in the error's text alone.
var goneAway = regexp.MustCompile(`GOAWAY.*reason\W+([A-Za-z]{1,40})`)

// lost is an attempt without an answer.
func (a *answer) lost(err error) {
	a.verdict = call.Failed(err)
	if errors.Is(err, errNotYet) {
		a.verdict.Reason = "timeout"
		return
	}
	m := goneAway.FindStringSubmatch(err.Error())
	if m == nil {
		return
	}
	a.verdict.Reason = "GOAWAY " + m[1]
	switch m[1] {
	case "ExpiredProviderToken":
		a.remedy = newToken
	case "TooManyProviderTokenUpdates":
		a.remedy = oldToken
	case "UnrelatedKeyIdInToken":
		a.remedy = newConnection
	case "InvalidProviderToken", "MissingProviderToken", "Forbidden":
		a.verdict.Outcome, a.remedy = delivery.Misconfigured, dropConnection
	}
}
