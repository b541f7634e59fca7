package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// readJSON reads a body of at most limit bytes into v, or answers what is wrong with it and returns false. It takes
// only known fields in their exact spelling, each once: with a misspelt field a host would ask for less than it meant.
// An empty body needs the content type too: a page of another site cannot send it without a preflight request,
// which the server refuses.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64, v any) bool {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		writeError(w, http.StatusUnsupportedMediaType, "", "Content-Type must be application/json")
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		writeError(w, http.StatusRequestEntityTooLarge, "", fmt.Sprintf("body: must not be larger than %d bytes", limit))
	case err != nil:
		writeError(w, http.StatusBadRequest, "", "body: could not be read to its end")
	default:
		if err = decode(body, v); err != nil {
			writeBadRequest(w, err)
		}
	}
	return err == nil
}

// decode reads one JSON object; no body stands for {}. The error is an *api.FieldError if one field is to blame.
func decode(body []byte, v any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	wrong, kind := new(json.UnmarshalTypeError), kjson.FieldError(nil)
	faults, err := kjson.UnmarshalStrict(body, v)
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		must := cmp.Or(called[wrong.Type.Kind()], "of another type")
		return &api.FieldError{Field: wrong.Field, Rule: fmt.Sprintf("must be %s, not %s", must, wrong.Value)}
	case err != nil:
		return fmt.Errorf("body: must be one JSON object, and nothing else: %w", err)
	case !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")): // null is no error
		return errors.New("body: must be one JSON object, and nothing else")
	case len(faults) > 0 && errors.As(faults[0], &kind):
		rule := "is not a field here"
		if strings.HasPrefix(faults[0].Error(), "duplicate") {
			rule = "is given twice"
		}
		return &api.FieldError{Field: kind.FieldPath(), Rule: rule}
	}
	return notNull(body)
}

// called has the words of error texts for the values of each kind.
var called = map[reflect.Kind]string{reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.String: "a string"}

// notNull refuses fields that are null: encoding/json takes them for absent, which the client may not have meant.
func notNull(body []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if string(fields[name]) == "null" {
			return &api.FieldError{Field: name, Rule: "must not be null; leave it out"}
		}
	}
	return nil
}

// readChange is readJSON for what an operator changes. It refuses what a browser sends for a page of another site.
func readChange(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := sameOrigin.Check(r); err != nil {
		writeError(w, http.StatusForbidden, "", "a page of another site must not change anything here")
		return false
	}
	return readJSON(w, r, maxChangeBody, v)
}

var sameOrigin = http.NewCrossOriginProtection()

const internalError = "internal error; the log has the details"

// writeJSON sends v with code; lists are never null. It builds the whole body before the first byte, so that a fault
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

// fill makes nil lists and maps in v empty ones. It copies lists first, because readers share what the Decider returns.
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

// writeError sends an error in the form that every answer has that is not 2xx.
func writeError(w http.ResponseWriter, code int, field, message string) {
	writeJSON(w, code, api.ErrorBody{Error: api.Error{Code: code, Message: message, Field: field}})
}

// writeBadRequest answers 400 and names the field if one is to blame.
func writeBadRequest(w http.ResponseWriter, err error) {
	field := ""
	if f := new(api.FieldError); errors.As(err, &f) {
		field = f.Field
	}
	writeError(w, http.StatusBadRequest, field, err.Error())
}

// shown shortens a text of a client for logs and answers, oneLine a text of another server.
func shown(text string) string   { return ironic.Line(text, 64) }
func oneLine(text string) string { return ironic.Line(text, 1<<10) }
