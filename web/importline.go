package web

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fanline/waitlist"
)

// maxLine is the longest line of an import.
const maxLine = 64 << 10

var errLongLine = errors.New("the line is longer than 64 KiB")

// lines are the lines of a text of any length, each bounded.
type lines struct {
	r *bufio.Reader
	n int // the number of the line that next returned
}

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(r, maxLine+len("\r\n"))}
}

// next returns a line without its end, valid until the next call; errLongLine for
// one that is too long, after which it can go on; io.EOF at the end.
func (l *lines) next() ([]byte, error) {
	text, err := l.r.ReadSlice('\n')
	if len(text) > 0 {
		l.n++
	}
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.r.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, errLongLine
	case err != nil && (!errors.Is(err, io.EOF) || len(text) == 0):
		return nil, err
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	if l.n == 1 {
		text = bytes.TrimPrefix(text, []byte("\ufeff")) // spreadsheets write it
	}
	return text, nil
}

// format reads the lines of one content type.
type format struct {
	header func(line []byte) error // of the first line; nil: there is none
	parse  func(line []byte) (waitlist.Join, error)
}

func formatOf(h http.Header) format {
	if got, _, err := mime.ParseMediaType(h.Get("Content-Type")); err == nil && got == "text/csv" {
		c := &csvFormat{}
		return format{c.header, c.parse}
	}
	return format{nil, parseNDJSON}
}

func parseNDJSON(line []byte) (waitlist.Join, error) {
	if j, ok := plainJoin(line); ok {
		return j.join(), nil
	}
	var j JoinRequest
	if p := decode(line, &j, ""); p != nil {
		return waitlist.Join{}, errors.New(p.Detail)
	}
	return j.join(), nil
}

// csvFormat reads CSV line by line. No field may hold a line break, so that a
// stray quote spoils one line and not the rest of the file.
type csvFormat struct{ columns []string }

func (c *csvFormat) header(line []byte) error {
	columns, err := csvFields(line)
	if err != nil {
		return err
	}
	for i := range columns {
		columns[i] = strings.TrimSpace(columns[i])
		if !slices.Contains([]string{"fan_id", "party_size", "tier", "joined_at"}, columns[i]) {
			return fmt.Errorf("%.40q is not a column; they are fan_id, party_size, tier and joined_at", columns[i])
		}
		if slices.Contains(columns[:i], columns[i]) {
			return fmt.Errorf("the column %s stands there twice", columns[i])
		}
	}
	if !slices.Contains(columns, "fan_id") {
		return errors.New("the column fan_id is missing")
	}
	c.columns = columns
	return nil
}

// parse reads a row; an empty field is an omitted one.
func (c *csvFormat) parse(line []byte) (waitlist.Join, error) {
	fields, err := csvFields(line)
	if err != nil {
		return waitlist.Join{}, err
	}
	if len(fields) != len(c.columns) {
		return waitlist.Join{}, fmt.Errorf("the line has %d fields; the header has %d", len(fields), len(c.columns))
	}
	var j JoinRequest
	for i, v := range fields {
		if v == "" {
			continue
		}
		switch c.columns[i] {
		case "fan_id":
			j.FanID = v
		case "tier":
			j.Tier = v
		case "party_size":
			n, err := strconv.Atoi(v)
			if err != nil {
				return waitlist.Join{}, errors.New("party_size must be a whole number")
			}
			j.PartySize = &n
		case "joined_at":
			t, err := time.Parse(time.RFC3339, v)
			if err != nil {
				return waitlist.Join{}, errors.New("joined_at must be an RFC 3339 time such as 2026-09-01T19:30:00Z")
			}
			j.JoinedAt = &t
		}
	}
	return j.join(), nil
}

func csvFields(line []byte) ([]string, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("the line is not valid UTF-8")
	}
	if !bytes.ContainsRune(line, '"') {
		return strings.Split(string(line), ","), nil
	}
	r := csv.NewReader(bytes.NewReader(line))
	fields, err := r.Read()
	if err != nil {
		return nil, errors.New("the line's quotes do not match")
	}
	return fields, nil
}
