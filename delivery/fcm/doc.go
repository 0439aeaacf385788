// Package fcm sends to Firebase Cloud Messaging, HTTP v1.
//
// A token of OAuth is fetched with the service account's key at the credential's
// token_uri, one fetch at a time for everybody who waits, and fetched anew once when FCM
// does not take it. The delivery's key is the collapse key and the notification's tag.
//
// Answers are read by the FcmError in their details, not by the status alone: a 404
// without one is a wrong project, and an INVALID_ARGUMENT is the token's fault only
// where the violation names message.token.
//
// Provider may be used concurrently; Close ends fetches, which it waits for, and idle
// connections. The package imports the standard library, notifier, delivery,
// delivery/call, x/oauth2 and x/sync.
package fcm
