package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// readJSON reads a body of at most limit bytes, or answers what is wrong with it and reports false. The content type
// is demanded of an empty one too: a page of another site cannot send it without asking us first, which we refuse.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, bool) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		writeError(w, http.StatusUnsupportedMediaType, "", "Content-Type must be application/json")
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			writeError(w, http.StatusRequestEntityTooLarge, "", fmt.Sprintf("body: must not be larger than %d bytes", limit))
		} else {
			writeError(w, http.StatusBadRequest, "", "body: could not be read to its end")
		}
		return nil, false
	}
	return body, true
}

// readChange is readJSON for what an operator changes. Browsers that say where a request comes from are held to it.
func readChange(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if err := sameOrigin.Check(r); err != nil {
		writeError(w, http.StatusForbidden, "", "a page of another site must not change anything here")
		return nil, false
	}
	return readJSON(w, r, maxChangeBody)
}

var sameOrigin = http.NewCrossOriginProtection()

const internalError = "internal error; the log has the details"

// writeJSON sends v with code; lists are never null. The whole body is built before the first byte, so that a fault
// cannot cut an answer in two.
func writeJSON(w http.ResponseWriter, code int, v any) {
	whole := reflect.New(reflect.TypeOf(v)).Elem()
	whole.Set(reflect.ValueOf(v))
	fill(whole)
	body, err := json.Marshal(whole.Interface())
	if err != nil {
		writeError(w, http.StatusInternalServerError, "", "internal error: the answer has no JSON form")
		return
	}
	write(w, code, "application/json", append(body, '\n'))
}

// fill makes nil lists and maps in v empty ones. Lists are copied first: readers share what the Decider gives.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		for i := range list.Len() {
			fill(list.Index(i))
		}
		v.Set(list)
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
	}
}

// write sends a whole answer.
func write(w http.ResponseWriter, code int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body)
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

// shown is at most a line of a client's text.
func shown(text string) string {
	const most = 64
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}

// oneLine is text of others as one line of an answer.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
}
