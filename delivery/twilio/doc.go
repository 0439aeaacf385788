// Package twilio sends text messages.
//
// A message is at most three segments, counted in GSM-7 or UCS-2 as phones do; the text
// is cut for that, the link never. It is given no longer to live than its item, and at
// most the ten hours that Twilio's queue holds.
//
// Twilio has no idempotency key. Where the attempt before may have been accepted, the
// messages to the number since the item exists are looked up first: one with the very
// same text is that attempt, and nothing is sent again. Two items whose texts do not
// differ in a letter could so become one message; the fan reads the same words.
//
// Provider may be used concurrently; Close ends its idle connections. The package
// imports the standard library, notifier, delivery and delivery/call.
package twilio
