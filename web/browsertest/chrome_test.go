package browsertest

import (
	"context"
	"encoding/json"
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
// test, unless the test allows it.
type chrome struct {
	t   testing.TB
	ctx context.Context

	mu      sync.Mutex
	console []string
	allowed []string
}

func newChrome(t testing.TB) *chrome {
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
	c := &chrome{t: t, ctx: ctx}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("end the browser: %v", err)
		}
		stopTab()
		stopAlloc()
		stop()
		c.checkConsole()
	})
	check(t, chromedp.Do(ctx, chromedp.Steps())) // starts it, with the life of ctx
	check(t, chromedp.Listen(ctx, c.hear))
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
		if e := ev.ExceptionDetails.Exception; e != nil {
			line += " " + e.Description
		}
	case *runtime.EventConsoleAPICalled:
		line = string(ev.Type)
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.console = append(c.console, line)
}

// allow lets the console say lines that contain one of the words: a browser writes
// of every answer above 399 and every lost socket, whatever the page makes of it.
func (c *chrome) allow(words ...string) { c.allowed = append(c.allowed, words...) }

func (c *chrome) checkConsole() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.console {
		fine := false
		for _, w := range c.allowed {
			fine = fine || strings.Contains(line, w)
		}
		if !fine {
			c.t.Errorf("the console says: %s", line)
		}
	}
}

func (c *chrome) do(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		c.t.Fatalf("%v; the page says:\n%s", err, c.text())
	}
}

// to opens a page.
func (c *chrome) to(url string) {
	c.t.Helper()
	c.do(chromedp.Navigate(url))
}

// press clicks what the reader of the page would.
func (c *chrome) press(id string) {
	c.t.Helper()
	c.do(chromedp.Click(chromedp.ID(id)))
}

// run runs a script, awaits what it returns and reads that.
func run[T any](c *chrome, script string, args ...any) T {
	c.t.Helper()
	v, err := chromedp.Run(c.ctx, chromedp.Evaluate[T](filled(c.t, script, args), chromedp.EvalAwaitPromise))
	if err != nil {
		c.t.Fatalf("%s: %v", script, err)
	}
	return v
}

// filled puts values into a script, as JSON.
func filled(t testing.TB, script string, args []any) string {
	t.Helper()
	words := make([]any, len(args))
	for i, a := range args {
		words[i] = string(must(json.Marshal(a))(t))
	}
	return fmt.Sprintf(script, words...)
}

// wait waits until an expression is true, without asking for it again and again
// from here.
func (c *chrome) wait(expression string, args ...any) {
	c.t.Helper()
	script := filled(c.t, expression, args)
	if _, err := chromedp.Run(c.ctx, chromedp.Poll[bool](script, chromedp.WithPollingTimeout(patience), chromedp.WithPollingInterval(20*time.Millisecond))); err != nil {
		c.t.Fatalf("wait for %s: %v; the page says:\n%s", script, err, c.text())
	}
}

// text is the page as a reader sees it.
func (c *chrome) text() string {
	text, err := chromedp.Run(c.ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// sees waits until the page says a text.
func (c *chrome) sees(text string) {
	c.t.Helper()
	c.wait(`document.body.innerText.includes(%s)`, text)
}

func (c *chrome) scheme(scheme string) {
	c.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	_, err := chromedp.Call(c.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
	check(c.t, err)
}

// picture takes the whole page.
func (c *chrome) picture(file string) {
	c.t.Helper()
	png := must(chromedp.Run(c.ctx, chromedp.FullScreenshot(100)))(c.t)
	check(c.t, os.WriteFile(file, png, 0o600))
}
