package tell

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
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
		InvolvedObject: on, Type: kind, Reason: reason, Message: ironic.Line(text, maxText),
		Count: 1, FirstTimestamp: at, LastTimestamp: at,
		Source:              corev1.EventSource{Component: component, Host: instance},
		ReportingController: component, ReportingInstance: instance,
	}
}
