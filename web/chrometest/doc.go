// Package chrometest gives a test a real browser, as a reader of a page has one.
//
// New starts it with one tab and ends it with the test. A page is used the way
// people use it: Press clicks with the mouse, Enter comes by Tab and presses Enter,
// Fill types, Submit presses what loads the next page. Each first waits until the
// element is there, visible, enabled, uncovered and at rest, and afterwards makes
// sure that the element itself heard of it, since a page that moves makes a click
// miss; a click that would hit something else is kept from it. Wait and Sees wait
// for what the page comes to, Says looks once.
//
// Nothing waits for longer than Patience. What fails is shown with what the page
// says and what the console said. What the console says without Allow fails the test.
// A machine without a browser skips the test, but under CI fails it.
//
// A Chrome is used by one goroutine, tests of many by many at once. The package is
// for tests alone: it imports testing and chromedp, and nothing else of Fanline.
package chrometest
