// Package sendtest is what the tests of all senders begin with: a delivery to make and
// a provider that is closed with the test.
//
// Everything may be called from parallel tests. The package imports the standard
// library, notifier and delivery.
package sendtest
