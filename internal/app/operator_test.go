package app

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Where the fake API server has BMO.
const (
	ofBMO       = "/apis/apps/v1/namespaces/metal3/deployments/baremetal-operator-controller-manager"
	bmoSettings = "/api/v1/namespaces/metal3/configmaps/ironic-h4sh"
)

// putOperator is BMO, with these settings in its ConfigMap, as metal3-dev-env deploys it.
func (s *apiServer) putOperator(settings object) {
	s.setObject(bmoSettings, "ConfigMap", "v1", object{"data": settings})
	s.setObject(ofBMO, "Deployment", "apps/v1", object{"spec": object{"template": object{"spec": object{
		"containers": []any{object{"name": "manager", "envFrom": []any{object{"configMapRef": object{"name": "ironic-h4sh"}}}}},
	}}}})
}

// operatorEvents are the messages of Events on Deployments.
func (s *apiServer) operatorEvents() (texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, o := range s.objects {
		about, _ := o["involvedObject"].(object)
		if kindOf(path) == "events" && about["kind"] == "Deployment" {
			text, _ := o["message"].(string)
			texts = append(texts, text)
		}
	}
	return texts
}

// besideOperator is a throttle in the cluster of s, without an election.
func besideOperator(t *testing.T, s *apiServer) func(*Options, *fakeironic.Server) {
	t.Helper()
	cluster := inCluster(t, s)
	return func(o *Options, fake *fakeironic.Server) {
		cluster(o, fake)
		o.Config.Kubernetes.Leader.Elect, o.Config.Holdoff.ConfigMap = false, ""
	}
}

// A warning is told once, as an Event when that can be; what cannot be read is said once, and what was read stays.
func TestWorkersOfTheDeploymentAreComparedAndFollowed(t *testing.T) {
	server := newAPIServer()
	server.set(server.refused, "events", true)
	play(t, besideOperator(t, server), func(s *stage) {
		s.pass(5 * time.Minute)
		if o := *s.app.Status().Cluster.Operator; o.Workers != 0 || !strings.Contains(o.LastError, ": NotFound") {
			t.Errorf("%+v", o)
		}
		server.putOperator(object{"BMO_CONCURRENCY": "32", "PROVISIONING_LIMIT": "25"})
		s.pass(2 * time.Minute)
		server.set(server.refused, "events", false)
		server.set(server.refused, "configmaps", true)
		s.pass(5 * time.Minute)
		if o := *s.app.Status().Cluster.Operator; o.Workers != 32 || o.Limit != 25 || !strings.Contains(o.LastError, "ConfigMap ironic-h4sh: ") {
			t.Errorf("%+v", o)
		}
		server.set(server.refused, "configmaps", false)
		s.pass(5 * time.Minute)
		if o := *s.app.Status().Cluster.Operator; o.LastError != "" {
			t.Errorf("%+v", o)
		}
		const want = "BMO_CONCURRENCY=32 is greater than the limit of 20: more workers than slots " +
			"(BMO's Deployment metal3/baremetal-operator-controller-manager, BMO_CONCURRENCY in ConfigMap ironic-h4sh)"
		s.warns(want)
		if got := server.operatorEvents(); len(got) != 1 || got[0] != want {
			t.Errorf("Events %q, want one", got)
		}
		s.expect(1, "is greater than the limit of 20")
		s.expect(2, "how many workers BMO has cannot be read")
		server.putOperator(object{"BMO_CONCURRENCY": "20"})
		s.pass(time.Minute)
		if all := strings.Join(s.app.Status().Warnings, "\n"); strings.Contains(all, "BMO_CONCURRENCY") {
			t.Error(all)
		}
	})
}

// What is set by hand goes before the Deployment, and with the gateway BMO's own limit should be the throttle's.
func TestWarningsOfTheDeployment(t *testing.T) {
	for _, row := range []struct {
		gateway string
		byHand  int // BMO_CONCURRENCY
		bmo     object
		warns   string // of the status
	}{
		{"", 8, object{"BMO_CONCURRENCY": "32", "PROVISIONING_LIMIT": "25"}, ""},
		{"", 21, object{"BMO_CONCURRENCY": "8"}, ""}, // config.Load warns
		{"127.0.0.1:6388", 8, object{}, ""},
		{
			"127.0.0.1:6388", 8, object{"PROVISIONING_LIMIT": "25"},
			"PROVISIONING_LIMIT of BMO's Deployment metal3/baremetal-operator-controller-manager is 25, and the limit is 20: set it to 20 too",
		},
	} {
		server := newAPIServer()
		server.putOperator(row.bmo)
		beside := besideOperator(t, server)
		play(t, func(o *Options, fake *fakeironic.Server) {
			beside(o, fake)
			o.NoListeners, o.Config.Gateway.Listen, o.Config.BMOConcurrency = true, row.gateway, row.byHand
		}, func(s *stage) {
			s.pass(time.Minute)
			got := strings.Join(s.app.others.Load().bmo, "\n")
			if tooMany := row.byHand > 20; len(server.operatorEvents()) > 0 != tooMany || !strings.HasPrefix(got, row.warns) || row.warns == "" && got != "" {
				t.Errorf("%+v: Events %q, warnings %q", row, server.operatorEvents(), got)
			}
		})
	}
}

// Nothing is sent to Ironic and nobody starts before it is found; when it moves, who is at work there is not known yet.
func TestNobodyStartsBeforeIronicIsFound(t *testing.T) {
	server := newAPIServer()
	beside := besideOperator(t, server)
	play(t, func(o *Options, fake *fakeironic.Server) {
		beside(o, fake)
		o.Config.Ironic.Endpoint = ""
	}, func(s *stage) {
		const fault = "IRONIC_ENDPOINT is not set, and Ironic is not found by itself: BMO's Deployment metal3/baremetal-operator-controller-manager (IRONIC_THROTTLE_OPERATOR_DEPLOYMENT): NotFound"
		s.pass(5 * time.Minute)
		if a := s.ask("host-1"); a.Ready || s.app.client.Stats() != (ironic.Stats{}) {
			t.Errorf("%+v, %+v asked of Ironic", a, s.app.client.Stats())
		}
		s.warns(fault)
		if status := s.app.Status(); !strings.Contains(status.Headline, fault) || !strings.Contains(status.View.LastError, fault) {
			t.Errorf("headline %q, last error %q", status.Headline, status.View.LastError)
		}
		server.putOperator(object{"IRONIC_ENDPOINT": "http://ironic/v1/"})
		s.pass(70 * time.Second)
		s.says("host-1", api.ReasonGranted)
		server.putOperator(object{"IRONIC_ENDPOINT": "http://other/v1/"})
		s.pass(15 * time.Second)
		if st := s.app.Status(); st.Settings["ironicEndpoint"] != "http://other:80" {
			t.Errorf("Ironic is at %s", st.Settings["ironicEndpoint"])
		}
		s.says("host-2", api.ReasonStarting)
		s.pass(70 * time.Second)
		s.says("host-2", api.ReasonGranted)
		server.putOperator(object{})
		s.pass(time.Minute)
		s.warns("the throttle goes on with the Ironic that it found before")
		s.says("host-3", api.ReasonGranted)
	})
}
