package tell

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// maxWarnings bounds the texts that a Warner remembers; then it forgets them.
const maxWarnings = 1000

// Warner tells a warning about an object once, in the log and as an Event. One goroutine uses it.
type Warner struct {
	Client   client.Client
	Instance string // our name in Events
	Log      *slog.Logger

	told map[string]bool // texts that were logged; true: an Event has it too
}

// Warn tells a warning if it was not told. An Event that cannot be created is tried again with the next call.
func (w *Warner) Warn(ctx context.Context, on corev1.ObjectReference, reason, text string) {
	if w.told == nil || len(w.told) > maxWarnings {
		w.told = map[string]bool{}
	}
	done, logged := w.told[text]
	if !logged {
		w.Log.Warn("cluster", "warning", text)
	}
	if !done {
		err := w.Client.Create(ctx, Event(on, corev1.EventTypeWarning, reason, text, w.Instance, time.Now()))
		done = err == nil
	}
	w.told[text] = done
}
