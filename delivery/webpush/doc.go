// Package webpush sends to browsers, by the push service that each subscription names
// (RFC 8030, 8291, 8292).
//
// Whoever subscribes chooses the address that is called, so connections go to the public
// network alone (delivery/dial), redirects are not followed, and what a service that
// nobody knows answers is held against that subscription, never against the channel: its
// 401 or 403 says nothing about our key and its 429 nothing about our rate. Of a known
// service they do, unless it took a message with the same key in the last ten minutes:
// then that one subscription was made with another key.
//
// 404 and 410 call a subscription dead, as of the attempt's begin. Nothing else does.
//
// Provider may be used concurrently; Close ends its idle connections. The package
// imports the standard library, notifier, delivery, delivery/call, delivery/dial and
// webpush-go.
package webpush
