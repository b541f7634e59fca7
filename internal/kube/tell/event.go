package tell

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	component = "ironic-throttle"
	maxText   = 1000 // bytes of a message; events.k8s.io allows 1024
)

// Event returns an Event on an object, of which APIVersion, Kind, Namespace, Name and UID must be set. kind is Normal
// or Warning, instance our pod. A long text is cut.
func Event(on corev1.ObjectReference, kind, reason, text, instance string, now time.Time) *corev1.Event {
	at := metav1.NewTime(now)
	name := string(on.UID) + "." + strconv.FormatInt(now.UnixNano(), 16) // an object's own name may be too long for that
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: on.Namespace, Name: name},
		InvolvedObject: on, Type: kind, Reason: reason, Message: shorten(text),
		Count: 1, FirstTimestamp: at, LastTimestamp: at,
		Source:              corev1.EventSource{Component: component, Host: instance},
		ReportingController: component, ReportingInstance: instance,
	}
}

// shorten cuts s between two characters, and replaces what is no UTF-8.
func shorten(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= maxText {
		return s
	}
	const dots = "..."
	end := maxText - len(dots)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + dots
}
