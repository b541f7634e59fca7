package clusterhosts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/internal/logging"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// annotationsGap is the least time between two lines of the log about annotations.
const annotationsGap = time.Minute

// Changed takes a change that the watch has seen, as hosts.Options has it: old is nil for a host that is new, now for
// one that is gone.
func (h *Hosts) Changed(old, now *hosts.Host) {
	if now == nil {
		h.Decision.HostGone(h.now(), decided(old))
		h.noteHoldoff(old, "")
		if h.Recorder != nil {
			h.Recorder.Forget(old.Namespace, old.Name)
		}
		return
	}
	first := old == nil
	if first {
		old = &hosts.Host{Bare: now.Bare}
	}
	if old.Holdoff != now.Holdoff {
		h.noteHoldoff(now, now.Holdoff)
	}
	paused := now.Paused || now.Detached
	// Who deletes a Machine takes the image from its host first.
	if paused && !old.Paused && !old.Detached || now.Bare && !old.Bare {
		h.Decision.HostLeft(h.now(), decided(now))
	}
	if now.Release != "" && old.Release != now.Release {
		h.release(now, first)
	}
}

// noteHoldoff enters the hold-off that a host asks for, "" = none.
func (h *Hosts) noteHoldoff(host *hosts.Host, text string) {
	name := host.Namespace + "/" + host.Name
	fault := h.holdoffs.note(name, text)
	if fault != "" {
		before, level := h.rarely(&h.ignored, slog.LevelWarn)
		h.log.Log(context.Background(), level, "an annotation of a host is ignored",
			"host", name, "fault", fault, "before", before)
	}
	h.tellFault(host.Namespace, host.Name, fault)
}

// rarely is the level of a line that whoever may annotate hosts can cause, and how many were not told before it.
func (h *Hosts) rarely(line *logging.Rare, level slog.Level) (before int, _ slog.Level) {
	before, tell := line.Tell(h.now())
	if !tell {
		level = slog.LevelDebug
	}
	return before, level
}

// tellFault lets whoever looks at a host see that its annotation is ignored: the log and the status are for others.
// It is told with each ask of the host, too, as the one who led before may not have told it.
func (h *Hosts) tellFault(namespace, name, fault string) {
	switch {
	case h.Recorder == nil:
	case fault == "":
		h.Recorder.Ignored(namespace, name, "")
	case h.Leads():
		h.Recorder.Ignored(namespace, name, "The "+fault)
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
		before, level := h.rarely(&h.refused, slog.LevelInfo)
		log.Log(context.Background(), level, "a release by annotation has no effect: it is of another episode",
			"present", other.Present, "before", before)
		if h.Recorder != nil && !first {
			h.Recorder.ReleaseRefused(host.Namespace, host.Name, "the present episode is "+other.Present)
		}
	case err != nil: // nothing has failed, as far as we know
		log.Debug("a release by annotation has no effect", "error", err)
	case answer.Released:
		log.Info("hold released by annotation")
		h.HoldChanged()
		if h.Recorder != nil {
			h.Recorder.Released(host.Namespace, host.Name, "annotation")
		}
	}
}

// holdoffs are those that hosts ask for.
type holdoffs struct {
	changed chan struct{}

	mu    sync.Mutex         // guards the rest
	asked map[string]holdoff // by namespace/name
}

// holdoff is what an annotation asks for.
type holdoff struct {
	length time.Duration
	fault  string // why it cannot be read; "": it can
}

func newHoldoffs() holdoffs {
	return holdoffs{changed: make(chan struct{}, 1), asked: map[string]holdoff{}}
}

// note enters the hold-off that a host asks for, "" = none. fault is what is wrong with it.
func (n *holdoffs) note(host, text string) (fault string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, had := n.asked[host]
	if text == "" && !had {
		return ""
	}
	delete(n.asked, host)
	if text != "" {
		length, err := config.HoldLength(text)
		if err != nil {
			fault = fmt.Sprintf("annotation %s=%.64q is ignored: %v", hosts.HoldoffAnnotation, text, err)
		}
		n.asked[host] = holdoff{length, fault}
	}
	select {
	case n.changed <- struct{}{}:
	default: // somebody is told already
	}
	return fault
}

// HoldoffsChanged receives when Holdoffs may have changed.
func (h *Hosts) HoldoffsChanged() <-chan struct{} { return h.holdoffs.changed }

// Holdoffs returns the hold-offs of single hosts of the settings, with those of the hosts themselves above them. None
// of these is longer than most: a host that is held counts for MAX_FAILED, which is a matter of others too.
func (h *Hosts) Holdoffs(settings map[string]time.Duration, most time.Duration) map[string]time.Duration {
	if h == nil {
		return settings
	}
	merged := map[string]time.Duration{}
	maps.Copy(merged, settings)
	n := &h.holdoffs
	n.mu.Lock()
	defer n.mu.Unlock()
	for host, asked := range n.asked {
		if asked.fault == "" {
			merged[host] = min(asked.length, most)
		}
	}
	return merged
}

// maxFaults bounds what the status tells of hosts whose annotations cannot be read.
const maxFaults = 5

// faults tells which annotations cannot be read.
func (n *holdoffs) faults() (out []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, host := range slices.Sorted(maps.Keys(n.asked)) {
		if fault := n.asked[host].fault; fault != "" {
			out = append(out, host+": "+fault)
		}
	}
	if more := len(out) - maxFaults; more > 0 {
		out = append(out[:maxFaults], fmt.Sprintf("annotations of %d more hosts cannot be read", more))
	}
	return out
}

// fault tells what is wrong with the annotation of a host; "" if nothing.
func (n *holdoffs) fault(namespace, name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[namespace+"/"+name].fault
}
