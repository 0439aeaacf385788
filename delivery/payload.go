package delivery

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"fanline/notifier"
)

// PushBytes is what a push may weigh with all its escapes, at every push service.
const PushBytes = 4096

// leastText is the room in bytes that a push keeps for its title and body: the
// caller's own data gives way to it, since the app can read that from the inbox.
const leastText = 512

// ErrTooLarge says that a push is too large even without its texts and data.
var ErrTooLarge = errors.New("the push is too large")

// Fit renders a push in at most limit bytes. What gives way, in this order, is the
// end of the body, the end of the title and the item's data as a whole; texts are
// cut between graphemes and marked with an ellipsis. Everything else that render
// puts in, such as ids and the link, is never touched. render must write the title
// and the body once each, as JSON does it (see JSON).
func Fit(limit int, i *notifier.Item, render func(title, body string, data json.RawMessage) ([]byte, error)) ([]byte, error) {
	title, body := Clean(i.Title), Clean(i.Body)
	weight := JSONWeight(title) + JSONWeight(body)
	data := i.Data
	bare, err := render("", "", data)
	if err != nil {
		return nil, err
	}
	if len(data) > 0 && limit-len(bare) < min(weight, leastText) {
		data = nil
		if bare, err = render("", "", nil); err != nil {
			return nil, err
		}
	}
	room := limit - len(bare)
	if room < 0 {
		return nil, ErrTooLarge
	}
	title = Trim(title, Ellipsis, max(room/2, room-JSONWeight(body)), JSONWeight)
	body = Trim(body, Ellipsis, room-JSONWeight(title), JSONWeight)
	return render(title, body, data)
}

// Ellipsis marks a text that was cut.
const Ellipsis = "…"

// Trim is s where it weighs at most room, and otherwise its beginning with the mark,
// cut between graphemes: a family of emoji or a letter with its accents is whole or
// not there. It is "" where there is no room for the mark. The weight of a text must
// be the sum of its runes' weights.
func Trim(s, mark string, room int, weight func(string) int) string {
	if weight(s) <= room {
		return s
	}
	if room -= weight(mark); room < 0 {
		return ""
	}
	end, state := 0, -1
	for rest := s; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if room -= weight(cluster); room < 0 {
			break
		}
		end += len(cluster)
	}
	return strings.TrimRightFunc(s[:end], unicode.IsSpace) + mark
}

// Clean is s as valid UTF-8 without control characters other than line breaks and
// tabs.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Line is a clean s on one line: what was a line break or a tab is a space.
func Line(s string) string {
	return strings.Join(strings.FieldsFunc(Clean(strings.ReplaceAll(s, "\r", "\n")), func(r rune) bool {
		return r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029'
	}), " ")
}

// JSON writes v for a push: without the escapes that only HTML needs.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// JSONWeight is how many bytes the valid text s takes inside a string as JSON writes it.
func JSONWeight(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
			n += 2
		case r < ' ', r == '\u2028', r == '\u2029':
			n += 6
		default:
			n += utf8.RuneLen(r)
		}
	}
	return n
}

// Extra is what an app needs of an item beside its texts, the same in every push.
type Extra struct {
	ID        string             `json:"id"`
	Kind      notifier.Kind      `json:"kind"`
	Type      string             `json:"type,omitempty"`
	Lane      notifier.Lane      `json:"lane"`
	ShowID    string             `json:"show_id,omitempty"`
	OpeningID string             `json:"opening_id,omitempty"`
	Seats     int                `json:"seats,omitempty"`
	State     notifier.TurnState `json:"state,omitempty"`
	OpensAt   *notifier.Stamp    `json:"opens_at,omitempty"`
	ClosesAt  *notifier.Stamp    `json:"closes_at,omitempty"`
	URL       string             `json:"url,omitempty"`
}

// ExtraOf an envelope.
func ExtraOf(e *Envelope) Extra {
	i := &e.Item
	return Extra{
		ID: i.ID, Kind: i.Kind, Type: i.Type, Lane: i.Lane, ShowID: i.ShowID, OpeningID: i.OpeningID,
		Seats: i.Seats, State: i.State, OpensAt: i.OpensAt, ClosesAt: i.ClosesAt, URL: e.URL,
	}
}
