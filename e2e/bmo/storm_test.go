//go:build e2e

package bmo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	hostsOfAStorm, limit, workers = 12, 3, 8
	farAbove                      = 1000            // PROVISIONING_LIMIT of an operator that is not to limit itself
	patience                      = 5 * time.Minute // in which nothing changes
)

// A storm is a real operator, a real Ironic whose hardware is pretended, and the product between them.
type storm struct {
	*testing.T
	ironic     *realironic.Ironic
	truth      *realironic.Truth
	throttle   *throttle
	namespaces []string
	hosts      []host
	deleted    []host
	since      time.Time // the begin of the phase
}

// A phase is what all hosts are to do, where they come to, and what strikes meanwhile, once a third has begun.
type phase struct {
	name, goal string
	begin      func(s *storm, n int, h host)
	strike     func(*storm)
}

var phases = []phase{
	{"inspect", "available", func(s *storm, n int, h host) { register(s.T, n, h) }, (*storm).killThrottle},
	{"provision", "provisioned", func(s *storm, _ int, h host) { setImage(s.T, h, true) }, (*storm).deleteWaiting},
	{"deprovision", "available", func(s *storm, _ int, h host) { setImage(s.T, h, false) }, (*storm).killThrottle},
}

// TestStormThroughTheGateway: an operator that knows nothing of the throttle. Never more nodes work than the
// limit, by Ironic's own database, also when the throttle is killed; no host has an error; a deleted host leaves
// the queue.
func TestStormThroughTheGateway(t *testing.T) { play(t, false) }

// TestStormWithThePlugin is the same with an operator that asks.
func TestStormWithThePlugin(t *testing.T) {
	if _, err := os.Stat(filepath.Join(plugins(), "throttled-provisioner.so")); err != nil {
		t.Skipf("make plugin, and a BMO_ASSETS with it and its operator: %v", err)
	}
	play(t, true)
}

func play(t *testing.T, asks bool) {
	s := raise(t, asks)
	for _, p := range phases {
		begun := time.Now()
		s.since = begun
		for n, h := range s.hosts {
			p.begin(s, n, h)
		}
		s.finish(p)
		t.Logf("%s: %.0f s, at most %d nodes busy at once", p.name, time.Since(begun).Seconds(), s.peak())
	}
	if peak := s.peak(); peak != limit {
		t.Errorf("at most %d nodes were busy at once, want the limit %d: no more, and all slots used", peak, limit)
	}
}

// raise starts everything that a storm needs. Hosts come with the first phase.
func raise(t *testing.T, asks bool) *storm {
	t.Helper()
	s := &storm{T: t}
	span := func(least, most float64) realironic.Span {
		return realironic.Span{Least: time.Duration(least * float64(time.Second)), Most: time.Duration(most * float64(time.Second))}
	}
	hardware := realironic.Hardware{Inspect: span(3, 5), Clean: span(1.5, 2.5), Deploy: span(5, 6.5)}
	var err error
	if s.ironic, err = realironic.Start(t.Context(), realironic.Options{Root: chroot, Hardware: &hardware}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.ironic.Stop)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Ironic's API:\n%s\nconductor:\n%s", child.TailFile(filepath.Join(s.ironic.Dir, "api.log")),
				child.TailFile(filepath.Join(s.ironic.Dir, "conductor.log")))
		}
	})
	if s.truth, err = s.ironic.WatchTruth(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.truth.Stop)
	for _, prefix := range []string{"a", "b"} {
		name, err := cluster.Namespace(t.Context(), prefix, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.namespaces = append(s.namespaces, name)
	}
	s.hosts = newHosts(s.namespaces, hostsOfAStorm)
	s.throttle = newThrottle(t, s.ironic.URL, s.namespaces)
	s.throttle.start()
	endpoint, throttle := s.throttle.gateway, ""
	if asks {
		endpoint, throttle = s.ironic.URL, s.throttle.api
	}
	operate(t, endpoint, throttle, s.namespaces, farAbove, workers)
	return s
}

