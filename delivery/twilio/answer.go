package twilio

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"fanline/delivery"
	"fanline/delivery/call"
)

// Waits where Twilio names none: for a call too many, and for a full queue.
const (
	rateWait  = time.Second
	queueWait = time.Minute
)

// codes are Twilio's own, which say more than the status.
var codes = map[int]delivery.Outcome{
	20429: delivery.Throttled,
	21611: delivery.Throttled, // the sender's queue is full
	30001: delivery.Throttled, // queue overflow
	14107: delivery.Throttled, // rate of the sender
	21211: delivery.AddressDead,
	21614: delivery.AddressDead,
	21610: delivery.OptedOut,
	21408: delivery.Refused, // region off
	21612: delivery.Refused, // no way from this sender to that number
	21608: delivery.Refused, // a number that a trial account may not call
	21617: delivery.Refused, // too long
	20003: delivery.Misconfigured,
	20005: delivery.Misconfigured, // account not active
	20008: delivery.Misconfigured, // test credentials
	20404: delivery.Misconfigured,
	21212: delivery.Misconfigured, // From
	21603: delivery.Misconfigured,
	21606: delivery.Misconfigured,
	21607: delivery.Misconfigured,
	21609: delivery.Misconfigured, // StatusCallback
	21701: delivery.Misconfigured, // Messaging Service
	21703: delivery.Misconfigured,
}

func (p *Provider) read(res *call.Answer, began time.Time) delivery.Verdict {
	var body struct {
		SID  string `json:"sid"`
		Code int    `json:"code"`
	}
	_ = json.Unmarshal(res.Body, &body) // without a code the status alone decides
	if res.Status/100 == 2 {
		return delivery.Verdict{Outcome: delivery.Accepted, ID: body.SID, Reason: strconv.Itoa(res.Status)}
	}
	v := delivery.Verdict{Outcome: classify(res.Status, body.Code), Sender: p.cfg.From, Reason: call.Words(res.Status, "")}
	if body.Code != 0 {
		v.Reason = call.Words(res.Status, strconv.Itoa(body.Code))
	}
	v.RetryAfter = call.RetryAfter(res.Header, time.Now())
	switch {
	case v.Outcome == delivery.AddressDead:
		v.DeadSince = began
	case v.Outcome != delivery.Throttled || v.RetryAfter > 0:
	case body.Code == 21611 || body.Code == 30001:
		v.RetryAfter = queueWait
	default:
		v.RetryAfter = rateWait
	}
	return v
}

func classify(status, code int) delivery.Outcome {
	if status >= 500 {
		return delivery.Unsure // there may be a message
	}
	if o, ok := codes[code]; ok {
		return o
	}
	switch status {
	case http.StatusTooManyRequests:
		return delivery.Throttled
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
		return delivery.Misconfigured
	}
	return delivery.Refused
}
