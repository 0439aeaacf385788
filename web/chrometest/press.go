package chrometest

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed ready.js
var readyScript string

// place is where an element can be pressed, unless not yet.
type place struct {
	NotYet string  `json:"notYet"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
}

// Press clicks the first element of a CSS selector.
func (c *Chrome) Press(css string) {
	c.t.Helper()
	c.until("press "+css, func(ctx context.Context) (string, error) {
		at, err := c.armed(ctx, css)
		if err != nil || at.NotYet != "" {
			return at.NotYet, err
		}
		return c.heard(ctx, chromedp.Do(ctx, chromedp.MouseClickXY(at.X, at.Y)))
	})
}

// Submit presses what loads a page, and waits until that is loaded.
func (c *Chrome) Submit(css string) {
	c.t.Helper()
	c.Press(css)
	c.until("the page after "+css, func(ctx context.Context) (string, error) {
		state, err := evaluate[string](ctx, `window.chrometest ? "the page before" : document.readyState`)
		if state == "complete" {
			state = ""
		}
		return state, err
	})
}

// Enter comes to an element by Tab alone, and presses Enter on it.
func (c *Chrome) Enter(css string) {
	c.t.Helper()
	c.until("enter "+css, func(ctx context.Context) (string, error) {
		if at, err := c.armed(ctx, css); err != nil || at.NotYet != "" { // what is disabled takes no focus
			return at.NotYet, err
		}
		if notYet, err := c.tabTo(ctx, css); err != nil || notYet != "" {
			return notYet, err
		}
		return c.heard(ctx, chromedp.Do(ctx, chromedp.KeyEvent(kb.Enter)))
	})
}

// mostTabs is more than any page has controls in a row.
const mostTabs = 60

func (c *Chrome) tabTo(ctx context.Context, css string) (string, error) {
	focused := filled(c.t, `document.activeElement.matches(%s)`, []any{css})
	for range mostTabs {
		if err := chromedp.Do(ctx, chromedp.KeyEvent(kb.Tab)); err != nil {
			return "", err
		}
		if there, err := evaluate[bool](ctx, focused); err != nil || there {
			return "", err
		}
	}
	return "Tab does not come to it", nil
}

// Fill replaces what the field of an id holds. The text is typed: a line ends with
// "\n".
func (c *Chrome) Fill(id, text string) {
	c.t.Helper()
	css := fmt.Sprintf("[id=%q]", id)
	pick := filled(c.t, `document.querySelector(%s).focus(), document.activeElement.select(), true`, []any{css})
	holds := filled(c.t, `document.querySelector(%s).value === %s ? "" : "it holds " + document.querySelector(%s).value`, []any{css, text, css})
	c.until("fill "+id, func(ctx context.Context) (string, error) {
		if at, err := c.ready(ctx, css); err != nil || at.NotYet != "" {
			return at.NotYet, err
		}
		if _, err := evaluate[bool](ctx, pick); err != nil {
			return "", err
		}
		if err := chromedp.Do(ctx, chromedp.KeyEvent(kb.Delete), chromedp.KeyEvent(text)); err != nil {
			return "", err
		}
		return evaluate[string](ctx, holds)
	})
}

// Key presses keys, wherever the focus is.
func (c *Chrome) Key(keys string) {
	c.t.Helper()
	c.Do(chromedp.KeyEvent(keys))
}

// ready looks whether an element can be pressed.
func (c *Chrome) ready(ctx context.Context, css string) (place, error) {
	return evaluate[place](ctx, readyScript+filled(c.t, `(%s, %s, false)`, []any{css, !c.mute}))
}

// armed is ready, and listens to clicks from then on until heard.
func (c *Chrome) armed(ctx context.Context, css string) (place, error) {
	return evaluate[place](ctx, readyScript+filled(c.t, `(%s, %s, true)`, []any{css, !c.mute}))
}

// heard ends the listening of armed, and says why not yet if the element did not
// hear. Another page is there because this one heard, also where the click itself
// ended with an error, since the page of it had gone.
func (c *Chrome) heard(ctx context.Context, click error) (string, error) {
	const script = `window.chrometest ? (chrometest.listening.abort(), chrometest.heard) : true`
	for {
		heard, err := evaluate[bool](ctx, script)
		switch {
		case err != nil && ctx.Err() == nil: // between two pages there is none
			rest(ctx)
		case err == nil && !heard:
			return "the click did not arrive", click
		default:
			return "", err
		}
	}
}
