package cli

import "errors"

// The exit codes of both programs.
const (
	Yes         = 0 // yes, or done
	No          = 1 // no: not ready, a broken limit, or a failure on the way
	WrongUse    = 2 // wrong use or configuration
	Unreachable = 3 // the throttle or Ironic could not be reached
)

// exit is an error with the exit code of the program.
type exit struct {
	error

	code int
}

// Exit returns err with the exit code of the program that it ends. If err is nil, the program prints no error. An error
// without a code comes from the parsing of the command line, and means WrongUse.
func Exit(code int, err error) error {
	if err == nil {
		err = errors.New("")
	}
	return &exit{err, code}
}

// Unwrap returns the cause.
func (e *exit) Unwrap() error { return e.error }