// finish waits until all hosts are at their goal, as long as something changes, and lets the phase's fault strike.
func (s *storm) finish(p phase) {
	s.Helper()
	last, before, struck := time.Now(), "", false
	err := child.Every(s.Context(), 500*time.Millisecond, func() (bool, error) {
		shown := hosts(s.T, s.namespaces)
		if now := fmt.Sprint(shown, len(s.truth.Changes())); now != before {
			last, before = time.Now(), now
		}
		if !struck && 3*len(s.begun()) >= len(s.hosts) {
			struck = true
			p.strike(s)
			last = time.Now()
		}
		var away []string
		for _, h := range s.hosts {
			got := shown[h.String()]
			if got.state != p.goal {
				away = append(away, fmt.Sprintf("%s is %s", h, got.state))
			}
			if got.errors > 0 || got.message != "" {
				return false, fmt.Errorf("%s has %d errors: %s", h, got.errors, got.message)
			}
		}
		for _, h := range s.deleted {
			if _, there := shown[h.String()]; there {
				away = append(away, h.String()+" is not deleted yet")
			}
		}
		if len(away) > 0 && time.Since(last) > patience {
			return false, fmt.Errorf("nothing has changed for %s; not at their goal: %s", patience, strings.Join(away, "; "))
		}
		return len(away) == 0, nil
	})
	if err == nil && !struck {
		err = errors.New("all was over before the fault struck")
	}
	if err != nil {
		s.Fatalf("%s: %v", p.name, err)
	}
}

// peak is how many nodes were busy at once, at most, until now. What one sample has seen came about together.
func (s *storm) peak() (peak int) {
	busy := map[string]bool{}
	changes := s.truth.Changes()
	for i, c := range changes {
		if delete(busy, c.UUID); ironic.State(c.State).Busy() {
			busy[c.UUID] = true
		}
		if i+1 == len(changes) || changes[i+1].At.After(c.At) {
			peak = max(peak, len(busy))
		}
	}
	return peak
}

// begun are the nodes that have begun work in this phase.
func (s *storm) begun() map[string]bool {
	begun := map[string]bool{}
	for _, c := range s.truth.Changes() {
		if c.At.After(s.since) && ironic.State(c.State).Busy() {
			begun[c.Name] = true
		}
	}
	return begun
}

// killThrottle is kill -9, and a start at the same addresses.
func (s *storm) killThrottle() {
	s.Helper()
	s.throttle.process.Kill()
	s.throttle.start()
}

// deleteWaiting deletes the BareMetalHosts of two that wait for their turn, the last of the queue. They leave the
// queue as soon as they are gone; the operator keeps a deleted one until it has taken it out of Ironic.
func (s *storm) deleteWaiting() {
	s.Helper()
	const some, within = 2, time.Minute
	var gone []host
	child.Await(s.T, 500*time.Millisecond, patience, "hosts that wait", func() bool {
		begun, queued := s.begun(), s.throttle.queued()
		gone = nil
		for _, h := range slices.Backward(s.hosts) {
			if len(gone) < some && !begun[h.node()] && queued[h.String()] {
				gone = append(gone, h)
			}
		}
		return len(gone) == some
	}, func() string { return fmt.Sprint(gone) })
	for _, h := range gone {
		s.hosts = slices.DeleteFunc(s.hosts, func(other host) bool { return other == h })
		s.deleted = append(s.deleted, h)
		if err := cluster.Hosts(h.namespace).Delete(s.Context(), h.name, metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
	}
	there := time.Now()
	child.Await(s.T, 500*time.Millisecond, patience, "deleted hosts gone from the queue", func() bool {
		queued, shown := s.throttle.queued(), hosts(s.T, s.namespaces)
		left := 0
		for _, h := range gone {
			if _, is := shown[h.String()]; is {
				there = time.Now()
			}
			if queued[h.String()] {
				left++
			}
		}
		return left == 0
	}, func() string { return fmt.Sprint(s.throttle.queued()) })
	if late := time.Since(there); late > within {
		s.Errorf("deleted hosts were in the queue for %s longer than in the cluster, want %s at most", late, within)
	}
}
