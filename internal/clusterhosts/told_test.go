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

// telling are Hosts of d whose Events go nowhere, and pending, which checks how many are to
// be sent.
func telling(t *testing.T, d Directory, leads *bool) (h *Hosts, pending func(want int)) {
	t.Helper()
	h = New(time.Now, slog.New(slog.DiscardHandler))
	h.Directory, h.Leads = d, func() bool { return *leads }
	h.Recorder = tell.New(tell.Options{Now: time.Now})
	return h, func(want int) {
		t.Helper()
		if n := h.Recorder.Counts().Pending; n != want {
			t.Errorf("%d Events to send, want %d", n, want)
		}
	}
}

// The owner of a host sees neither our log nor the status.
func TestAnIgnoredAnnotationIsAnEvent(t *testing.T) {
	var leads bool
	h, pending := telling(t, twoHosts{}, &leads)
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
