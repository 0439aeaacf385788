package delivery

import (
	"context"
	"time"

	"fanline/notifier"
)

// Provider sends to the service of one channel. Its methods may be called
// concurrently. The packages below this one are those there are.
type Provider interface {
	Channel() notifier.Channel
	// Send makes one attempt, within ctx and a timeout of its own. What went wrong
	// is part of the verdict, as that provider defines its answers.
	Send(ctx context.Context, e *Envelope) Verdict
	// Close ends the connections.
	Close() error
}

// Envelope is one delivery as a provider gets it.
type Envelope struct {
	// Key is the same on every attempt: the collapse id, the Message-ID.
	Key notifier.DeliveryKey
	// Item has its texts, in the fan's language.
	Item    notifier.Item
	Address Address
	// Contents are what a digest tells of, beside the item's own text.
	Contents []Content
	// Expires is when the item is of no use any more; the provider is told not to
	// bring it later. It is in the future when Send is called.
	Expires time.Time
	// URL opens what the item is about; "" without one.
	URL string
	// Unsubscribe is the address of this fan, channel and kind's one-click opt-out;
	// "" where there is nothing to opt out of.
	Unsubscribe string
	// Attempt counts from 1. LastUnsure: an attempt before may have been accepted.
	Attempt    int
	LastUnsure bool
}

// Address is where a provider brings a delivery.
type Address struct {
	Channel notifier.Channel
	// To is the token, the endpoint, the number as E.164, the mailbox.
	To string
	// The rest is for devices.
	DeviceID     string
	Environment  string // of APNs: production or sandbox
	Topic        string // of APNs: the app; "" is the configured one
	P256dh, Auth string // of a Web Push subscription
	RegisteredAt time.Time
}

// Outcome is what to do about a provider's answer.
type Outcome string

// The outcomes. Only AddressDead, OtherEnvironment, OtherProject and OptedOut say
// something about the address, and only the first retires it.
const (
	// Accepted: the provider took it. It is not delivered yet.
	Accepted Outcome = "accepted"
	// Retry: it was not processed; again after RetryAfter.
	Retry Outcome = "retry"
	// Unsure: it may have been processed; again, with the same key.
	Unsure Outcome = "unsure"
	// Throttled: the provider wants less of all of us: the limit falls.
	Throttled Outcome = "throttled"
	// AddressThrottled: less to this one address; the others go on.
	AddressThrottled Outcome = "address_throttled"
	// Refused: this item will never go this way; the address is not at fault.
	Refused Outcome = "refused"
	// AddressDead: a verdict about this very address. DeadSince says since when.
	AddressDead Outcome = "address_dead"
	// OtherEnvironment: the token may belong to APNs' other environment.
	OtherEnvironment Outcome = "other_environment"
	// OtherProject: the token is of another project of the provider's, by which we
	// never reach it: not used any more until it is registered again.
	OtherProject Outcome = "other_project"
	// OptedOut: the owner of the address wants nothing from this sender.
	OptedOut Outcome = "opted_out"
	// Misconfigured: our key, credential, topic or a bug of ours. Nothing of this
	// channel will go; an alarm.
	Misconfigured Outcome = "misconfigured"
	// NotMade is no provider's: its lease ended before the call was made.
	NotMade Outcome = "not_made"
)

// Verdict is a provider's answer to one attempt.
type Verdict struct {
	Outcome Outcome
	// ID is the provider's own for an accepted delivery: callbacks name it.
	ID string
	// Reason is the answer in the provider's words, short and without addresses or
	// texts: "410 Unregistered".
	Reason string
	// RetryAfter is set where the provider, or its rules, say how long to wait.
	RetryAfter time.Duration
	// DeadSince is when the provider knows an address to be dead. One that was
	// registered later stays. Where the provider does not say, it is when the
	// attempt began.
	DeadSince time.Time
	// Sender is who is opted out of, or whose limit it is: a number, a service.
	Sender string
}
