// Package admin is the pages of the box office under /admin: an overview of all that
// runs, shows and their lines, openings and their waves, a fan and why they were told
// or not, what staff may do about it, the queue's own pages, and the log of what
// staff did.
//
// New builds an Admin from what stands behind it; Handler is mounted under
// /admin. The pages are HTML from templates and work without script; with it, the
// overview, a show's page and an opening's renew themselves (live.go). What others
// wrote of it stands in VENDOR.md. Nobody gets in unless users are configured
// (user.go). A session is a random token in a cookie, of which the database holds a
// hash (session.go).
//
// The rest of the package reads the line through an interface that cannot change
// it. Every change goes through one wrapper (act.go) that asks for a written
// audit, which the store keeps in the transaction of the change; a refusal
// changes nothing and writes nothing. A refusal of the line (waitlist.Error) is
// shown as its sentence on the page where it was asked for; anything else is a
// fault, whose text goes to the log alone (problem.go).
//
// Everything here may be called concurrently. One goroutine a page reads what its
// live streams show, while there are any; Stop ends them and waits. The package
// imports waitlist, notifier and delivery for what it shows, chi and x/crypto's
// argon2.
package admin
