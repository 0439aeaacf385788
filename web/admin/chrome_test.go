package admin

import (
	"testing"

	"fanline/web/chrometest"
)

// chrome is a browser that knows where the pages are.
type chrome struct {
	*chrometest.Chrome
	url string
}

func (w *world) chrome(t *testing.T) *chrome {
	t.Helper()
	return &chrome{chrometest.New(t), w.url}
}

// at opens a page by its path.
func (c *chrome) at(path string) { c.To(c.url + path) }

func (c *chrome) login(name string) {
	c.at("/admin")
	c.Fill("name", name)
	c.Fill("password", password)
	c.Submit("main form button")
}
