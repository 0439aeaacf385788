package admin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chrome is a real browser with one tab. What its console says is a failure of the
// test, unless the test takes it away.
type chrome struct {
	t   *testing.T
	ctx context.Context
	url string

	mu      sync.Mutex
	console []string
}

func (w *world) chrome(t *testing.T) *chrome {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		path, err = exec.LookPath("google-chrome")
	}
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal("CI runs no page without a browser; scripts/setup tests installs one")
	}
	if err != nil {
		t.Skip("neither chromium nor google-chrome is here; scripts/setup tests installs the former")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
	)
	limited, stop := context.WithTimeout(context.Background(), 3*time.Minute)
	alloc, stopAlloc := chromedp.NewExecAllocator(limited, opts...)
	ctx, stopTab := chromedp.NewContext(alloc)
	c := &chrome{t: t, ctx: ctx, url: w.url}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("end the browser: %v", err)
		}
		stopTab()
		stopAlloc()
		stop()
		for _, line := range c.said() {
			t.Errorf("the console says: %s", line)
		}
	})
	c.do(chromedp.Steps()) // starts it
	if err := chromedp.Listen(ctx, c.hear); err != nil {
		t.Fatal(err)
	}
	return c
}

// hear notes errors of scripts, of loading and of the content security policy.
func (c *chrome) hear(ev any) {
	var line string
	switch ev := ev.(type) {
	case *log.EventEntryAdded:
		line = fmt.Sprintf("%s %s: %s %s", ev.Entry.Source, ev.Entry.Level, ev.Entry.Text, ev.Entry.URL)
	case *runtime.EventExceptionThrown:
		line = ev.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		line = string(ev.Type)
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.console = append(c.console, line)
}

// said is what the console said since the last time.
func (c *chrome) said() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.console
	c.console = nil
	return lines
}

func (c *chrome) do(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	if err := chromedp.Do(c.ctx, steps...); err != nil {
		c.t.Fatal(err)
	}
}

// to opens a page.
func (c *chrome) to(path string) {
	c.t.Helper()
	c.do(chromedp.Navigate(c.url + path))
}

// submit does steps of which the last loads a page, and waits for it.
func (c *chrome) submit(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	if _, err := chromedp.RunResponse(c.ctx, steps...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *chrome) login(name string) {
	c.t.Helper()
	c.to("/admin")
	c.submit(fill("name", name), fill("password", password), press("main form button"))
}

func fill(id, text string) chromedp.Action[chromedp.Void] {
	return chromedp.SendKeys(chromedp.ID(id), text)
}

func press(css string) chromedp.Action[chromedp.Void] { return chromedp.Click(chromedp.CSS(css)) }

// text is the page as a reader sees it.
func (c *chrome) text() string {
	c.t.Helper()
	text, err := chromedp.Run(c.ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

// waitFor waits until an expression is true.
func (c *chrome) waitFor(expression string) {
	c.t.Helper()
	if _, err := chromedp.Run(c.ctx, chromedp.Poll[bool](expression)); err != nil {
		c.t.Fatalf("%s: %v\n%s", expression, err, c.text())
	}
}

func (c *chrome) says(texts ...string) {
	c.t.Helper()
	page := c.text()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			c.t.Errorf("the page does not say %q:\n%s", text, page)
		}
	}
}

func (c *chrome) scheme(scheme string) {
	c.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	if _, err := chromedp.Call(c.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *chrome) withoutScript() {
	c.t.Helper()
	if _, err := chromedp.Call(c.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		c.t.Fatal(err)
	}
}

// picture takes the whole page.
func (c *chrome) picture(file string) {
	c.t.Helper()
	png, err := chromedp.Run(c.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(file, png, 0o600); err != nil {
		c.t.Fatal(err)
	}
}
