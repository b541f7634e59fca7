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
	CauseUnreachable  Cause = "unreachable"       // no answer: network, TLS, time
	CauseUnauthorized Cause = "unauthorized"      // 401, 403: our credentials
	CauseVersion      Cause = "wrong version"     // 406, or an Ironic that is too old
	CauseServer       Cause = "server error"      // 5xx: Ironic itself, its database
	CauseRefused      Cause = "refused"           // any other status
	CauseAnswer       Cause = "unreadable answer" // torn, too long, not Ironic's JSON
)

// CauseOf returns the class of an error that the client or the Poller returned; "" for nil.
func CauseOf(err error) Cause {
	if err == nil {
		return ""
	}
	if re, ok := errors.AsType[*RequestError](err); ok {
		return re.Cause
	}
	return CauseUnreachable
}

// RequestError says how a request to Ironic failed. Its text has neither credentials nor more than a line of Ironic's.
type RequestError struct {
	Cause  Cause
	What   string // of the request, e.g. "GET /v1/nodes?provision_state=deploying"
	Status int    // of HTTP; 0 when there was no answer
	Fault  string // Ironic's own explanation, cut to one line; "" when it gave none
	Err    error  // the cause below; nil when Status says it all
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
	if e.Err != nil { // net/http repeats what it cannot read
		text += ": " + Line(e.Err.Error(), maxFaultLen)
	}
	return text
}

// Unwrap returns Err.
func (e *RequestError) Unwrap() error { return e.Err }

// answerError is the failure of reading a good status' body.
func answerError(what string, err error) *RequestError {
	if already, ok := errors.AsType[*RequestError](err); ok {
		return already
	}
	cause := CauseAnswer
	if _, network := errors.AsType[net.Error](err); network || errors.Is(err, context.Canceled) {
		cause = CauseUnreachable // the connection broke, or the time was over
	}
	if long, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = fmt.Errorf("the answer is longer than %d bytes", long.Limit)
	}
	return &RequestError{Cause: cause, What: what, Err: err}
}

// requestError gives an error of gophercloud its class.
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

// fault finds the explanation in the body of an error. Ironic has three forms: error_message with JSON inside a string
// (faultstring), the same for routing and versions (description), and http_basic's {"error":{"message":…}}. A body in
// no such form explains nothing.
func fault(body []byte) string {
	var said map[string]any
	_ = json.Unmarshal(body, &said)
	return explanation(said)
}

func explanation(said any) string {
	switch said := said.(type) {
	case string:
		if !strings.HasPrefix(strings.TrimSpace(said), "{") {
			return Line(said, maxFaultLen)
		}
		return fault([]byte(said))
	case map[string]any:
		for _, name := range []string{"error_message", "error", "faultstring", "description", "message", "title"} {
			if text := explanation(said[name]); text != "" {
				return text
			}
		}
	}
	return ""
}

// Line is a text of somebody else's as it may be shown in a log, an error or an answer: on one line, without what
// cannot be printed, and of at most limit bytes. Where some of it is missing at the end, it ends in an ellipsis.
func Line(s string, limit int) string {
	const more = "…"
	long := len(s) > 4*limit // so much white space is folded; the rest is not even read
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
