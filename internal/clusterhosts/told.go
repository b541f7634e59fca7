package clusterhosts

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Told is the decision whose answers hosts are told by Events. Hosts must have a Recorder.
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

// ReleaseHold is Controller's.
func (d Told) ReleaseHold(now time.Time, namespace, name, episode string) (api.ReleaseAnswer, error) {
	answer, err := d.Controller.ReleaseHold(now, namespace, name, episode)
	if err == nil && answer.Released {
		d.Hosts.Recorder.Released(answer.Hold.Namespace, answer.Hold.Name, "hand")
	}
	return answer, err
}

// tell lets the owner of a host see an answer to it, where this process decides.
func (h *Hosts) tell(ask api.Ask, answer api.Answer) {
	if !h.Leads() {
		return
	}
	if host, known := h.Find(ask.Namespace, ask.Name, ask.NodeUUID); known {
		h.tellFault(&host)
		h.Recorder.Answered(host.Namespace, host.Name, forTenant(answer))
	}
}

// forTenant is an answer without what it tells of other hosts: an Event can be read by
// whoever owns the namespace.
func forTenant(a api.Answer) api.Answer {
	if a.Reason == api.ReasonBreakerOpen || a.Reason == api.ReasonHalfOpen || a.Reason == api.ReasonShortCircuit {
		a.Message = "too many other hosts have failed; this one starts when the cause is fixed, " +
			"or when another host is tried and succeeds"
	}
	return a
}
