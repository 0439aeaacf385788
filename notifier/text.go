package notifier

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Text is a title and a body with places to be filled in.
type Text struct{ Title, Body string }

// Vars fill the places of a text.
type Vars struct {
	Show, Venue string
	Seats       int
	Window      time.Duration
	ClosesAt    time.Time // shown in the show's zone
	Zone        *time.Location
	URL         string
}

// The built-in texts, by kind and, for results, state.
var texts = map[string]Text{
	"turn":             {"Your turn for {show}", "{seats} at {venue} can be yours for {minutes}, until {closes_at}."},
	"result":           {"{show}: news of your turn", "Look at the app for what became of it."},
	"result.filled":    {"{show}: the seats are taken", "Every seat of this opening was bought. You keep your place in line."},
	"result.cancelled": {"{show}: the seats were withdrawn", "This opening was cancelled by the box office. You keep your place in line."},
	"result.confirmed": {"{show}: it's yours", "You have {seats} at {venue}. See you there."},
	"result.lapsed":    {"{show}: your hold ended", "The seats were not paid for in time and went on to the next fan. You keep your place in line."},
}

// TextKinds are the kinds that a show may have texts of its own for. That of result
// is for every result which has none by its state.
func TextKinds() []string {
	return slices.Sorted(maps.Keys(texts))
}

// HasText says whether a show may have a text of that kind.
func HasText(kind string) bool {
	_, ok := texts[kind]
	return ok
}

// TextFor is the built-in English text of a kind ("turn") or of a result's state
// ("result.filled").
func TextFor(name string) Text { return texts[name] }

// Fill replaces the places of t. What is put in is never looked at for places
// again, and a place it does not know stays as it is.
func (t Text) Fill(v Vars) Text {
	zone := v.Zone
	if zone == nil {
		zone = time.UTC
	}
	r := strings.NewReplacer(
		"{show}", v.Show, "{venue}", v.Venue, "{seats}", count(v.Seats, "seat"),
		"{minutes}", span(v.Window), "{closes_at}", v.ClosesAt.In(zone).Format("15:04 MST"),
		"{url}", v.URL,
	)
	return Text{r.Replace(t.Title), r.Replace(t.Body)}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func span(d time.Duration) string {
	if d < 2*time.Minute {
		return count(int(d/time.Second), "second")
	}
	return count(int(d/time.Minute), "minute")
}
