// Package waitlist is the line and its rules: shows, entries, openings, waves,
// turns, claims and verdicts, in the words of the product.
//
// A turn is arithmetic: turn k of a wave opens and closes at moments that follow
// from the wave alone (wave.go), so that a lapse writes nothing and every process
// agrees. A decision (decide.go, walk.go, source.go) is the one place where seats meet fans;
// what it decided never changes. A verdict (verdict.go) is worked out from what is
// stored anyway. These are pure functions of what they are given.
//
// Service is what the rest of the program calls; it checks input, gathers joins
// and claims into batches, and has shows decided through Clock, the deadline
// clock. Store keeps it all, each step in one transaction.
//
// Everything here may be called concurrently. The package imports the standard
// library alone.
package waitlist
