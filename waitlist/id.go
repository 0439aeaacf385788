package waitlist

import (
	"strings"
	"unicode/utf8"
)

// MaxID is the length of the longest id a caller may choose.
const MaxID = 64

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	idChars = letters + "._-"
	fanIDs  = idChars + ":|@+"
)

// CheckID returns an Error that names field unless id is one the contract
// allows for shows, openings, announcements and devices.
func CheckID(field, id string) error { return checkID(field, id, idChars, "A-Z a-z 0-9 . _ -") }

// CheckFanID is CheckID for fans, whose ids may also hold : | @ and +.
func CheckFanID(field, id string) error {
	return checkID(field, id, fanIDs, "A-Z a-z 0-9 . _ - : | @ +")
}

func checkID(field, id, allowed, words string) error {
	switch {
	case id == "":
		return Wrong(field, "%s is required: 1 to %d characters of %s", field, MaxID, words)
	case len(id) > MaxID:
		return Wrong(field, "%s is longer than %d characters; choose a shorter one", field, MaxID)
	case !strings.ContainsRune(letters, rune(id[0])):
		return Wrong(field, "%s must start with a letter or digit", field)
	}
	for _, r := range id {
		if !strings.ContainsRune(allowed, r) {
			return Wrong(field, "%s may hold only %s", field, words)
		}
	}
	return nil
}

// CheckText returns an Error that names field when s is empty or blank where it is
// required, longer than limit characters, not UTF-8, or holds control characters
// (which would end up in headers of mail and in logs).
func CheckText(field, s string, required bool, limit int) error {
	return checkText(field, s, required, limit, "")
}

// CheckLines is CheckText for a text that may have several lines.
func CheckLines(field, s string, required bool, limit int) error {
	return checkText(field, s, required, limit, "\n")
}

func checkText(field, s string, required bool, limit int, allowed string) error {
	if required && strings.TrimSpace(s) == "" {
		return Wrong(field, "%s is required", field)
	}
	if !utf8.ValidString(s) {
		return Wrong(field, "%s is not valid UTF-8", field)
	}
	if n := utf8.RuneCountInString(s); n > limit {
		return Wrong(field, "%s has %d characters; at most %d are allowed", field, n, limit)
	}
	for _, r := range s {
		switch control := r < ' ' || r == 0x7f; {
		case !control || strings.ContainsRune(allowed, r):
		case allowed == "":
			return Wrong(field, "%s holds a control character; remove line breaks and tabs", field)
		default:
			return Wrong(field, "%s holds a control character; lines end with \\n alone, and there are no tabs", field)
		}
	}
	return nil
}
