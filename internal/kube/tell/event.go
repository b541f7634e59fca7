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

// Event returns an Event on an object; on must have APIVersion, Kind, Namespace, Name and UID. kind is Normal or
// Warning, and instance our name. It cuts a text that is too long for an Event.
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

// maxWarnings bounds the texts that a Warner remembers: it forgets all when there are more.
const maxWarnings = 1000

// Warner writes a warning about an object once, to the log and as an Event. It is for one goroutine.
type Warner struct {
	Client   client.Client
	Instance string // our name in Events
	Log      *slog.Logger

	told map[string]bool // the texts in the log; true: an Event has it, too
}

// Warn writes a warning that is new. If it cannot create the Event, the next call with this text tries again.
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
