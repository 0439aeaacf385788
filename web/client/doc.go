// Package client is the fan's client for browsers: fanline.js, an ES module that
// needs nothing, and its types. A fan app imports it from /client/fanline.js of any
// instance, or takes a copy.
//
// Script and Types serve them to pages of any origin, with an ETag. Both may be
// called concurrently. What the client does at which close code, and what it
// promises of items and cursors, stands in the files themselves; web/browsertest
// holds them to it in a real browser. The package imports the standard library.
package client
