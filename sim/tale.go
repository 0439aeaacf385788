package sim

import (
	"fmt"
	"strings"
	"time"
)

// tale tells the story: one line a happening, in columns, 80 wide.
//
//	20:14:03  locksmith  #12   freed     1 seat: a card was declined
//	20:14:03  locksmith  #12   turn      ada, told in 14 ms
type tale struct {
	scr    *screen
	colour bool
	now    func() time.Time
}

// The verbs of the tale, with their colours.
const (
	verbFreed    = "freed"
	verbTurn     = "turn"
	verbNext     = "next"
	verbAlert    = "alert"
	verbClaimed  = "claimed"
	verbBought   = "bought"
	verbDeclined = "declined"
	verbLapsed   = "lapsed"
	verbEnded    = "ended"
	verbJoined   = "joined"
	verbFailed   = "failed"
	verbPlayed   = "played"
)

const plain = "\x1b[0m"

func paint(verb string) string {
	switch verb {
	case verbFreed:
		return "\x1b[1m" // bold
	case verbTurn, verbNext, verbAlert:
		return "\x1b[36m" // cyan
	case verbBought:
		return "\x1b[32m" // green
	case verbDeclined, verbLapsed, verbEnded:
		return "\x1b[33m" // yellow
	case verbFailed:
		return "\x1b[31m" // red
	}
	return ""
}

// tell writes one line. The seat is a short name of the opening, or "".
func (t *tale) tell(show, seat, verb, format string, args ...any) {
	word := fmt.Sprintf("%-8s", verb)
	if colour := paint(verb); t.colour && colour != "" {
		word = colour + word + plain
	}
	line := fmt.Sprintf("%s  %-9s  %-5s  %s  %s", t.now().Format(time.TimeOnly), short(show, 9), seat, word,
		fmt.Sprintf(format, args...))
	t.scr.print(line)
}

// short is the first word of an id, cut to n letters.
func short(id string, n int) string {
	word, _, _ := strings.Cut(id, "-")
	if len(word) > n {
		word = word[:n]
	}
	return word
}

// reasons are the words for why a seat came free.
var reasons = map[string]string{
	"card_declined": "a card was declined",
	"hold_timeout":  "a hold timed out",
	"returned":      "returned",
	"new_inventory": "new inventory",
}

func seats(n int) string {
	if n == 1 {
		return "1 seat"
	}
	return fmt.Sprintf("%d seats", n)
}

// Address is a line of the greeting: what can be opened where.
type Address struct{ Name, URL string }

// greet prints what can be done with the running demo.
func (t *tale) greet(cfg StoryConfig) {
	var b strings.Builder
	b.WriteString("\nFanline is running, and a demo plays on it by itself.\n\n")
	width := 0
	for _, a := range cfg.Addresses {
		width = max(width, len(a.Name))
	}
	for _, a := range cfg.Addresses {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, a.Name, a.URL)
	}
	b.WriteString("\nFree a seat yourself, in another terminal, as often as you like:\n\n")
	b.WriteString(curl(cfg))
	b.WriteString("\nStop with Ctrl-C.\n")
	t.scr.print(b.String())
}

// curl is a command that frees a seat of the club show. The shell makes a fresh
// opening id each time, so that it can be pasted again.
func curl(cfg StoryConfig) string {
	return fmt.Sprintf(`  curl -X PUT -H %s \
  -H 'Content-Type: application/json' \
  -d '{"quantity":1,"reason":"returned"}' \
  "%s/v1/shows/%s/openings/hand-$(date +%%s)"
`, shellQuote("Authorization: Bearer "+cfg.APIKey), strings.TrimRight(cfg.BaseURL, "/"), clubShow)
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
