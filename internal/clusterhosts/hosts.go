// Package clusterhosts stands between the decision and the BareMetalHosts of the cluster: what the decision knows of a
// host, what its owner asks for by annotation, and what the owner is told by Events.
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

// Hosts are the BareMetalHosts of the cluster. Make them with New and set all fields before anything runs. A nil Hosts
// is no cluster.
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
	asked map[string]time.Duration // what HoldoffAnnotation says, by namespace/name
}

// New returns Hosts without their fields.
func New(now func() time.Time, log *slog.Logger) *Hosts {
	return &Hosts{now: now, log: log, changed: make(chan struct{}, 1), asked: map[string]time.Duration{}}
}

// Find returns the host that is asked about, never one of another node. Its node decides where the name leads to none
// or to the host of another node: a host that was moved has left its name on its node.
func (h *Hosts) Find(namespace, name, nodeUUID string) (host hosts.Host, ok bool) {
	if namespace != "" && name != "" {
		host, ok = h.Directory.ByName(namespace, name)
		if ok && (nodeUUID == "" || host.NodeUUID == "" || strings.EqualFold(host.NodeUUID, nodeUUID)) {
			return host, true
		}
	}
	// A host of a namespace that cannot be read may be there all the same.
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

// Stands tells which host it is and how it stands at this moment, for tell.Options.
func (h *Hosts) Stands(namespace, name string) (uid string, waits, works bool) {
	host, _ := h.Directory.ByName(namespace, name)
	waits, works = h.Decision.Stands(h.now(), namespace, name, host.NodeUUID)
	return host.UID, waits, works
}

// Told is the decision whose answers hosts are told by Events.
type Told struct {
	*admission.Controller
	Hosts *Hosts
}

// IsReady is Controller's.
func (d Told) IsReady(now time.Time, ask api.Ask) api.Answer {
	answer := d.Controller.IsReady(now, ask)
	if !ask.DryRun {
		d.Hosts.tell(ask, answer)
	}
	return answer
}

// Forward is Controller's.
func (d Told) Forward(now time.Time, ask api.Ask, target ironic.Target) (api.Answer, *admission.Pass) {
	answer, pass := d.Controller.Forward(now, ask, target)
	d.Hosts.tell(ask, answer)
	return answer, pass
}

// tell lets the owner of a host see an answer to it.
func (h *Hosts) tell(ask api.Ask, answer api.Answer) {
	if host, known := h.Find(ask.Namespace, ask.Name, ask.NodeUUID); known {
		h.Recorder.Answered(host.Namespace, host.Name, forTenant(answer))
	}
}

// forTenant is an answer without what it tells of other hosts: whoever owns the namespace can read an Event.
func forTenant(a api.Answer) api.Answer {
	if a.Reason == api.ReasonBreakerOpen || a.Reason == api.ReasonHalfOpen || a.Reason == api.ReasonShortCircuit {
		a.Message = "too many other hosts have failed; this one starts when the cause is fixed, " +
			"or when another host is tried and succeeds"
	}
	return a
}
