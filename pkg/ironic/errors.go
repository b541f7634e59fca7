package ironic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gophercloud/gophercloud/v2"
)

// Cause is the class of a failed request: what an operator has to check.
type Cause string

// The causes.
const (
	CauseUnreachable  Cause = "unreachable"       // no answer: network, TLS, timeout
	CauseUnauthorized Cause = "unauthorized"      // 401, 403: the credentials
	CauseVersion      Cause = "wrong version"     // 406, or an Ironic that is too old
	CauseServer       Cause = "server error"      // 5xx: Ironic itself, its database
	CauseRefused      Cause = "refused"           // any other status
	CauseAnswer       Cause = "unreadable answer" // cut off, too long, or not Ironic's JSON
)

// CauseOf returns the class of an error that the Client or the Poller returned; "" for nil.
func CauseOf(err error) Cause {
	if err == nil {
		return ""
	}
	if re, ok := errors.AsType[*RequestError](err); ok {
		return re.Cause
	}
	return CauseUnreachable
}

// RequestError says how a request to Ironic failed. Its text has no credentials, and at most one line of Ironic's text.
type RequestError struct {
	Cause  Cause
	What   string // the request, e.g. "GET /v1/nodes?provision_state=deploying"
	Status int    // the HTTP status; 0: there was no answer
	Fault  string // Ironic's explanation, cut to one line; "": it gave none
	Err    error  // the error below; nil: Status says it all
}

// Error implements error.
func (e *RequestError) Error() string {
	text := fmt.Sprintf("ironic: %s: %s", e.What, e.Cause)
	if e.Status != 0 {
		text += fmt.Sprintf(": %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.Fault != "" {
		text += ": " + e.Fault
	}
	if e.Err != nil { // its text may repeat what Ironic sent
		text += ": " + Line(e.Err.Error(), maxFaultLen)
	}
	return text
}

// Unwrap returns Err.
func (e *RequestError) Unwrap() error { return e.Err }

// answerError returns the error of reading the body of a 200.
func answerError(what string, err error) *RequestError {
	if already, ok := errors.AsType[*RequestError](err); ok {
		return already
	}
	cause := CauseAnswer
	if _, network := errors.AsType[net.Error](err); network || errors.Is(err, context.Canceled) {
		cause = CauseUnreachable // the connection broke, or the request timed out
	}
	if long, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = fmt.Errorf("the answer is longer than %d bytes", long.Limit)
	}
	return &RequestError{Cause: cause, What: what, Err: err}
}

// requestError returns an error of gophercloud with its class.
func requestError(what string, err error) *RequestError {
	if code, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		return &RequestError{Cause: causeOfStatus(code.Actual), What: what, Status: code.Actual, Fault: fault(code.Body)}
	}
	// The text of a url.Error repeats method and URL.
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return &RequestError{Cause: CauseUnreachable, What: what, Err: err}
}

func causeOfStatus(status int) Cause {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return CauseUnauthorized
	case status == http.StatusNotAcceptable:
		return CauseVersion
	case status >= 500:
		return CauseServer
	}
	return CauseRefused
}

// fault returns the explanation in the body of an error, "" if it has none of Ironic's three forms: error_message with
// JSON inside a string (faultstring), the same for routing and versions (description), and http_basic's
// {"error":{"message":…}}.
func fault(body []byte) string {
	var object map[string]any
	_ = json.Unmarshal(body, &object)
	return explanation(object)
}

func explanation(value any) string {
	switch value := value.(type) {
	case string:
		if !strings.HasPrefix(strings.TrimSpace(value), "{") {
			return Line(value, maxFaultLen)
		}
		return fault([]byte(value))
	case map[string]any:
		for _, name := range []string{"error_message", "error", "faultstring", "description", "message", "title"} {
			if text := explanation(value[name]); text != "" {
				return text
			}
		}
	}
	return ""
}

// Line returns a foreign text as a log, an error or an answer may show it: on one line, without unprintable characters,
// and in at most limit bytes. If Line cuts the end off, the text ends in an ellipsis.
func Line(s string, limit int) string {
	const more = "…"
	long := len(s) > 4*limit // Line reads no more than that, even if it is white space
	s = strings.ToValidUTF8(cut(s, 4*limit), "?")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }), " ")
	if long || len(s) > limit {
		s = cut(s, max(0, limit-len(more))) + more
	}
	return s
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
