package clusterhosts

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Changed takes a change that the watch has seen, as hosts.Options has it: old is nil for a host that is new, now for
// one that is gone.
func (h *Hosts) Changed(old, now *hosts.Host) {
	if now == nil {
		h.Decision.HostGone(h.now(), decided(old))
		if old.Holdoff != "" {
			h.noteHoldoff(old, "")
		}
		h.Recorder.Forget(old.Namespace, old.Name)
		return
	}
	first := old == nil
	if first {
		old = &hosts.Host{Bare: now.Bare}
	}
	if old.Holdoff != now.Holdoff {
		h.noteHoldoff(now, now.Holdoff)
	}
	// Who deletes a Machine takes the image from its host first.
	if now.Left && !old.Left || now.Bare && !old.Bare {
		h.Decision.HostLeft(h.now(), decided(now))
	}
	if now.Release != "" && old.Release != now.Release {
		h.release(now, first)
	}
}

// holdoff is what the annotation of a host asks for.
type holdoff struct {
	length time.Duration
	fault  string // why it cannot be read; "": it can
}

// noteHoldoff enters the hold-off that a host asks for, "" = none.
func (h *Hosts) noteHoldoff(host *hosts.Host, text string) {
	var asks holdoff
	if text != "" {
		var err error
		if asks.length, err = config.HoldLength(text); err != nil {
			asks.fault = fmt.Sprintf("annotation %s=%.64q is ignored: %v", hosts.HoldoffAnnotation, text, err)
		}
	}
	name := host.Namespace + "/" + host.Name
	h.mu.Lock()
	if delete(h.asked, name); text != "" {
		h.asked[name] = asks
	}
	h.mu.Unlock()
	select {
	case h.changed <- struct{}{}:
	default: // somebody is told already
	}
	h.tellFault(host, asks.fault)
}

// tellFault lets whoever looks at a host see that its annotation is ignored: the status is for others. It is told with
// each ask of the host, too, as the one who led before may not have told it.
func (h *Hosts) tellFault(host *hosts.Host, fault string) {
	switch {
	case fault == "":
		h.Recorder.Ignored(host.Namespace, host.Name, "")
	case h.Leads():
		h.Recorder.Ignored(host.Namespace, host.Name, "The "+fault)
	}
}

// release lets a host go whose annotation names its episode. An annotation that comes before we know of the failure
// counts when the host asks. Of those that were there when the host was first seen only those with an effect are
// told: most are old.
func (h *Hosts) release(host *hosts.Host, first bool) {
	log := h.log.With("host", host.Namespace+"/"+host.Name, "annotation", hosts.ReleaseAnnotation, "episode", host.Release)
	answer, err := h.Decision.ReleaseHold(h.now(), host.Namespace, host.Name, host.Release)
	switch other := new(api.EpisodeError); {
	case errors.As(err, &other):
		if before, tell := h.refused.Tell(h.now()); tell {
			log.Info("a release by annotation has no effect: it is of another episode", "present", other.Present, "before", before)
		}
		if !first {
			h.Recorder.ReleaseRefused(host.Namespace, host.Name, "the present episode is "+other.Present)
		}
	case err != nil: // nothing has failed, as far as we know
		log.Debug("a release by annotation has no effect", "error", err)
	case answer.Released:
		log.Info("hold released by annotation")
		h.HoldChanged()
		h.Recorder.Released(host.Namespace, host.Name, "annotation")
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
	for host, asked := range h.asked {
		if asked.fault == "" {
			merged[host] = min(asked.length, most)
		}
	}
	return merged
}

// maxFaults bounds what the status tells of hosts whose annotations cannot be read.
const maxFaults = 5

// faults tells which annotations cannot be read.
func (h *Hosts) faults() (out []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, host := range slices.Sorted(maps.Keys(h.asked)) {
		if fault := h.asked[host].fault; fault != "" {
			out = append(out, host+": "+fault)
		}
	}
	if more := len(out) - maxFaults; more > 0 {
		out = append(out[:maxFaults], fmt.Sprintf("annotations of %d more hosts cannot be read", more))
	}
	return out
}

// fault tells what is wrong with the annotation of a host; "" if nothing.
func (h *Hosts) fault(of *hosts.Host) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[of.Namespace+"/"+of.Name].fault
}
