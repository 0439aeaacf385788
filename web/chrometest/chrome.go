package chrometest

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Patience bounds what a test waits for. Waits end with their condition, so that it
// costs nothing but where a test fails; a loaded machine needs it.
const Patience = 60 * time.Second

// pause is between two looks at what is waited for.
const pause = 20 * time.Millisecond

// Chrome is a browser with one tab.
type Chrome struct {
	t       testing.TB
	ctx     context.Context
	mute    bool // scripts of pages do not run, and no timers and listeners of ours
	console console
}

// New starts a browser, which ends with the test.
func New(t testing.TB) *Chrome {
	t.Helper()
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), options(find(t))...)
	ctx, stopTab := chromedp.NewContext(alloc)
	c := &Chrome{t: t, ctx: ctx}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("end the browser: %v", err)
		}
		stopTab()
		stopAlloc()
		c.console.check(t)
	})
	if err := chromedp.Do(ctx, chromedp.Steps()); err != nil { // starts it, with the life of ctx
		t.Fatalf("start the browser: %v", err)
	}
	if err := chromedp.Listen(ctx, c.console.hear); err != nil {
		t.Fatal(err)
	}
	return c
}

// find is the path of the browser.
func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("CI runs no page without a browser; scripts/setup tests installs one")
	}
	t.Skip("neither chromium nor google-chrome is here; scripts/setup tests installs the former")
	return ""
}

// options are its flags. Its files are chromedp's to remove, which waits for all of
// its processes: those of a test's folder would outlive the test.
func options(path string) []chromedp.ExecAllocatorOption {
	return append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(Patience),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
	)
}

// Do does steps of chromedp.
func (c *Chrome) Do(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, Patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		c.fail("%v", err)
	}
}

// until tries a step until it neither errs nor says why not yet. An error may pass,
// as when the page is being loaded.
func (c *Chrome) until(what string, step func(ctx context.Context) (notYet string, err error)) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, Patience)
	defer cancel()
	last := "the page does not answer"
	for {
		notYet, err := step(ctx)
		switch {
		case err == nil && notYet == "":
			return
		case ctx.Err() != nil:
			c.fail("%s: not within %s: %s", what, Patience, last)
		case err != nil:
			notYet = err.Error()
		}
		last = notYet
		rest(ctx)
	}
}

// rest is the pause between two looks.
func rest(ctx context.Context) {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// fail ends the test with what there is to see.
func (c *Chrome) fail(format string, args ...any) {
	c.t.Helper()
	args = append(args, c.Text(), c.console.text())
	c.t.Fatalf(format+"\nthe page says:\n%s\nthe console said:\n%s", args...)
}

// evaluate runs a script in the page, and awaits what it returns.
func evaluate[T any](ctx context.Context, script string) (T, error) {
	return chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}
