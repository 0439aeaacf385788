package browsertest

import (
	"testing"

	"fanline/web/chrometest"
)

// patience bounds what a test waits for.
const patience = chrometest.Patience

// chrome is a browser that knows the pages of a house.
type chrome struct{ *chrometest.Chrome }

func newChrome(t testing.TB) *chrome {
	t.Helper()
	return &chrome{chrometest.New(t)}
}

// run is chrometest.Run.
func run[T any](c *chrome, script string, args ...any) T {
	return chrometest.Run[T](c.Chrome, script, args...)
}

// open opens a fan's page and waits until it is live.
func (c *chrome) open(h *house, fan string) {
	h.t.Helper()
	c.To(h.url + "/demo?fan=" + fan)
	c.Wait(`document.getElementById("link").textContent === "live"`)
}

// heads waits for the fan page's headline.
func (c *chrome) heads(text string) {
	c.Wait(`document.getElementById("headline").textContent === %s`, text)
}

// live waits for the n-th time that the client is.
func (c *chrome) live(n int) {
	c.Wait(`log.filter((e) => e.type === "state" && e.state === "live").length >= %s`, n)
}

// items are those that the client heard of.
func (c *chrome) items() []string { return run[[]string](c, `items`) }
