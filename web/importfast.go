package web

import (
	"bytes"
	"time"
)

// plainJoin reads a line of an import as nearly all are: an object of known fields, each
// once, with texts of ASCII that escape nothing. ok is false for any other, which is
// then read by decode, or refused by it with the reason. It is twenty times as fast.
func plainJoin(line []byte) (j JoinRequest, ok bool) {
	s := plainScanner{line}
	if !s.take('{') {
		return j, false
	}
	var seen [4]bool
	for first := true; ; first = false {
		if s.take('}') {
			return j, len(s.rest) == 0 && !first
		}
		if !first && !s.take(',') {
			return j, false
		}
		name, ok := s.text()
		if !ok || !s.take(':') {
			return j, false
		}
		field, ok := s.field(string(name), &j)
		if !ok || seen[field] {
			return j, false
		}
		seen[field] = true
	}
}

// plainScanner takes JSON apart from the front. White space between its parts goes with
// the part after it.
type plainScanner struct{ rest []byte }

func (s *plainScanner) space() { s.rest = bytes.TrimLeft(s.rest, " \t\r\n") }

// take takes c, where it stands there, and the space around it.
func (s *plainScanner) take(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	s.space()
	return true
}

// text is a string, without its quotes.
func (s *plainScanner) text() ([]byte, bool) {
	if len(s.rest) == 0 || s.rest[0] != '"' {
		return nil, false
	}
	for i, c := range s.rest[1:] {
		switch {
		case c == '"':
			text := s.rest[1 : 1+i]
			s.rest = s.rest[2+i:]
			return text, true
		case c < ' ' || c > '~' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

// number is a whole number of up to six digits.
func (s *plainScanner) number() (n int, ok bool) {
	i := 0
	for ; i < len(s.rest) && s.rest[i] >= '0' && s.rest[i] <= '9'; i++ {
		n = 10*n + int(s.rest[i]-'0')
		if i == 6 {
			return 0, false
		}
	}
	if i == 0 || i > 1 && s.rest[0] == '0' {
		return 0, false
	}
	s.rest = s.rest[i:]
	return n, true
}

// field reads the value of a field into j and returns the field's number.
func (s *plainScanner) field(name string, j *JoinRequest) (no int, ok bool) {
	var text []byte
	switch name {
	case "fan_id":
		text, ok = s.text()
		j.FanID = string(text)
		return 0, ok
	case "tier":
		text, ok = s.text()
		j.Tier = string(text)
		return 1, ok
	case "party_size":
		n, ok := s.number()
		j.PartySize = &n
		return 2, ok
	case "joined_at":
		var t time.Time
		text, ok = s.text()
		j.JoinedAt = &t
		return 3, ok && t.UnmarshalText(text) == nil
	}
	return 0, false
}
