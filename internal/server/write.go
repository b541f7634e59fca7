package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const internalError = "internal error; the log has the details"

// writeJSON sends v with code. The whole body is built before the first byte,
// so that a fault cannot cut an answer in two.
func writeJSON(w http.ResponseWriter, code int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		writeError(w, http.StatusInternalServerError, "", "internal error: the answer has no JSON form")
		return
	}
	writeBody(w, code, append(body, '\n'))
}

func writeBody(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	w.Write(body)
}

// writeError sends the error form of every answer that is not 2xx.
func writeError(w http.ResponseWriter, code int, field, message string) {
	writeJSON(w, code, api.ErrorBody{Error: api.Error{Code: code, Message: message, Field: field}})
}

// writeBadRequest answers 400 and names the field where one is to blame.
func writeBadRequest(w http.ResponseWriter, err error) {
	field := ""
	if f := new(api.FieldError); errors.As(err, &f) {
		field = f.Field
	}
	writeError(w, http.StatusBadRequest, field, err.Error())
}
