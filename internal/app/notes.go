package app

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
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// hostNotes are the annotations on BareMetalHosts that we go by.
type hostNotes struct {
	wake chan struct{}

	mu    *sync.Mutex              // guards the rest
	holds map[string]time.Duration // hosts with a hold-off of their own, by namespace/name
	bad   map[string]string        // likewise those whose hold-off cannot be read, and why

	// Lines of the log that whoever may annotate a host can cause.
	ignored, refused *logging.Rare
}

// notesGap is the least time between two such lines.
const notesGap = time.Minute

func newHostNotes() hostNotes {
	return hostNotes{
		wake: make(chan struct{}, 1), mu: new(sync.Mutex), holds: map[string]time.Duration{}, bad: map[string]string{},
		ignored: &logging.Rare{Gap: notesGap}, refused: &logging.Rare{Gap: notesGap},
	}
}

// maxFaults bounds what the status tells of hosts whose annotations cannot be read.
const maxFaults = 5

// faults tells which annotations cannot be read.
func (n *hostNotes) faults() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for _, host := range slices.Sorted(maps.Keys(n.bad)) {
		if len(out) == maxFaults {
			return append(out, fmt.Sprintf("annotations of %d more hosts cannot be read", len(n.bad)-maxFaults))
		}
		out = append(out, host+": "+n.bad[host])
	}
	return out
}

// fault tells what is wrong with the annotation of a host; "" if nothing.
func (n *hostNotes) fault(namespace, name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.bad) == 0 {
		return ""
	}
	return n.bad[namespace+"/"+name]
}

// over returns the hold-offs of single hosts of the settings, with those of the hosts
// themselves above them. None of these is longer than most: a host that is held counts for
// MAX_FAILED, which is a matter of others too.
func (n *hostNotes) over(settings map[string]time.Duration, most time.Duration) map[string]time.Duration {
	if n.mu == nil {
		return settings
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.holds) == 0 {
		return settings
	}
	merged := maps.Clone(settings)
	if merged == nil {
		merged = map[string]time.Duration{}
	}
	for host, d := range n.holds {
		merged[host] = min(d, most)
	}
	return merged
}

// note enters the hold-off that a host asks for, "" = none, and reports whether that is
// news; fault is what is wrong with it.
func (n *hostNotes) note(host, text string) (news bool, fault string) {
	d, err := config.HoldLength(text)
	n.mu.Lock()
	defer n.mu.Unlock()
	was, had := n.holds[host]
	delete(n.holds, host)
	delete(n.bad, host)
	switch {
	case text == "":
	case err != nil:
		fault = fmt.Sprintf("annotation %s=%.64q is ignored: %v", hosts.HoldoffAnnotation, text, err)
		n.bad[host] = fault
	default:
		n.holds[host] = d
	}
	is, has := n.holds[host]
	return has != had || is != was, fault
}

// hostChanged takes a change that the watch has seen.
func (a *App) hostChanged(old, now *hosts.Host) {
	if now == nil {
		a.controller.HostGone(a.now(), admission.Host{Namespace: old.Namespace, Name: old.Name, UID: old.UID, NodeUUID: old.NodeUUID})
		a.noteHold(old, "")
		if a.recorder != nil {
			a.recorder.Forget(old.Namespace, old.Name)
		}
		return
	}
	if old == nil || old.Holdoff != now.Holdoff {
		a.noteHold(now, now.Holdoff)
	}
	if now.NodeUUID != "" && (old == nil || old.NodeUUID == "") {
		a.controller.Learn(a.now(), now.NodeUUID, now.UID, now.Spec)
	}
	if now.Release != "" && (old == nil || old.Release != now.Release) {
		a.releaseByNote(now, old == nil)
	}
}

func (a *App) noteHold(h *hosts.Host, text string) {
	news, fault := a.notes.note(h.Namespace+"/"+h.Name, text)
	if fault != "" {
		level := slog.LevelDebug
		before, tell := a.notes.ignored.Tell(a.now())
		if tell {
			level = slog.LevelWarn
		}
		a.log.Log(context.Background(), level, "an annotation of a host is ignored", "host", h.Namespace+"/"+h.Name, "fault", fault, "before", before)
	}
	a.tellFault(h.Namespace, h.Name, fault)
	if news {
		select {
		case a.notes.wake <- struct{}{}:
		default: // somebody is told already
		}
	}
}

// tellFault lets whoever looks at a host see that its annotation is ignored: the log and
// the status are for others. It is told with each ask of the host, too, as the one who led
// before may not have told it.
func (a *App) tellFault(namespace, name, fault string) {
	switch {
	case a.recorder == nil:
	case fault == "":
		a.recorder.Ignored(namespace, name, "")
	case a.mayStart():
		a.recorder.Ignored(namespace, name, "The "+fault)
	}
}

// runNotes puts the hold-offs of single hosts in force until ctx ends.
func (a *App) runNotes(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.notes.wake:
		}
		a.noteForce()
	}
}

// noteForce puts what hosts ask for over the settings in force.
func (a *App) noteForce() {
	a.forcing.Lock()
	defer a.forcing.Unlock()
	holds, quota, err := a.holdoffConfig(a.force.Load().config.Holdoff)
	if err == nil {
		err = a.controller.SetHoldoff(a.now(), holds, quota)
	}
	if err != nil { // each value was checked
		a.log.Error("hold-offs of single hosts cannot be put in force", "error", err)
	}
}

// releaseByNote lets a host go whose annotation names its episode (BO-10). An annotation
// that comes before we know of the failure counts when the host asks. Of those that were
// there when the host was first seen only those with an effect are told: most are old.
func (a *App) releaseByNote(h *hosts.Host, first bool) {
	log := a.log.With("host", h.Namespace+"/"+h.Name, "annotation", hosts.ReleaseAnnotation, "episode", h.Release)
	answer, err := a.controller.ReleaseHold(a.now(), h.Namespace, h.Name, h.Release)
	switch other := new(api.EpisodeError); {
	case errors.As(err, &other):
		level := slog.LevelDebug
		before, tell := a.notes.refused.Tell(a.now())
		if tell {
			level = slog.LevelInfo
		}
		log.Log(context.Background(), level, "a release by annotation has no effect: it is of another episode", "present", other.Present, "before", before)
		if a.recorder != nil && !first {
			a.recorder.ReleaseRefused(h.Namespace, h.Name, "the present episode is "+other.Present)
		}
	case err != nil: // nothing has failed, as far as we know
		log.Debug("a release by annotation has no effect", "error", err)
	case answer.Released:
		log.Info("hold released by annotation")
		a.holds.polled()
		if a.recorder != nil {
			a.recorder.Released(h.Namespace, h.Name, "annotation")
		}
	}
}
