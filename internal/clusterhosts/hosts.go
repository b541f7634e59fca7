// Package clusterhosts connects the decision with the BareMetalHosts of the cluster: it tells the decision about hosts
// and their annotations, and the owners of hosts about answers, by Events.
package clusterhosts

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/tell"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Directory knows the hosts, as a hosts.Directory does.
type Directory interface {
	ByName(namespace, name string) (hosts.Host, bool)
	ByNode(uuid string) (hosts.Host, bool)
	Knows(namespace string) bool
}

// Hosts are the BareMetalHosts of the cluster. Make them with New, and set all fields before anything runs. Then they
// are safe for concurrent use. Holdoffs of a nil Hosts returns those of the settings.
type Hosts struct {
	Directory Directory
	Recorder  *tell.Recorder
	Decision  *admission.Controller
	// HoldChanged is called when an annotation has released a hold.
	HoldChanged func()

	now     func() time.Time
	log     *slog.Logger
	changed chan struct{}

	mu    sync.Mutex               // guards the rest
	asked map[string]time.Duration // the hold-offs of HoldoffAnnotation, by NAMESPACE/NAME
}

// New returns Hosts without their fields.
func New(now func() time.Time, log *slog.Logger) *Hosts {
	return &Hosts{now: now, log: log, changed: make(chan struct{}, 1), asked: map[string]time.Duration{}}
}

// Find returns the host that an ask means, never one with another node. If no host with that node has the name, the
// node decides: in Ironic, the node of a host that was moved still has the old name.
func (h *Hosts) Find(namespace, name, nodeUUID string) (host hosts.Host, ok bool) {
	if namespace != "" && name != "" {
		host, ok = h.Directory.ByName(namespace, name)
		if ok && (nodeUUID == "" || host.NodeUUID == "" || strings.EqualFold(host.NodeUUID, nodeUUID)) {
			return host, true
		}
	}
	// In a namespace that the directory does not know, the named host may exist all the same.
	if nodeUUID != "" && (namespace == "" || name == "" || h.Directory.Knows(namespace)) {
		return h.Directory.ByNode(nodeUUID)
	}
	return hosts.Host{}, false
}

// Host implements admission.Hosts.
func (h *Hosts) Host(namespace, name, nodeUUID string) (admission.Host, bool) {
	host, ok := h.Find(namespace, name, nodeUUID)
	return host.Host, ok
}

// Stands implements tell.Options.Stands.
func (h *Hosts) Stands(namespace, name string) (uid string, waits, works bool) {
	host, _ := h.Directory.ByName(namespace, name)
	waits, works = h.Decision.Stands(h.now(), namespace, name, host.NodeUUID)
	return host.UID, waits, works
}

// Told is the decision, and writes its answers as Events on the hosts.
type Told struct {
	*admission.Controller
	Hosts *Hosts
}

// IsReady is Controller.IsReady, with an Event unless it is a dry run.
func (d Told) IsReady(now time.Time, ask api.Ask) api.Answer {
	answer := d.Controller.IsReady(now, ask)
	if !ask.DryRun {
		d.Hosts.tell(ask, answer)
	}
	return answer
}

// Forward is Controller.Forward, with an Event.
func (d Told) Forward(now time.Time, ask api.Ask, target ironic.Target) (api.Answer, *admission.Pass) {
	answer, pass := d.Controller.Forward(now, ask, target)
	d.Hosts.tell(ask, answer)
	return answer, pass
}

// tell shows an answer to the owner of the host.
func (h *Hosts) tell(ask api.Ask, answer api.Answer) {
	if host, known := h.Find(ask.Namespace, ask.Name, ask.NodeUUID); known {
		h.Recorder.Answered(host.Namespace, host.Name, forTenant(answer))
	}
}

// forTenant removes from an answer what it says about other hosts: the owner of the namespace can read the Event.
func forTenant(a api.Answer) api.Answer {
	if a.Reason == api.ReasonBreakerOpen || a.Reason == api.ReasonHalfOpen || a.Reason == api.ReasonShortCircuit {
		a.Message = "too many other hosts have failed; this one starts when the cause is fixed, " +
			"or when another host is tried and succeeds"
	}
	return a
}
