package app

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// standingBy is inCluster in a bubble, where another one has the Lease from the start, and pods have the label of the leader.
func standingBy(t *testing.T, s *apiServer, labelled ...string) func(*Options, *fakeironic.Server) {
	t.Helper()
	cluster := inCluster(t, s)
	return func(o *Options, fake *fakeironic.Server) {
		cluster(o, fake)
		now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
		s.setObject("/apis/coordination.k8s.io/v1/namespaces/metal3/leases/ironic-throttle", "Lease", "coordination.k8s.io/v1", object{"spec": object{
			"holderIdentity": "b_1", "leaseDurationSeconds": 15, "acquireTime": now, "renewTime": now, "leaseTransitions": 1,
		}})
		for _, name := range labelled {
			s.objects[podPath+name]["metadata"].(object)["labels"].(object)["ironic-throttle.metal3.io/role"] = "leader"
		}
	}
}

// A standby is ready, has no label and answers no; when its turn comes it takes the label
// of whoever led before, and gives it up before the Lease.
func TestTheLabelFromStandbyToTheEnd(t *testing.T) {
	server := newAPIServer()
	play(t, standingBy(t, server, "b", "a"), func(s *stage) { // a's of a process of ours that was killed
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
	play(t, standingBy(t, server), func(s *stage) {
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
	cluster := standingBy(t, server, "b")
	play(t, func(o *Options, fake *fakeironic.Server) {
		cluster(o, fake)
		o.Config.Mode = config.Observe
	}, func(s *stage) {
		for range 2 { // while b leads, and when a does
			s.pass(10 * time.Second)
			if now, _ := server.leaders(); now != "ab" {
				t.Errorf("leaders %q", now)
			}
		}
	})
}
