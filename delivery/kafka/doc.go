// Package kafka exports the event stream to a Kafka topic, for as long as one is
// configured: at least once, in order for each key, which is the fan's number or else
// the show. The fan's id is not in it.
//
// One process at a time exports, by a lease. A page of the stream is written, all of it
// is acknowledged by the brokers, and only then is the place behind it stored; so what a
// crash cuts off is written again. While no broker answers nothing more is read than the
// page that is waiting.
//
// Start, then Stop, which waits and may be called twice. The package imports the
// standard library, notifier, delivery and franz-go.
package kafka
