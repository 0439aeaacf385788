// Package callback reads the calls by which a mail service and the fan app's server tell what became of deliveries. Both
// are Fanline's own form, for a service's feed to be turned into by a few lines of glue, and are signed as Standard Webhooks
// says: headers webhook-id, webhook-timestamp and webhook-signature ("v1," and base64 of HMAC-SHA256 over
// "id.timestamp.body"; several with spaces between), with the secret that `fanline callback-secrets` prints for that kind.
//
// A call is believed when its signature is right, its time is within five minutes of the database's and its id was not used
// for another body. Everything else changes nothing. A call that comes again, with its id or a new one, changes nothing
// either.
//
// Readers may be used concurrently; they hold nothing but the secret. The package imports the standard library, notifier and
// delivery.
package callback
