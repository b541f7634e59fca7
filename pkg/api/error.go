package api

import (
	"errors"
	"fmt"
	"strings"
)

// After both errors the caller does not know what the throttle decided. They come wrapped: find them with errors.Is.
var (
	// ErrUnreachable: no complete answer came in time. The error wraps the cause too, such as context.Canceled.
	ErrUnreachable = errors.New("ironic-throttle cannot be reached")
	// ErrBadAnswer: this package does not understand the answer. Perhaps another program listens at the URL.
	ErrBadAnswer = errors.New("not an answer of ironic-throttle")
)

// Error returns code, field and message in one line. Find an *Error with errors.As.
func (e *Error) Error() string {
	if e.Field != "" && !strings.HasPrefix(e.Message, e.Field+": ") {
		return fmt.Sprintf("ironic-throttle answered %d: %s: %s", e.Code, e.Field, e.Message)
	}
	return fmt.Sprintf("ironic-throttle answered %d: %s", e.Code, e.Message)
}

// FieldError says what is wrong with one value that the caller gave.
type FieldError struct {
	Field string // its name, in a request as in the JSON, such as "nodeUUID"
	Value string // as the caller gave it; may be ""
	Rule  string // the rule that it breaks, such as "must be set"
}

// Error returns field, value and rule in one line. It cuts a long value.
func (e *FieldError) Error() string {
	const shown = 64 // bytes of the value
	switch {
	case e.Value == "":
		return e.Field + ": " + e.Rule
	case len(e.Value) > shown:
		return fmt.Sprintf("%s: %q... %s", e.Field, e.Value[:shown], e.Rule)
	}
	return fmt.Sprintf("%s: %q %s", e.Field, e.Value, e.Rule)
}
