package snapshot

import (
	"errors"
	"fmt"
)

// ErrClosed is the answer of a Cache after Close.
var ErrClosed = errors.New("snapshot: the cache is closed")

// Error is a failure of one of the functions in Options. Get returns the same one
// during the pause that follows it.
type Error struct {
	// Op is the function: "probe", "list" or "overlay".
	Op string
	// Key is what it worked on.
	Key any
	// Err is what it said, or a *PanicError.
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("snapshot: %s of %v: %v", e.Op, e.Key, e.Err) }

// Unwrap returns what the function said.
func (e *Error) Unwrap() error { return e.Err }

// PanicError is a panic of a function in Options.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// errGone is the failure of a function that ended its goroutine (runtime.Goexit).
var errGone = errors.New("ended without a result")
