package cli

import "errors"

// The exit codes, as scripts know them.
const (
	Yes         = 0 // yes, or done
	No          = 1 // no: not ready, a limit was broken, or it failed on the way
	WrongUse    = 2 // wrong use or configuration
	Unreachable = 3 // the throttle or Ironic could not be reached
)

// exit ends a program with a code.
type exit struct {
	error

	code int
}

// Exit gives an error the exit code of the program that it ends. Without an error the program ends and says nothing
// more. An error without a code comes from the parsing of the command line, and is wrong use.
func Exit(code int, err error) error {
	if err == nil {
		err = errors.New("")
	}
	return &exit{err, code}
}

// Unwrap returns the cause.
func (e *exit) Unwrap() error { return e.error }
