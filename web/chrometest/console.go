package chrometest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
)

// console is what the browser's console said.
type console struct {
	mu      sync.Mutex
	lines   []string
	allowed []string
}

// Allow lets the console say lines that contain one of the words: a browser writes
// of every answer above 399 and every lost socket, whatever the page makes of it.
func (c *Chrome) Allow(words ...string) {
	c.console.mu.Lock()
	defer c.console.mu.Unlock()
	c.console.allowed = append(c.console.allowed, words...)
}

// hear notes errors of scripts, of loading and of the content security policy.
func (c *console) hear(ev any) {
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
		for _, arg := range ev.Args {
			line += fmt.Sprintf(" %s%s", arg.Value, arg.Description)
		}
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
}

func (c *console) check(t testing.TB) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.lines {
		if !c.allows(line) {
			t.Errorf("the console says: %s", line)
		}
	}
}

func (c *console) allows(line string) bool {
	for _, word := range c.allowed {
		if strings.Contains(line, word) {
			return true
		}
	}
	return false
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.lines) == 0 {
		return "nothing"
	}
	return strings.Join(c.lines, "\n")
}
