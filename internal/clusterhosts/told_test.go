package clusterhosts

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/tell"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// The owner of a host sees neither our log nor the status.
func TestAnIgnoredAnnotationIsAnEvent(t *testing.T) {
	leads := false
	h := New(time.Now, slog.New(slog.DiscardHandler))
	h.Leads, h.Recorder = func() bool { return leads }, tell.New(tell.Options{Now: time.Now})
	pending := func(want int) {
		t.Helper()
		if n := h.Recorder.Counts().Pending; n != want {
			t.Errorf("%d Events to send, want %d", n, want)
		}
	}
	good, bad := &hosts.Host{Namespace: "metal3", Name: "lab"}, &hosts.Host{Namespace: "metal3", Name: "lab", Holdoff: "soon"}
	h.Changed(nil, bad) // another one leads
	pending(0)
	leads = true
	h.Changed(good, bad)
	pending(1)
	h.Changed(bad, good)
	pending(0)
}

// An Event is read in the namespace of its host, and tells nothing of others.
func TestEventsDoNotTellOfOthersHosts(t *testing.T) {
	for _, reason := range api.Reasons() {
		a := forTenant(api.Answer{Reason: reason, Message: "1 host of secret: Timeout", Position: 3})
		storm := reason == api.ReasonBreakerOpen || reason == api.ReasonHalfOpen || reason == api.ReasonShortCircuit
		if strings.Contains(a.Message, "secret") == storm || a.Reason != reason || a.Position != 3 {
			t.Errorf("%+v", a)
		}
	}
}
