package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// hostNotes are the annotations on BareMetalHosts that we go by.
type hostNotes struct {
	wake chan struct{}

	mu    *sync.Mutex              // guards the rest
	holds map[string]time.Duration // hosts with a hold-off of their own, by namespace/name
	bad   map[string]string        // likewise those whose hold-off cannot be read, and why
}

func newHostNotes() hostNotes {
	return hostNotes{wake: make(chan struct{}, 1), mu: new(sync.Mutex), holds: map[string]time.Duration{}, bad: map[string]string{}}
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
		out = append(out, n.bad[host])
	}
	return out
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
		fault = fmt.Sprintf("%s: annotation %s=%.64q is ignored: %v", host, hosts.HoldoffAnnotation, text, err)
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
		a.noteHold(old, "")
		if a.herald != nil {
			a.herald.Forget(old.Namespace, old.Name)
		}
		return
	}
	if old == nil || old.Holdoff != now.Holdoff {
		a.noteHold(now, now.Holdoff)
	}
	if now.Release != "" && (old == nil || old.Release != now.Release) {
		a.releaseByNote(now, old == nil)
	}
}

func (a *App) noteHold(h *hosts.Host, text string) {
	news, fault := a.notes.note(h.Namespace+"/"+h.Name, text)
	if fault != "" {
		a.log.Warn("an annotation is ignored", "annotation", hosts.HoldoffAnnotation, "fault", fault)
	}
	if news {
		select {
		case a.notes.wake <- struct{}{}:
		default: // somebody is told already
		}
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
		log.Info("a release by annotation has no effect: it is of another episode", "present", other.Present)
		if a.herald != nil && !first {
			a.herald.ReleaseRefused(h.Namespace, h.Name, "the present episode is "+other.Present)
		}
	case err != nil: // nothing has failed, as far as we know
		log.Debug("a release by annotation has no effect", "error", err)
	case answer.Released:
		log.Info("hold released by annotation")
		a.holds.polled()
		if a.herald != nil {
			a.herald.Released(h.Namespace, h.Name, "annotation")
		}
	}
}
