package fcm

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"fanline/delivery"
	"fanline/delivery/call"
)

// needsToken stands for the outcome of an answer that another token of OAuth may
// change. It never leaves the package.
const needsToken delivery.Outcome = "needs_token"

// Waits where FCM names none.
const (
	quotaWait = 60 * time.Second
	busyWait  = 10 * time.Second
)

// failure is an error's body.
type failure struct {
	Error struct {
		Status  string `json:"status"`
		Details []struct {
			Type       string `json:"@type"`
			ErrorCode  string `json:"errorCode"`
			Violations []struct {
				Field string `json:"field"`
			} `json:"fieldViolations"`
		} `json:"details"`
	} `json:"error"`
}

// code is that of the FcmError; "" without one.
func (f *failure) code() string {
	for _, d := range f.Error.Details {
		if strings.HasSuffix(d.Type, "google.firebase.fcm.v1.FcmError") {
			return d.ErrorCode
		}
	}
	return ""
}

// blamesToken says whether a violation names the token.
func (f *failure) blamesToken() bool {
	for _, d := range f.Error.Details {
		for _, v := range d.Violations {
			if v.Field == "message.token" {
				return true
			}
		}
	}
	return false
}

func read(res *call.Answer, began time.Time) delivery.Verdict {
	if res.Status == http.StatusOK {
		var sent struct {
			Name string `json:"name"`
		}
		_ = json.Unmarshal(res.Body, &sent) // accepted, whatever it is called
		return delivery.Verdict{Outcome: delivery.Accepted, ID: sent.Name, Reason: "200"}
	}
	var f failure
	_ = json.Unmarshal(res.Body, &f) // what is no error of FCM's has no code
	v := delivery.Verdict{Outcome: classify(res.Status, &f)}
	word := f.code()
	if word == "" {
		word = f.Error.Status
	}
	v.Reason = call.Words(res.Status, word)
	v.RetryAfter = call.RetryAfter(res.Header, time.Now())
	switch {
	case v.Outcome == delivery.AddressDead:
		v.DeadSince = began
	case v.RetryAfter > 0:
	case v.Outcome == delivery.Throttled:
		v.RetryAfter = quotaWait
	case v.Outcome == delivery.Unsure:
		v.RetryAfter = busyWait
	}
	return v
}

func classify(status int, f *failure) delivery.Outcome {
	switch f.code() {
	case "UNREGISTERED":
		return delivery.AddressDead
	case "SENDER_ID_MISMATCH":
		return delivery.OtherProject
	case "THIRD_PARTY_AUTH_ERROR":
		return delivery.Misconfigured
	case "QUOTA_EXCEEDED":
		return delivery.Throttled
	case "UNAVAILABLE", "INTERNAL":
		return delivery.Unsure
	case "INVALID_ARGUMENT":
		if f.blamesToken() {
			return delivery.AddressDead
		}
		return delivery.Refused // our payload, and this one alone
	}
	return byStatus(status, f)
}

func byStatus(status int, f *failure) delivery.Outcome {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return needsToken
	case status == http.StatusTooManyRequests:
		return delivery.Throttled
	case status >= 500:
		return delivery.Unsure
	case status == http.StatusBadRequest:
		if f.blamesToken() {
			return delivery.AddressDead
		}
		return delivery.Refused
	case status == http.StatusRequestEntityTooLarge:
		return delivery.Refused
	}
	return delivery.Misconfigured // a wrong project or address: a 404 says nothing of the token
}
