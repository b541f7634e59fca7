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
	Events   bool
	Instance string // our name in Events
	Log      *slog.Logger

	logged, told map[string]bool
}

// Warn tells a warning if it was not told. An Event that cannot be created is tried again with the next call.
func (w *Warner) Warn(ctx context.Context, on corev1.ObjectReference, reason, text string) {
	if w.logged == nil || len(w.logged) > maxWarnings {
		w.logged, w.told = map[string]bool{}, map[string]bool{}
	}
	if !w.logged[text] {
		w.logged[text] = true
		w.Log.Warn("cluster", "object", on.Kind+" "+on.Namespace+"/"+on.Name, "warning", text)
	}
	if w.Events && !w.told[text] {
		err := w.Client.Create(ctx, Event(on, corev1.EventTypeWarning, reason, text, w.Instance, time.Now()))
		w.told[text] = err == nil
	}
}
