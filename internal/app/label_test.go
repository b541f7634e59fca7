package app

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// heldBy puts a Lease on s that somebody else has.
func (s *apiServer) heldBy(holder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	s.putLocked("/apis/coordination.k8s.io/v1/namespaces/metal3/leases/ironic-throttle", object{
		"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": object{"name": "ironic-throttle", "namespace": "metal3"},
		"spec": object{"holderIdentity": holder, "leaseDurationSeconds": 15, "acquireTime": now, "renewTime": now, "leaseTransitions": 1},
	})
}

// labelPod gives a pod the label of the leader, as one that has died has left it.
func (s *apiServer) labelPod(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[podPath+name]["metadata"].(object)["labels"].(object)["ironic-throttle.metal3.io/role"] = "leader"
}

// withLease is inCluster in a bubble, where another one has the Lease from the start.
func withLease(t *testing.T, server *apiServer, holder string) func(*Options, *fakeironic.Server) {
	t.Helper()
	cluster := inCluster(t, server)
	return func(o *Options, fake *fakeironic.Server) {
		cluster(o, fake)
		server.heldBy(holder)
	}
}

// A standby is ready, has no label and answers no; when its turn comes it takes the label
// of whoever led before, and gives it up before the Lease.
func TestTheLabelFromStandbyToTheEnd(t *testing.T) {
	server := newAPIServer()
	server.labelPod("b") // it leads
	server.labelPod("a") // of a process of ours that was killed
	play(t, withLease(t, server, "b_1"), func(s *stage) {
		s.pass(10 * time.Second)
		if code, text := s.readyz(); code != 200 || text != "ok, standby: b_1 leads\n" {
			t.Errorf("readyz: %d %s", code, text)
		}
		if _, err := s.post("host-1"); err == nil || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "b_1 leads") {
			t.Errorf("an ask: %v", err)
		}
		if now, _ := server.leaders(); now != "b" {
			t.Errorf("leaders %q while b leads", now)
		}
		s.pass(10 * time.Second) // b is dead
		if now, _ := server.leaders(); now != "a" || !s.app.elector.Leading() {
			t.Errorf("leaders %q, and a leads: %t", now, s.app.elector.Leading())
		}
		s.pass(2 * time.Minute)
		s.says("host-1", api.ReasonGranted)
		s.stop()
		_, history := server.leaders()
		if diff := cmp.Diff([]string{"b", "ab", "a", "", "the Lease is free"}, history); diff != "" {
			t.Errorf("leaders (-want +got):\n%s", diff)
		}
	})
}

// Without the right to label its pod a replica is no standby that counts; one that leads
// decides all the same, as before there was a label.
func TestWithoutTheRightToLabel(t *testing.T) {
	server := newAPIServer()
	server.refused["pods"] = true
	play(t, withLease(t, server, "b_1"), func(s *stage) {
		s.pass(10 * time.Second)
		s.standsBy("b_1 leads; the label ironic-throttle.metal3.io/role of this pod cannot be written: Forbidden")
		s.pass(10 * time.Second)
		if code, text := s.readyz(); code != 200 || text != "ok\n" {
			t.Errorf("readyz of a leader: %d %s", code, text)
		}
		s.warns("Services may not find the leader: the label ironic-throttle.metal3.io/role of this pod cannot be written: Forbidden")
		s.pass(2 * time.Minute)
		s.says("host-1", api.ReasonGranted)
		server.set(server.refused, "pods", false)
		s.pass(time.Minute)
		if now, _ := server.leaders(); now != "a" || strings.Contains(strings.Join(s.app.Status().Warnings, "\n"), "label") {
			t.Errorf("leaders %q; warnings %q", now, s.app.Status().Warnings)
		}
	})
}

// In mode observe Services lead to all, whoever leads: nothing is refused.
func TestObserveLabelsAll(t *testing.T) {
	server := newAPIServer()
	server.labelPod("b")
	play(t, watching(withLease(t, server, "b_1")), func(s *stage) {
		s.pass(10 * time.Second)
		if now, _ := server.leaders(); now != "ab" {
			t.Errorf("leaders %q while b leads", now)
		}
		s.pass(10 * time.Second)
		if now, _ := server.leaders(); now != "ab" || !s.app.elector.Leading() {
			t.Errorf("leaders %q when a leads", now)
		}
	})
}
