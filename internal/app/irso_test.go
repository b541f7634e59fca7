package app

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// TestNobodyStartsBeforeIronicIsFound, whatever Ironic would say; and who starts later is
// not stopped by what is missing then.
func TestNobodyStartsBeforeIronicIsFound(t *testing.T) {
	server := newAPIServer()
	cluster := inCluster(t, server)
	play(t, func(o *Options, fake *fakeironic.Server) {
		cluster(o, fake)
		o.Config.Kubernetes.Leader.Elect, o.Config.Holdoff.ConfigMap = false, ""
		o.Config.Ironic.Endpoint, o.Config.Ironic.Name, o.Config.Ironic.Namespace = "", "ironic", "irso"
	}, func(s *stage) {
		const fault = "IRONIC_NAME=ironic: the Ironic resource irso/ironic does not exist"
		s.pass(5 * time.Minute)
		if a := s.ask("host-00001"); a.Ready || s.app.IronicStats().Requests() != 0 {
			t.Errorf("%+v, %d requests to Ironic", a, s.app.IronicStats().Requests())
		}
		s.warns(fault)
		if status := s.app.Status(); !strings.Contains(status.Headline, fault) || !strings.Contains(status.View.LastError, fault) {
			t.Errorf("headline %q, last error %q", status.Headline, status.View.LastError)
		}
		resource := object{
			"apiVersion": "ironic.metal3.io/v1alpha1", "kind": "Ironic", "metadata": object{"name": "ironic", "generation": 1}, "spec": object{"apiCredentialsName": "ironic-credentials"},
			"status": object{"conditions": []object{{"type": "Ready", "status": "True", "observedGeneration": 1}}},
		}
		server.put("/apis/ironic.metal3.io/v1alpha1/namespaces/irso/ironics/ironic", resource)
		server.put("/api/v1/namespaces/irso/secrets/ironic-credentials", object{
			"metadata": object{}, "data": object{"username": "aXJvbmlj", "password": "c2VjcmV0"},
		})
		s.pass(2 * time.Minute)
		s.says("host-00001", api.ReasonGranted)
		server.put("/apis/ironic.metal3.io/v1alpha1/namespaces/irso/ironics/ironic", object{
			"apiVersion": "ironic.metal3.io/v1alpha1", "kind": "Ironic", "metadata": object{"generation": 2},
		})
		s.pass(2 * time.Minute)
		s.says("host-00002", api.ReasonGranted)
		s.warns("Ironic is asked as it was found before")
		if n := s.log.count("cannot be found in the cluster"); n != 2 {
			t.Errorf("%d lines about two faults", n)
		}
	})
}

// put makes an object.
func (s *apiServer) put(path string, o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(path, o)
}
