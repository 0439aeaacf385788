package delivery

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"fanline/notifier"
)

const family = "\U0001F469\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466"

type testPush struct {
	ID    string          `json:"id"`
	URL   string          `json:"url"`
	Title string          `json:"title"`
	Body  string          `json:"body"`
	Data  json.RawMessage `json:"data,omitempty"`
}

func fit(limit int, i *notifier.Item) (testPush, []byte, error) {
	var p testPush
	b, err := Fit(limit, i, func(title, body string, data json.RawMessage) ([]byte, error) {
		return JSON(testPush{ID: i.ID, URL: "https://t.example/s", Title: title, Body: body, Data: data})
	})
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	return p, b, err
}

func TestATextIsCutBetweenGraphemesByItsBytesWithEscapes(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"families":        strings.Repeat(family, 5000),
		"Arabic":          strings.Repeat("مرحبا بكم ", 1000),
		"combining marks": strings.Repeat("e\u0301\u0323", 3000),
		"quotes":          strings.Repeat(`"\`, 4000),
		"separators":      strings.Repeat("\u2028", 2000),
		"broken":          strings.Repeat("\xff\xc3", 3000),
		"controls":        strings.Repeat("\x00\x1b\r\n", 3000),
		"HTML":            strings.Repeat("<&>", 3000),
		"one grapheme":    "e" + strings.Repeat("\u0301", 9000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, i := range []notifier.Item{{Title: text, Body: "until 20:15"}, {Title: "Your turn", Body: text}, {Title: text, Body: text}} {
				i.ID = "turn:show:opening"
				p, b, err := fit(PushBytes, &i)
				if err != nil {
					t.Fatal(err)
				}
				checkFit(t, &i, p, b)
			}
		})
	}
}

func checkFit(t *testing.T, i *notifier.Item, p testPush, b []byte) {
	t.Helper()
	if len(b) > PushBytes || !utf8.Valid(b) {
		t.Errorf("%d bytes, valid %v", len(b), utf8.Valid(b))
	}
	if p.ID != i.ID || p.URL != "https://t.example/s" {
		t.Errorf("the id or the link is touched: %q %q", p.ID, p.URL)
	}
	for _, c := range []struct{ whole, cut string }{{Clean(i.Title), p.Title}, {Clean(i.Body), p.Body}} {
		if c.whole == c.cut {
			continue
		}
		kept, marked := strings.CutSuffix(c.cut, Ellipsis)
		if !marked || !strings.HasPrefix(c.whole, kept) {
			t.Errorf("%.40q is not a marked beginning of %.40q", c.cut, c.whole)
			continue
		}
		if !endsGrapheme(c.whole, kept) {
			t.Errorf("cut inside a grapheme after %d bytes", len(kept))
		}
	}
}

// endsGrapheme says whether a beginning of a text ends where one of its graphemes does,
// but for white space that was left out.
func endsGrapheme(text, beginning string) bool {
	end := 0
	for g := uniseg.NewGraphemes(text); end < len(beginning) && g.Next(); {
		_, end = g.Positions()
	}
	return end == len(beginning)
}

func TestAShortTextIsNotTouched(t *testing.T) {
	t.Parallel()
	i := notifier.Item{ID: "a", Title: "Your turn <3", Body: "2 seats\nuntil 20:15", Data: json.RawMessage(`{"gate":"B"}`)}
	p, b, err := fit(PushBytes, &i)
	if err != nil || p.Title != i.Title || p.Body != i.Body || string(p.Data) != string(i.Data) {
		t.Errorf("%s (%v)", b, err)
	}
}

func TestAFamilyIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	got := Trim(strings.Repeat(family, 3), Ellipsis, 2*len(family)+len(Ellipsis)+5, JSONWeight)
	if want := strings.Repeat(family, 2) + Ellipsis; got != want {
		t.Errorf("%q", got)
	}
}

func TestDataGivesWayWholeWhenTheTextHasNoRoom(t *testing.T) {
	t.Parallel()
	i := notifier.Item{ID: "a", Title: "Your turn", Body: strings.Repeat("b", 600), Data: json.RawMessage(`"` + strings.Repeat("d", 3900) + `"`)}
	p, b, err := fit(PushBytes, &i)
	if err != nil || p.Data != nil || p.Body != i.Body {
		t.Errorf("%d bytes, data %d, body %d (%v)", len(b), len(p.Data), len(p.Body), err)
	}
}

func TestWhatCannotFitIsRefused(t *testing.T) {
	t.Parallel()
	i := notifier.Item{ID: strings.Repeat("i", PushBytes)}
	if _, _, err := fit(PushBytes, &i); err != ErrTooLarge {
		t.Errorf("%v", err)
	}
}

func FuzzFit(f *testing.F) {
	f.Add("title", "body", 200)
	f.Add(strings.Repeat(family, 30), "e\u0301\x00\"\\", 100)
	f.Fuzz(func(t *testing.T, title, body string, limit int) {
		limit = 80 + min(max(limit, 0), PushBytes)
		i := notifier.Item{ID: "turn:show:opening", Title: title, Body: body}
		p, b, err := fit(limit, &i)
		if err != nil || len(b) > limit || !utf8.Valid(b) || p.ID != i.ID {
			t.Errorf("%d of %d bytes: %q (%v)", len(b), limit, b, err)
		}
	})
}
