package tell

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
