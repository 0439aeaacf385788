// Package webhook tells the ticketing app's endpoints of events, as Standard Webhooks
// says: signed, with one id an event whatever the attempt, and tried again for about
// three days.
//
// Each endpoint follows the event stream by its own place, which is stored after each
// event that it took, so that a dead endpoint delays itself alone. Its events come in
// the order of the stream: an event that fails holds up those behind it. What a crash
// cuts off is sent again with the same id. One process at a time serves an endpoint, by
// a lease. An endpoint is disabled when it answers 410, or has failed to the end of the
// schedule; putting it again goes on where it was.
//
// Only 2xx is success, redirects are not followed, and connections go to the public
// network alone (delivery/dial).
//
// Start, then Stop, which waits for every goroutine and may be called twice. The
// package imports the standard library, notifier, delivery and delivery/dial.
package webhook
