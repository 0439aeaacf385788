package waitlist

import (
	"errors"
	"fmt"
	"time"
)

// Code names what a refusal means to the caller. The words are those of the
// contract; web maps each to a status in one table.
type Code string

// The codes a rule of the line can refuse with.
const (
	Invalid        Code = "invalid"
	NotFound       Code = "not_found"
	Conflict       Code = "conflict"
	NotYourTurn    Code = "not_your_turn"
	AlreadyClaimed Code = "already_claimed"
	AllHeld        Code = "all_held"
	TurnOver       Code = "turn_over"
	Filled         Code = "filled"
	Closed         Code = "closed"
	Unavailable    Code = "unavailable"
)

// Error is a refusal: a code for programs and a sentence for people. Anything
// else that comes out of this package is a fault, whose text belongs in the log.
type Error struct {
	Code Code
	// Field names the input that is wrong, in the contract's words; empty otherwise.
	Field string
	// Detail says what is wrong and what to do about it.
	Detail string
	// RetryAfter is set where trying again can help.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Detail }

// Refuse makes an Error.
func Refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Wrong makes the Error of a bad input field.
func Wrong(field, format string, args ...any) *Error {
	return &Error{Code: Invalid, Field: field, Detail: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of a refusal, or "" for a fault or nil.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
