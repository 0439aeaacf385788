package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Problem is a refusal by the server: its problem+json, or what could be made of
// an answer that was none.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`

	RetryAfter time.Duration `json:"-"` // from the header, 0 without one
	Call       string        `json:"-"` // method and path
}

func (p *Problem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	return fmt.Sprintf("%s: %d %s: %s", p.Call, p.Status, p.Code, text)
}

// CodeOf is the problem code in err, or "" where err holds none.
func CodeOf(err error) string {
	var problem *Problem
	if errors.As(err, &problem) {
		return problem.Code
	}
	return ""
}

// readProblem makes a Problem of any answer that is not a success.
func readProblem(call string, resp *http.Response) *Problem {
	p := &Problem{}
	var body []byte
	if resp.Body != nil {
		body, _ = io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	}
	if err := json.Unmarshal(body, p); err != nil {
		*p = Problem{Title: http.StatusText(resp.StatusCode), Detail: firstLine(body)}
	}
	// The status line is what the server did; the body only repeats it.
	p.Status = resp.StatusCode
	p.Call = call
	p.RetryAfter = retryAfter(resp.Header)
	return p
}

func firstLine(body []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	if len(line) > 200 {
		line = line[:200]
	}
	return line
}

// retryAfter reads whole seconds or a date, as RFC 9110 has it.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.Atoi(v); err == nil && s > 0 {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
