// Package apns sends to Apple's push service, over HTTP/2.
//
// The provider token is one for the whole process, whatever the connections, topics and
// goroutines: signed anew when it is 40 minutes old, and before that only when APNs
// calls it expired, at most every 20 minutes. Where APNs says that it changed too
// often, the one before is used again. A connection carries one request until APNs has
// accepted a provider token on it, and then as many as APNs allows.
//
// The delivery's key is the collapse id and, as a UUID, the apns-id. A device of the
// sandbox is reached at the sandbox's address. 410 is the only answer that calls a token
// dead, since the time it names; BadDeviceToken says that it may be of the other
// environment; what is about our key, topic or headers is Misconfigured and says nothing
// about any device.
//
// Provider may be used concurrently; Close ends its idle connections. The package
// imports the standard library, notifier, delivery, delivery/call and golang-jwt.
package apns
