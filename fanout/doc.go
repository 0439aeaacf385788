// Package fanout brings waves to fans by one of two strategies, chosen once for
// each opening when it is recorded and stored with it.
//
// write has an inbox row for each fan of a wave, written with the decision; read
// has the wave alone, and a fan's turn is worked out when they look. Which seats
// go to whom, when, and with which item ids is the same code for both: package
// waitlist decides, store writes what the strategy needs in the decision's
// transaction, and a Strategy here does the rest after the commit.
//
// Announcements use the same two: a row for each fan, or one row in all that belongs
// to those who were in the line at its moment. Announcer takes them.
//
// Both subscribe to the events of openings, each with its own jobs and retries,
// and each leaves alone what was recorded for the other. Everything may be called
// concurrently. The package imports waitlist and notifier.
package fanout
