package clusterhosts

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/events"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// telling are Hosts of d whose Events go nowhere, and pending, which checks how many are to
// be sent.
func telling(t *testing.T, d Directory, leads *bool) (h *Hosts, pending func(want int)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const text = `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster, err := kube.Connect(kube.Options{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	h = New(time.Now, slog.New(slog.DiscardHandler))
	h.Directory, h.Leads = d, func() bool { return *leads }
	h.Recorder, err = events.New(events.Options{Config: cluster.Config, Find: func(string, string) (string, bool) { return "uid", true }})
	if err != nil {
		t.Fatal(err)
	}
	return h, func(want int) {
		t.Helper()
		if n := h.Recorder.Stats().Events.Pending; n != want {
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

// Work that a conductor has lost is told to the owner of the host, where the watch knows it.
func TestAbandonedHostsAreTold(t *testing.T) {
	var leads bool
	lost := []slots.Notice{
		{Kind: slots.NoticeAbandoned, ID: slots.ID{UUID: "u-1", Name: "metal3~lab"}, State: ironic.Inspecting},
		{Kind: slots.NoticeAbandoned, ID: slots.ID{UUID: "u-2", Name: "metal3~other"}, State: ironic.Deleting},
		{Kind: slots.NoticeStuck, ID: slots.ID{Name: "metal3~lab"}, State: ironic.Inspecting},
	}
	(*Hosts)(nil).Noticed(lost) // without a cluster
	h, pending := telling(t, twoHosts{"metal3/lab": {Namespace: "metal3", Name: "lab"}}, &leads)
	h.Noticed(lost) // another one leads
	pending(0)
	leads = true
	h.Noticed(lost[1:])
	pending(0)
	h.Noticed(lost)
	pending(1)
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
