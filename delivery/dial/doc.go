// Package dial connects to addresses that others chose: Web Push endpoints and
// outgoing webhooks. It connects to the public network alone, looked at when the
// socket is about to connect, so that a name that resolves anew between a check and
// the use of it gains nothing. It follows no redirect and uses no proxy.
//
// Everything may be called concurrently. The package imports the standard library.
package dial
