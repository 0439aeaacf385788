// Package demo is the fan page of "fanline dev" under /demo: a fan's phone, for a
// person who plays one of the demo's fans. It shows what an app can be made of with
// web/client, which it uses for every call of the fan; what a ticketing app would
// do, its Stage does: signing tokens, taking money, freeing seats.
//
// Handler is mounted under /demo. It answers loopback alone, asked by a name of
// loopback, since its tokens let anybody in as any fan of the demo; serve never
// mounts it. The page runs under a strict content security policy and has every
// text of the line put in as text.
//
// Everything here may be called concurrently; there are no goroutines. The package
// imports waitlist and chi.
package demo
