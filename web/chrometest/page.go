package chrometest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// To opens a page and waits until it is loaded.
func (c *Chrome) To(url string) {
	c.t.Helper()
	c.Do(chromedp.Navigate(url))
}

// Run runs a script, awaits what it returns and reads that. Each %s in the script is
// an argument, as JSON.
func Run[T any](c *Chrome, script string, args ...any) T {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, Patience)
	defer cancel()
	v, err := evaluate[T](ctx, filled(c.t, script, args))
	if err != nil {
		c.fail("%s: %v", script, err)
	}
	return v
}

// Wait waits until an expression is true, with arguments as Run has them. It may
// throw until then, and pages may be loaded.
func (c *Chrome) Wait(expression string, args ...any) {
	c.t.Helper()
	script := filled(c.t, expression, args)
	c.until("wait for "+script, func(ctx context.Context) (string, error) {
		met, err := evaluate[bool](ctx, "!!("+script+")")
		if !met {
			return "it is false", err
		}
		return "", err
	})
}

// Sees waits until the page says a text.
func (c *Chrome) Sees(text string) {
	c.t.Helper()
	c.Wait(`document.body.innerText.includes(%s)`, text)
}

// Says looks once whether the page says texts.
func (c *Chrome) Says(texts ...string) {
	c.t.Helper()
	page := c.Text()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			c.t.Errorf("the page does not say %q:\n%s", text, page)
		}
	}
}

// Text is the page as a reader sees it, or the error that keeps it from being read.
func (c *Chrome) Text() string {
	ctx, cancel := context.WithTimeout(c.ctx, Patience)
	defer cancel()
	text, err := evaluate[string](ctx, `document.body?.innerText ?? ""`)
	if err != nil {
		return err.Error()
	}
	return text
}

// Scheme is what the reader likes better: light or dark.
func (c *Chrome) Scheme(scheme string) {
	c.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	if _, err := chromedp.Call(c.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		c.fail("scheme %s: %v", scheme, err)
	}
}

// Width makes the window as many pixels wide.
func (c *Chrome) Width(width int64) {
	c.t.Helper()
	c.Do(chromedp.EmulateViewport(width, 900))
}

// TooWide is by how many pixels the page is wider than its window.
func (c *Chrome) TooWide() int {
	c.t.Helper()
	return Run[int](c, `Math.max(0, document.documentElement.scrollWidth - innerWidth)`)
}

// WithoutScript keeps the scripts of pages from running.
func (c *Chrome) WithoutScript() {
	c.t.Helper()
	c.mute = true
	if _, err := chromedp.Call(c.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		c.fail("without script: %v", err)
	}
}

// Picture takes the whole page.
func (c *Chrome) Picture(file string) {
	c.t.Helper()
	png, err := chromedp.Run(c.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		c.fail("picture: %v", err)
	}
	if err := os.WriteFile(file, png, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// filled puts values into a script, as JSON.
func filled(t testing.TB, script string, args []any) string {
	t.Helper()
	if len(args) == 0 {
		return script // where a % is one
	}
	words := make([]any, len(args))
	for i, a := range args {
		word, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		words[i] = string(word)
	}
	return fmt.Sprintf(script, words...)
}
