package main

import (
	"errors"
	"net/http"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// clientError gives an error of the API client its code.
func clientError(err error) error {
	var field *api.FieldError
	var answer *api.Error
	switch {
	case errors.As(err, &field):
		return cli.Exit(cli.WrongUse, err)
	case errors.As(err, &answer) &&
		slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden}, answer.Code):
		return cli.Exit(cli.WrongUse, err)
	}
	return cli.Exit(cli.Unreachable, err)
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
		return cli.Exit(cli.No, err)
	case http.StatusNotFound:
		if answer.Field != "" {
			return cli.Exit(cli.No, err)
		}
	}
	return clientError(err)
}
