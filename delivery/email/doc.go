// Package email sends mail over SMTP.
//
// A message is text and HTML in one, with a Message-ID made of the delivery's key, so that
// a mailbox that got it twice can tell. What is not transactional carries a one-click
// List-Unsubscribe (RFC 8058). No text of an item becomes a header: the subject is one
// line without control characters and without what a reader would decode into some.
//
// Connections are used again, at most a few at a time; one that waited is tried with
// nothing sent on it yet. Until the final dot is sent a broken connection means that
// nothing was taken; after it, that it may have been.
//
// Answers are read by their enhanced code: 5.1.1, 5.1.10 and 5.2.1 call a mailbox dead,
// nothing else does. Provider may be used concurrently; Close ends its connections. The
// package imports the standard library, notifier, delivery, delivery/call and go-mail.
package email
