// Package delivery takes items to fans who are not looking: the pipeline through the providers, with what these tell of it
// later, and the rules of whom to tell what, and where. Those who look have it over a socket, by package live.
//
// # What it guarantees
//
// Fans who are not looking are told through providers by the Pipeline, the lanes' Sender. Each delivery (an item, a fan,
// an address) has one key; before each call Redis says what was sent and Postgres decides who may attempt it, for as long
// as a lease. A provider is called again for a delivery it may have taken only with the same key, and marked as unsure;
// what it took is recorded each second, and also while the process stops. A process that stood still past its lease
// sends no more of it and changes nothing of what another has by then; what waits in a chunk is looked at again each second. Limits, breakers and slots are of a channel, queues of a lane
// and channel, so that a provider that hangs delays its own deliveries alone. An address is retired by a verdict about
// that address alone, and never while suddenly too many are called dead. Whoever looked is told no more.
//
// # Main path
//
// AlertClock fires alerts, which become plans: Pipeline.Plan (plan.go) finds out by which channels who is to be told now.
// Pipeline.Send and Blast (chunk.go) lease a chunk's deliveries, attempt.go makes the attempts and settle.go turns
// verdicts into what happens next. Outbox (outbox.go) is what store keeps of it. Feedback takes what providers tell later
// (feedback.go, report.go), DigestClock makes the daily mail due (digest.go).
//
// Of the rest, limits, breaker, keys and retire are what an attempt passes through; device, contact, profile and quiet are
// the rules of whom to tell what.
//
// # Lifecycle
//
// Pipeline has no goroutine between calls, and is closed when the bus that calls it has stopped; AlertClock, DigestClock
// and Feedback are started and stopped beside the bus. Stop may be called twice.
//
// # Concurrency
//
// Every exported method may be called concurrently, Start once. Each lock is taken alone, and none is held
// over a call of a provider, Redis or Postgres.
//
// The package imports the standard library, notifier, ratelimit, go-redis, gobreaker, phonenumbers and uniseg. The
// senders stand below it, a package each: apns, fcm, webpush, twilio, email. So do those who follow the event stream
// (webhook, kafka), the readers of signed calls (callback), and what they share: call makes a bounded HTTP call, dial
// goes to the public network alone. live, which is below it too, and the pipeline do not know each other.
package delivery
