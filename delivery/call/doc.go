// Package call makes one HTTP call to a provider and says what is known of it when it
// fails: that nothing was sent, or that something may have been. Answers are read up to
// a bound, and no reason names an address.
//
// Everything may be called concurrently. The package imports the standard library,
// delivery and delivery/dial.
package call
