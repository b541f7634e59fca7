package clusterhosts

import (
	"maps"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
)

// Changed takes a change that the watch has seen, as hosts.Options has it: old is nil for a host that is new, now for
// one that is gone.
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
	// Who deletes a Machine takes the image from its host first.
	if now.Left && !old.Left || now.Bare && !old.Bare {
		h.Decision.HostLeft(h.now(), now.Host)
	}
	if now.Release != "" && old.Release != now.Release {
		h.release(now)
	}
}

// noteHoldoff enters the hold-off that a host asks for, "" = none. One that cannot be read is none.
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
	default: // somebody is told already
	}
}

// release lets a host go whose annotation names its episode. An annotation that comes before we know of the failure
// counts when the host asks.
func (h *Hosts) release(host *hosts.Host) {
	answer, err := h.Decision.ReleaseHold(h.now(), host.Namespace, host.Name, host.Release)
	if err != nil {
		h.log.Warn("annotation released no hold", "host", host.Namespace+"/"+host.Name, "episode", host.Release, "error", err)
	} else if answer.Released {
		h.log.Info("hold released by annotation", "host", host.Namespace+"/"+host.Name, "episode", host.Release)
		h.HoldChanged()
	}
}

// HoldoffsChanged receives when Holdoffs may have changed.
func (h *Hosts) HoldoffsChanged() <-chan struct{} { return h.changed }

// Holdoffs returns the hold-offs of single hosts of the settings, with those of the hosts themselves above them. None
// of these is longer than most: a host that is held counts for MAX_FAILED, which is a matter of others too.
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
