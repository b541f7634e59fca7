package main

import (
	"errors"
	"net/http"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// The exit codes, as scripts know them.
const (
	exitYes         = 0 // yes, or done
	exitNo          = 1 // no: not ready, a limit was broken, or it failed on the way
	exitUse         = 2 // wrong use or configuration
	exitUnreachable = 3 // the throttle or Ironic could not be reached
)

// exitError ends a command with a code. Errors without one come from the
// parsing of the command line, and are wrong use.
type exitError struct {
	code int
	err  error // nil: there is nothing to say
}

// Error implements error.
func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the cause.
func (e *exitError) Unwrap() error { return e.err }

// exitCode is the code for an error that a command returned.
func exitCode(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitYes
	case errors.As(err, &e):
		return e.code
	}
	return exitUse
}

// clientError gives an error of the API client its code.
func clientError(err error) error {
	var already *exitError
	var field *api.FieldError
	var answer *api.Error
	switch {
	case errors.As(err, &already):
		return err
	case errors.As(err, &field):
		return &exitError{exitUse, err}
	case errors.As(err, &answer) &&
		slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden}, answer.Code):
		return &exitError{exitUse, err}
	}
	return &exitError{exitUnreachable, err}
}

// changeError is clientError for what changes something: that the throttle knows no
// such thing, knows better, or failed on the way is a no. A 404 without a field is
// no answer of a throttle that has the path.
func changeError(err error) error {
	var answer *api.Error
	if !errors.As(err, &answer) {
		return clientError(err)
	}
	switch answer.Code {
	case http.StatusConflict, http.StatusInternalServerError:
		return &exitError{exitNo, err}
	case http.StatusNotFound:
		if answer.Field != "" {
			return &exitError{exitNo, err}
		}
	}
	return clientError(err)
}
