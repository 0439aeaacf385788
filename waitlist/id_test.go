package waitlist

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestIDHasOneToSixtyFourAllowedCharacters(t *testing.T) {
	for _, c := range []struct {
		id       string
		any, fan bool // allowed for shows and the like, for fans
	}{
		{"a", true, true},
		{"0", true, true},
		{"A.b_c-9", true, true},
		{strings.Repeat("x", 64), true, true},
		{strings.Repeat("x", 65), false, false},
		{"", false, false},
		{"fan:1|x@y+z", false, true},
		{"auth0|abc", false, true},
		{"-a", false, false},
		{".a", false, false},
		{"..", false, false},
		{"_a", false, false},
		{"@a", false, false},
		{"+a", false, false},
		{"a b", false, false},
		{"a/b", false, false},
		{"a%b", false, false},
		{"a\x00b", false, false},
		{"a\nb", false, false},
		{"a\n", false, false},
		{"é", false, false},
		{"aé", false, false},
		{"a\xff", false, false},
		{"\xff", false, false},
		{"a\ufffd", false, false},
		{"аbc", false, false}, // a Cyrillic letter
	} {
		if err := CheckID("show", c.id); (err == nil) != c.any {
			t.Errorf("CheckID(%q): %v", c.id, err)
		} else if err != nil {
			wantWrong(t, err, "show")
		}
		if err := CheckFanID("fan_id", c.id); (err == nil) != c.fan {
			t.Errorf("CheckFanID(%q): %v", c.id, err)
		} else if err != nil {
			wantWrong(t, err, "fan_id")
		}
	}
}

var (
	idPattern  = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z`)
	fanPattern = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._:|@+-]{0,63}\z`)
)

func FuzzIDsAreThoseOfTheContract(f *testing.F) {
	for _, s := range []string{"", "a", "a b", "fan@x", "..", "a\xff", "é", strings.Repeat("x", 65), "a\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := CheckID("show", s) == nil, idPattern.MatchString(s); got != want {
			t.Errorf("CheckID(%q) allows it: %v, want %v", s, got, want)
		}
		if got, want := CheckFanID("fan_id", s) == nil, fanPattern.MatchString(s); got != want {
			t.Errorf("CheckFanID(%q) allows it: %v, want %v", s, got, want)
		}
		if err := CheckText("name", s, true, 64); err == nil {
			if n := utf8.RuneCountInString(s); n < 1 || n > 64 || strings.ContainsAny(s, "\r\n\t\x00\x7f") {
				t.Errorf("CheckText allows %q", s)
			}
		}
	})
}

func TestTextHasItsLengthInCharactersAndNoControls(t *testing.T) {
	for _, c := range []struct {
		text     string
		required bool
		limit    int
		ok       bool
	}{
		{"", false, 3, true},
		{"", true, 3, false},
		{"abc", true, 3, true},
		{"éàü", true, 3, true},
		{"🎟🎟🎟", true, 3, true},
		{"abcd", true, 3, false},
		{"éàüö", true, 3, false},
		{"a\n", true, 3, false},
		{"a\r", true, 3, false},
		{"a\t", true, 3, false},
		{"a\x00", true, 3, false},
		{"a\x7f", true, 3, false},
		{"a\xff", true, 3, false},
		{"\xed\xa0\x80", true, 3, false}, // half of a surrogate pair
	} {
		err := CheckText("name", c.text, c.required, c.limit)
		if c.ok {
			wantWrong(t, err, "")
		} else {
			wantWrong(t, err, "name")
		}
	}
}
