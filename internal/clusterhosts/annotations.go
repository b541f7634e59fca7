package clusterhosts

import (
	"maps"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
)

// Changed handles a change that the watch has seen (hosts.Options.Changed): old is nil for a new host, now for one that
// is gone.
func (h *Hosts) Changed(old, now *hosts.Host) {
	if now == nil {
		h.Decision.HostGone(h.now(), old.Host)
		if old.Holdoff != "" {
			h.noteHoldoff(old, "")
		}
		h.Recorder.Forget(old.Namespace, old.Name)
		return
	}
	if old == nil {
		old = &hosts.Host{Host: admission.Host{Bare: now.Bare}}
	}
	if old.Holdoff != now.Holdoff {
		h.noteHoldoff(now, now.Holdoff)
	}
	// Cluster API's provider removes the image from the host of a deleted Machine first.
	if now.Left && !old.Left || now.Bare && !old.Bare {
		h.Decision.HostLeft(h.now(), now.Host)
	}
	if now.Release != "" && old.Release != now.Release {
		h.release(now)
	}
}

// noteHoldoff notes the hold-off that a host asks for; "": none. An invalid one counts as none.
func (h *Hosts) noteHoldoff(host *hosts.Host, text string) {
	name := host.Namespace + "/" + host.Name
	length, err := config.HoldLength(text)
	if text != "" && err != nil {
		h.log.Warn("annotation ignored", "host", name, "annotation", hosts.HoldoffAnnotation+"="+text, "error", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asked[name] = length; err != nil {
		delete(h.asked, name)
	}
	select {
	case h.changed <- struct{}{}:
	default: // a signal waits already
	}
}

// release ends the hold whose episode the annotation names. An annotation that comes before the throttle knows of the
// failure counts when the host asks.
func (h *Hosts) release(host *hosts.Host) {
	answer, err := h.Decision.ReleaseHold(h.now(), host.Namespace, host.Name, host.Release)
	if err != nil {
		h.log.Warn("annotation released no hold", "host", host.Namespace+"/"+host.Name, "episode", host.Release, "error", err)
	} else if answer.Released {
		h.log.Info("hold released by annotation", "host", host.Namespace+"/"+host.Name, "episode", host.Release)
		h.HoldChanged()
	}
}

// HoldoffsChanged returns a channel that receives when Holdoffs may have changed.
func (h *Hosts) HoldoffsChanged() <-chan struct{} { return h.changed }

// Holdoffs returns the hold-offs of single hosts: those of the annotations win over those of the settings. It cuts an
// annotation to most, because a held host counts for MAX_FAILED, which affects other hosts, too.
func (h *Hosts) Holdoffs(settings map[string]time.Duration, most time.Duration) map[string]time.Duration {
	if h == nil {
		return settings
	}
	merged := map[string]time.Duration{}
	maps.Copy(merged, settings)
	h.mu.Lock()
	defer h.mu.Unlock()
	for host, length := range h.asked {
		merged[host] = min(length, most)
	}
	return merged
}
