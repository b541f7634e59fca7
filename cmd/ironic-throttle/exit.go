package main

import (
	"errors"
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// clientError gives an error of the API client its code. That the throttle knows no such thing, knows better, or failed on the
// way is a no. A 404 without a field is no answer of a throttle that has the path.
func clientError(err error) error {
	code, answer := cli.Unreachable, new(api.Error)
	switch {
	case errors.As(err, new(*api.FieldError)):
		code = cli.WrongUse
	case errors.As(err, &answer):
		switch answer.Code {
		case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
			code = cli.WrongUse
		case http.StatusConflict, http.StatusInternalServerError:
			code = cli.No
		case http.StatusNotFound:
			if answer.Field != "" {
				code = cli.No
			}
		}
	}
	return cli.Exit(code, err)
}
