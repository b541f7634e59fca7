package api

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of the Client that are not answers of the throttle. Both mean that it is not known what was decided, and
// both come with Ready false.
var (
	// ErrUnreachable: no answer came, or not in time.
	ErrUnreachable = errors.New("ironic-throttle cannot be reached")
	// ErrBadAnswer: something answered, but not ironic-throttle as this package knows it.
	ErrBadAnswer = errors.New("not an answer of ironic-throttle")
)

// Error makes an error answer of the throttle an error: it is what errors.As finds in the errors of a Client.
func (e *Error) Error() string {
	if e.Field != "" && !strings.HasPrefix(e.Message, e.Field+": ") {
		return fmt.Sprintf("ironic-throttle answered %d: %s: %s", e.Code, e.Field, e.Message)
	}
	return fmt.Sprintf("ironic-throttle answered %d: %s", e.Code, e.Message)
}

// FieldError says what is wrong with one field of a request.
type FieldError struct {
	Field string // as in the JSON, such as "nodeUUID"
	Value string // as given
	Rule  string // what it breaks
}

// Error names field, value and rule. It shows at most a line of the value.
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
