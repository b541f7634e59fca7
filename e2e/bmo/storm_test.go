//go:build e2e

package bmo

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// storm is one cell while it is played: an Ironic and an operator of its own, and whoever
// stands between them.
type storm struct {
	*testing.T
	cell
	ironic   *realironic.Ironic
	truth    *realironic.Truth
	replicas []*replica
	watch    *hostWatch
	hosts    []host
	left     map[string]bool // nodes of deleted hosts
	since    time.Time       // the begin of the phase

	reach *tally // of what reaches Ironic
	asked *tally // of what the operator asks; the same where nobody counts it
	facts facts
	notes []string
	fast  func() // undoes the slowness of the API
}

// raise starts everything that a cell needs. Hosts come with the first phase.
func raise(t *testing.T, c cell, hosts int) *storm {
	t.Helper()
	if _, err := os.Stat(filepath.Join(plugins(), "throttled-provisioner.so")); c.way == plugin && err != nil {
		t.Skipf("make plugin, and a BMO_ASSETS with it and its operator: %v", err)
	}
	s := &storm{T: t, cell: c, left: map[string]bool{}, reach: &tally{}, facts: facts{}}
	fails := ""
	if c.failing > 0 {
		fails = failingNodes
	}
	h := hardware(fails)
	var err error
	if s.ironic, err = realironic.Start(t.Context(), realironic.Options{Root: chroot, Hardware: &h}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.ironic.Stop)
	t.Cleanup(s.keepLogs)
	if s.truth, err = s.ironic.WatchTruth(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.truth.Stop(); err != nil {
			t.Log(err) // a busy machine; what was seen is true all the same
		}
		t.Logf("the longest time between two looks at the truth: %s", s.truth.WorstGap())
	})
	var namespaces []string
	for _, prefix := range []string{"a", "b", "c"} {
		name, err := cluster.Namespace(t.Context(), prefix, nil)
		if err != nil {
			t.Fatal(err)
		}
		namespaces = append(namespaces, name)
	}
	s.hosts, s.watch = newHosts(namespaces, hosts, c.failing), watchHosts(t, namespaces)
	endpoint, throttle := s.front(namespaces), ""
	if c.way == plugin {
		throttle = s.replicas[0].api
	}
	operate(t, endpoint, throttle, namespaces, map[bool]int{true: c.limit, false: knobs.operatorLimit}[c.way == alone], c.workers)
	return s
}

// within lets a test within the storm's speak for it, until back is called.
func (s *storm) within(t *testing.T) (back func()) {
	whole := s.T
	set := func(t *testing.T) {
		s.T = t
		for _, r := range s.replicas {
			r.T = t
		}
	}
	set(t)
	return func() { set(whole) }
}

// front puts whoever is meant between the operator and Ironic and returns the URL.
func (s *storm) front(namespaces []string) (url string) {
	s.Helper()
	ironic := s.reach.count(toIronic(s.T, s.ironic.URL))
	s.asked = s.reach
	switch s.way {
	case bare:
		s.asked = &tally{}
		return listen(s.T, s.asked.count(&bareProxy{limit: s.limit, truth: s.truth, next: ironic, sent: map[string]time.Time{}}))
	case gateway, plugin:
		url = listen(s.T, ironic)
		for i := range max(1, s.cell.replicas) {
			r := newReplica(s.T, i, url, namespaces, s.cell)
			s.replicas = append(s.replicas, r)
			r.start()
		}
		s.leader()
		if s.way == plugin {
			s.asked = &tally{}
			return listen(s.T, s.asked.count(toIronic(s.T, url)))
		}
		url = s.replicas[0].gateway
		if len(s.replicas) > 1 {
			url = service(s.T, s.replicas)
		}
		s.asked = &tally{}
		return listen(s.T, s.asked.count(toIronic(s.T, url)))
	default:
		return listen(s.T, ironic)
	}
}

// leader is the replica that decides, once there is one that has settled.
func (s *storm) leader() (leads *replica) {
	s.Helper()
	child.Await(s.T, 200*time.Millisecond, knobs.patience, "throttle that decides", func() bool {
		for _, r := range s.replicas {
			if r.leads() {
				leads = r
			}
		}
		return leads != nil
	}, func() string { return child.TailFile(s.replicas[0].log()) })
	return leads
}

// queued are the hosts of the queue, by namespace/name.
func (s *storm) queued() map[string]bool {
	s.Helper()
	queue, err := s.leader().client.Queue(s.Context(), api.QueueQuery{Limit: 1000})
	if err != nil {
		s.Fatal(err)
	}
	all := map[string]bool{}
	for _, p := range queue.Pools {
		for _, h := range p.Hosts {
			all[strings.Replace(h.Name, "~", "/", 1)] = true
		}
	}
	return all
}

// leave takes a host out of the storm.
func (s *storm) leave(h host) {
	s.hosts = slices.DeleteFunc(s.hosts, func(other host) bool { return other == h })
	s.left[h.node()] = true
}

func (s *storm) note(text string) { s.notes = append(s.notes, text) }

func (s *storm) cpu() time.Duration {
	s.Helper()
	used, err := s.ironic.APICPU()
	if err != nil {
		s.Fatal(err)
	}
	return used
}

func (s *storm) slow(cores float64) {
	s.Helper()
	s.undoSlow()
	var err error
	if s.fast, err = s.ironic.LimitAPI(cores); err != nil {
		s.Fatal(err)
	}
}

func (s *storm) undoSlow() {
	if s.fast != nil {
		s.fast()
		s.fast = nil
	}
}

// keepLogs copies Ironic's, and writes down what the nodes did, where the knob says so.
func (s *storm) keepLogs() {
	if s.Failed() {
		s.Logf("Ironic's API:\n%s\nconductor:\n%s", child.TailFile(filepath.Join(s.ironic.Dir, "api.log")), child.TailFile(filepath.Join(s.ironic.Dir, "conductor.log")))
	}
	if knobs.logs == "" {
		return
	}
	var b strings.Builder
	for _, c := range s.truth.Changes() {
		fmt.Fprintf(&b, "%s %s %q\n", c.At.UTC().Format("15:04:05.000"), c.Name, c.State)
	}
	_ = os.WriteFile(filepath.Join(logs(s.T), "nodes.txt"), []byte(b.String()), 0o600)
	for _, name := range []string{"api.log", "conductor.log"} {
		if text, err := os.ReadFile(filepath.Join(s.ironic.Dir, name)); err == nil {
			_ = os.WriteFile(filepath.Join(logs(s.T), name), text, 0o600)
		}
	}
}
