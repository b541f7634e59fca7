package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestLH43_NobodyStartsBeforeIronicIsFound, whatever Ironic would say; and who starts later is
// not stopped by what is missing then.
func TestLH43_NobodyStartsBeforeIronicIsFound(t *testing.T) {
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
			"metadata": object{"name": "ironic", "generation": 1}, "spec": object{"apiCredentialsName": "ironic-credentials"},
			"status": object{"conditions": []object{{"type": "Ready", "status": "True", "observedGeneration": 1}}},
		}
		server.put("/apis/ironic.metal3.io/v1alpha1/namespaces/irso/ironics/ironic", resource)
		server.put("/api/v1/namespaces/irso/secrets/ironic-credentials", object{
			"metadata": object{}, "data": object{"username": "aXJvbmlj", "password": "c2VjcmV0"},
		})
		s.pass(2 * time.Minute)
		s.says("host-00001", api.ReasonGranted)
		server.put("/apis/ironic.metal3.io/v1alpha1/namespaces/irso/ironics/ironic", object{"metadata": object{"generation": 2}})
		s.pass(2 * time.Minute)
		s.says("host-00002", api.ReasonGranted)
		s.warns("Ironic is asked as it was found before")
		if n := s.log.count("cannot be found by its Ironic resource"); n != 2 {
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

// TestGW20_AnyRequestThroughTheGatewayIsUse, and without a gateway nobody goes round it.
func TestGW20_AnyRequestThroughTheGatewayIsUse(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", ""} {
		world, err := fakeironic.NewWorld(fakeironic.DefaultOptions(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		o := Options{Config: config.Default(), Transport: fakeironic.NewServer(world, time.Now).Transport(), Now: func() time.Time { return now }}
		o.Config.Ironic.Endpoint, o.Config.Listen, o.Config.Gateway.Listen = "http://ironic/v1", config.Listen{}, address
		a, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var nodes []ironic.Node
		poll := func(after time.Duration) *api.Bypass {
			now = now.Add(after)
			a.controller.Observe(now, ironic.Observation{Mark: a.controller.Begin(now), Nodes: nodes})
			return a.Status().Bypass
		}
		poll(time.Second)
		poll(10 * time.Minute)
		for _, name := range []string{"one", "two", "three"} {
			nodes = append(nodes, ironic.Node{UUID: "u-" + name, Name: "metal3~" + name, State: ironic.Deploying, AgentURL: true})
		}
		got := poll(10 * time.Minute)
		if a.gateway == nil {
			if got != nil {
				t.Errorf("without a gateway: %+v", got)
			}
			continue
		}
		if got == nil || got.Hosts != 3 {
			t.Errorf("nobody uses the gateway: %+v", got)
		}
		a.gateway.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/nodes/u-one", http.NoBody))
		if got := poll(time.Second); got != nil {
			t.Errorf("somebody uses the gateway: %+v", got)
		}
		_ = a.listeners.gateway.Close()
		a.gateway.Close()
	}
}
